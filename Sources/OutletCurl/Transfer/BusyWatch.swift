/// Finds a peer that keeps libcurl busy for a second without a result: a server that sends frames of
/// HTTP/2 that belong to no response, or a proxy that answers `CONNECT`, without end.
///
/// libcurl reads a socket as long as data arrives. In that time the loop runs no other transfer, and
/// no time limit ends this one. One value belongs to one connection; it has no clock of its own.
struct BusyWatch {
    /// How long a peer may keep libcurl busy, in µs.
    static let limit: Int64 = 1_000_000
    /// How many reads in a row are needed to read the clock.
    static let step = 256

    private var epoch: UInt64 = 0
    /// The number of reads in this epoch.
    private var reads = 0
    /// When the first `step` of them had been made, in µs.
    private var start: Int64 = 0

    /// Records that libcurl reads from the peer.
    ///
    /// - Parameters:
    ///   - epoch: The loop's ``EventLoop/epoch``.
    ///   - clock: Reads the time in µs.
    /// - Returns: Whether the connection must be ended.
    mutating func isStuck(in epoch: UInt64, clock: () -> Int64) -> Bool {
        if epoch != self.epoch {
            self.epoch = epoch
            reads = 0
        }
        reads += 1
        guard reads % Self.step == 0 else { return false }
        let now = clock()
        if reads == Self.step { start = now }
        return now - start >= Self.limit
    }
}
