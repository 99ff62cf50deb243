/// The connections of a loop with HTTP/2 on which the last request reached its time limit.
///
/// libcurl would use them for later requests: it keeps a connection until the system reports its end,
/// which takes minutes if the peer's packets are lost.
///
/// A connection is identified by its local port. A mistake costs another connection.
struct SilentConnections {
    private var ports: Set<Int32> = []

    /// Whether there are none.
    var isEmpty: Bool { ports.isEmpty }

    /// Adds a connection.
    mutating func note(_ port: Int32) {
        // Those to a Unix socket have no port.
        if port > 0 { ports.insert(port) }
    }

    /// Whether a transfer may use a connection.
    ///
    /// - Parameters:
    ///   - port: The connection's local port.
    ///   - isNew: Whether the connection was made for the transfer; a former one with its port has
    ///     ended.
    mutating func admits(to port: Int32, isNew: Bool) -> Bool {
        if isNew { ports.remove(port) }
        return !ports.contains(port)
    }
}
