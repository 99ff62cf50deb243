internal import Glibc

/// A connected socket whose blocking calls return early when a gate opens.
public final class StreamSocket: Sendable {
    private let descriptor: FileDescriptor
    private let gate: Gate

    init(_ descriptor: FileDescriptor, gate: Gate) {
        self.descriptor = descriptor
        self.gate = gate
        var value: Int32 = 1
        setsockopt(
            descriptor.number, Int32(IPPROTO_TCP), TCP_NODELAY, &value,
            socklen_t(MemoryLayout<Int32>.size))
    }

    /// Connects to a server, and blocks until that is done.
    ///
    /// - Parameters:
    ///   - address: The server's address.
    ///   - gate: Ends blocking calls of the socket when it opens.
    /// - Throws: ``TestSupportError`` if no server listens there.
    public convenience init(connectingTo address: SocketAddress, gate: Gate) throws {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let number = socket(address.family, type, 0)
        guard number >= 0 else { throw TestSupportError("socket: not made", errno: errno) }
        let descriptor = FileDescriptor(number)
        guard try address.withSystemAddress({ connect(number, $0, $1) }) == 0 else {
            throw TestSupportError("socket: cannot connect to \(address)", errno: errno)
        }
        self.init(descriptor, gate: gate)
    }

    /// Reads up to `limit` bytes, and blocks until there are some.
    ///
    /// - Returns: The bytes; `nil` at the end of the stream, on an error, or when the gate is open.
    public func receive(upTo limit: Int = 64 * 1024) -> [UInt8]? {
        guard Self.wait(for: descriptor, POLLIN, unless: gate) else { return nil }
        let bytes = descriptor.read(upTo: limit)
        return bytes.isEmpty ? nil : bytes
    }

    /// Reads until the end of the stream, and blocks until then.
    public func receiveAll() -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = receive() { bytes += piece }
        return bytes
    }

    /// Sends all bytes, and blocks until they are sent.
    ///
    /// - Returns: `false` if the peer has closed the connection or the gate is open.
    @discardableResult
    public func send(_ bytes: some Collection<UInt8>) -> Bool {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            guard Self.wait(for: descriptor, POLLOUT, unless: gate) else { return false }
            let flags = Int32(MSG_NOSIGNAL | MSG_DONTWAIT)
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor.number, $0.baseAddress, $0.count, flags)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR && errno != EAGAIN {
                return false
            }
        }
        return true
    }

    /// Forwards bytes to a server and back until one side closes, or `limit` bytes have come back.
    ///
    /// - Returns: Whether the limit was reached.
    func relay(to server: StreamSocket, limit: Int) -> Bool {
        var left = limit
        while left > 0 {
            var entries = [descriptor, server.descriptor, gate.reader].map {
                pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0)
            }
            guard poll(&entries, 3, -1) > 0 || errno == EINTR, entries[2].revents == 0 else {
                return false
            }
            if entries[0].revents != 0 {
                guard let bytes = receive(), server.send(bytes) else { return false }
            }
            if entries[1].revents != 0 {
                guard let bytes = server.receive(upTo: min(left, 64 * 1024)), send(bytes) else {
                    return false
                }
                left -= bytes.count
            }
        }
        return true
    }

    /// Sends text as ``send(_:)`` sends bytes.
    @discardableResult
    public func send(_ text: String) -> Bool { send(text.utf8) }

    /// Closes the sending direction of the connection (FIN).
    public func finishSending() {
        shutdown(descriptor.number, Int32(SHUT_WR))
    }

    /// Makes the socket send a reset (RST) instead of FIN when it is closed.
    func resetWhenClosed() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            descriptor.number, SOL_SOCKET, SO_LINGER, &linger,
            socklen_t(MemoryLayout.size(ofValue: linger)))
    }

    /// Blocks for a time; returns `false` as soon as the gate opens.
    func pause(_ duration: Duration) -> Bool {
        var entry = pollfd(fd: gate.reader.number, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, Int32(duration.seconds * 1000)) == 0
    }

    /// Blocks until a second gate opens; returns `false` if the socket's own gate opens before.
    func wait(for other: Gate) -> Bool {
        Self.wait(for: other.reader, POLLIN, unless: gate)
    }

    static func wait(for descriptor: FileDescriptor, _ events: Int32, unless gate: Gate) -> Bool {
        var entries = [
            pollfd(fd: descriptor.number, events: Int16(events), revents: 0),
            pollfd(fd: gate.reader.number, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let result = poll(&entries, 2, -1)
            if result < 0 && errno == EINTR { continue }
            return result > 0 && entries[1].revents == 0
        }
    }
}
