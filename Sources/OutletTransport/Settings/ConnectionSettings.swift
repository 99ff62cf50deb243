public import FoundationEssentials

/// Where connections come from.
public enum SourceAddress: Sendable, Hashable {
    /// A network interface by its name, such as `eth1`: the system sends by no other.
    case interface(String)
    /// An IPv4 or IPv6 address of this machine; hosts without an address of its family cannot be
    /// reached.
    case address(String)
}

/// Probes on connections on which nothing is sent (`SO_KEEPALIVE`): they find out that a peer is
/// gone, and keep the entries of routers and load balancers from being dropped.
public struct TCPKeepAlive: Sendable, Hashable {
    /// How long nothing is sent before the first probe, in whole seconds, from 1 to 32,767
    /// (`CURLOPT_TCP_KEEPIDLE`).
    public var idle: TimeInterval
    /// How long between probes, in whole seconds, from 1 to 32,767 (`CURLOPT_TCP_KEEPINTVL`).
    public var interval: TimeInterval

    /// Makes settings; how many probes are sent in vain is the system's choice
    /// (`tcp_keepalive_probes`).
    ///
    /// - Parameters:
    ///   - idle: How long a connection is silent before the first probe, in seconds.
    ///   - interval: The time between probes, in seconds.
    public init(idle: TimeInterval = 60, interval: TimeInterval = 60) {
        self.idle = idle
        self.interval = interval
    }
}

/// How fast a transfer has to be.
public struct MinimumThroughput: Sendable, Hashable {
    /// So many bytes each second, both directions together, of bodies on the wire
    /// (`CURLOPT_LOW_SPEED_LIMIT`); at least 1.
    public var bytesPerSecond: Int
    /// For how long it may be slower, in whole seconds, at least 1 (`CURLOPT_LOW_SPEED_TIME`).
    public var period: TimeInterval

    /// Makes a limit.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: The least average rate, in bytes a second.
    ///   - period: How long the rate may be lower, in seconds.
    public init(bytesPerSecond: Int, period: TimeInterval) {
        self.bytesPerSecond = bytesPerSecond
        self.period = period
    }
}
