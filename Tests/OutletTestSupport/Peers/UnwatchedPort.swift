internal import CFaults

/// A TCP port whose connections the kernel refuses to watch (`epoll_ctl`, `ENOSPC`), until this
/// object is released.
public final class UnwatchedPort: Sendable {
    private let port: UInt16

    /// Begins to refuse.
    ///
    /// - Parameter port: The port of a server on an IPv4 address.
    public init(_ port: UInt16) {
        self.port = port
        refuse_polling(port, true)
    }

    deinit { refuse_polling(port, false) }

    /// How often a registration was refused.
    public var refusals: Int { refused_pollings(port) }
}
