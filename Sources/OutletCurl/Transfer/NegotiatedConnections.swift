/// The connections of a loop that transfers with Negotiate have used.
///
/// Servers and proxies may authenticate the whole connection, and then take every request on it for
/// that of the same user (RFC 4559 §6). libcurl 7.88 keeps such connections apart with NTLM only.
/// Connections with HTTP/2 are not listed: they are not authenticated.
///
/// A connection is identified by its local port. A mistake costs another connection.
struct NegotiatedConnections {
    /// The peers that Negotiate authenticates a transfer to.
    struct Parties: OptionSet {
        let rawValue: UInt8

        static let server = Parties(rawValue: 1)
        static let proxy = Parties(rawValue: 2)
    }

    private var parties: [Int32: Parties] = [:]

    /// Whether there are none.
    var isEmpty: Bool { parties.isEmpty }

    /// Whether a transfer may use a connection.
    ///
    /// - Parameters:
    ///   - port: The connection's local port.
    ///   - own: The peers that the transfer authenticates itself to with Negotiate.
    ///   - isNew: Whether the connection was made for the transfer; a former one with its port has
    ///     ended.
    mutating func admits(to port: Int32, _ own: Parties, isNew: Bool) -> Bool {
        // Those to a Unix socket have no port.
        if isNew, port > 0 { parties[port] = nil }
        return parties[port]?.isSubset(of: own) ?? true
    }

    /// Adds a connection that a transfer uses.
    mutating func note(_ port: Int32, _ own: Parties) {
        parties[port, default: []].formUnion(own)
    }
}
