/// Finds peers that keep libcurl busy for a second without a result: a server that sends frames of
/// HTTP/2 that belong to no response, or a proxy that answers `CONNECT`, without end.
///
/// libcurl reads a socket as long as data arrives. In that time the loop runs no other transfer, and
/// no time limit ends this one. A value without clock.
struct BusyWatch {
    /// How long a peer may keep libcurl busy, in µs.
    static let limit: Int64 = 1_000_000
    /// How many reads in a row are needed to read the clock.
    static let step = 256

    /// The number of reads in this turn since the last result.
    private var reads = 0
    /// When the first `step` of them had been made, in µs.
    private var start: Int64 = 0
    /// Whether a peer was found in this turn.
    private(set) var hasFound = false

    /// Begins a turn of the loop.
    mutating func beginTurn() {
        reads = 0
        hasFound = false
    }

    /// Records that a transfer has received a part of its response.
    mutating func noteResult() { reads = 0 }

    /// Records that libcurl reads from a peer.
    ///
    /// - Parameter clock: Reads the time in µs.
    /// - Returns: Whether the connection must be ended.
    mutating func isStuck(clock: () -> Int64) -> Bool {
        reads += 1
        guard reads % Self.step == 0 else { return false }
        let now = clock()
        if reads == Self.step { start = now }
        guard now - start >= Self.limit else { return false }
        hasFound = true
        return true
    }
}
