public import FoundationEssentials

/// The local end of connections.
public enum SourceAddress: Sendable, Hashable {
    /// A network interface by its name, such as `eth1`; no other interface is used.
    case interface(String)
    /// An IPv4 or IPv6 address of this machine; only hosts with an address of the same family can
    /// be reached.
    case address(String)
}

/// TCP keep-alive probes on idle connections (`SO_KEEPALIVE`).
///
/// The probes detect that a peer is gone, and keep routers and load balancers from dropping the
/// connection. The number of unanswered probes after which a connection fails is set in the system
/// (`tcp_keepalive_probes`).
public struct TCPKeepAlive: Sendable, Hashable {
    /// How long a connection is idle before the first probe, in seconds, from 1 to 32,767; rounded
    /// up to whole seconds (`CURLOPT_TCP_KEEPIDLE`).
    public var idle: TimeInterval
    /// The time between probes, in seconds, from 1 to 32,767; rounded up to whole seconds
    /// (`CURLOPT_TCP_KEEPINTVL`).
    public var interval: TimeInterval

    /// Makes settings.
    ///
    /// - Parameters:
    ///   - idle: How long a connection is idle before the first probe, in seconds, from 1 to
    ///     32,767.
    ///   - interval: The time between probes, in seconds, from 1 to 32,767.
    public init(idle: TimeInterval = 60, interval: TimeInterval = 60) {
        self.idle = idle
        self.interval = interval
    }
}

/// The minimum speed of a transfer.
public struct MinimumThroughput: Sendable, Hashable {
    /// The minimum speed in bytes per second, at least 1 (`CURLOPT_LOW_SPEED_LIMIT`).
    ///
    /// Counts the bytes of both bodies on the wire.
    public var bytesPerSecond: Int
    /// How long a transfer may be slower, in seconds, at least 1; rounded up to whole seconds
    /// (`CURLOPT_LOW_SPEED_TIME`).
    public var period: TimeInterval

    /// Makes a limit.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: The minimum speed in bytes per second, at least 1.
    ///   - period: How long a transfer may be slower, in seconds, at least 1.
    public init(bytesPerSecond: Int, period: TimeInterval) {
        self.bytesPerSecond = bytesPerSecond
        self.period = period
    }
}
