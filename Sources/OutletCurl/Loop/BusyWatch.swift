/// Finds a transfer whose proxy answers `CONNECT` without end.
///
/// libcurl reads that answer, byte by byte, as long as data arrives. In that time the loop runs no
/// other transfer, and no time limit ends this one. A value without clock; libcurl's progress
/// callback asks it for each byte.
struct BusyWatch {
    /// How long a transfer may keep libcurl busy, in µs.
    static let limit: Int64 = 1_000_000
    /// How many calls in a row are needed to read the clock.
    static let step = 256

    private var transfer: UInt64 = 0
    private var turn: Int64 = 0
    /// The number of calls in a row for this transfer and in this turn.
    private var calls = 0
    /// When the first `step` of them had been made, in µs.
    private var start: Int64 = 0

    /// Records a call for a transfer.
    ///
    /// - Parameters:
    ///   - transfer: The transfer's identifier.
    ///   - turn: The time at which the loop's turn began, in µs.
    ///   - clock: Reads the time in µs.
    /// - Returns: Whether the transfer must be ended.
    mutating func isStuck(_ transfer: UInt64, at turn: Int64, clock: () -> Int64) -> Bool {
        guard transfer == self.transfer, turn == self.turn else {
            (self.transfer, self.turn) = (transfer, turn)
            calls = 0
            return false
        }
        calls += 1
        guard calls % Self.step == 0 else { return false }
        let now = clock()
        if calls == Self.step { start = now }
        return now - start >= Self.limit
    }
}
