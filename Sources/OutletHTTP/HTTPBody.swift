public import FoundationEssentials

/// What a request carries behind its head.
public enum HTTPBody: Sendable {
    /// No body.
    case none
    /// Bytes in memory.
    case data(Data)
    /// A file's whole content, read while it is sent.
    case file(path: String)
    /// Bytes made while they are sent.
    case stream(any BodyStream)

    /// The bytes, when they are in memory.
    public var data: Data? {
        guard case .data(let data) = self else { return nil }
        return data
    }

    /// Whether the bytes are read while they are sent.
    @inlinable package var isRead: Bool {
        switch self {
        case .none, .data: false
        case .file, .stream: true
        }
    }

    /// Whether there is no body at all; empty data is a body of length zero.
    @inlinable public var isNone: Bool {
        guard case .none = self else { return false }
        return true
    }
}

extension HTTPBody: Equatable, Hashable {
    /// Equal when the bytes or the paths are, or the stream is the same object.
    public static func == (a: HTTPBody, b: HTTPBody) -> Bool {
        switch (a, b) {
        case (.none, .none): true
        case (.data(let a), .data(let b)): a == b
        case (.file(let a), .file(let b)): a == b
        case (.stream(let a), .stream(let b)): a === b
        default: false
        }
    }

    /// Hashes what equality compares.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .none: hasher.combine(0)
        case .data(let data): hasher.combine(data)
        case .file(let path): hasher.combine(path)
        case .stream(let stream): hasher.combine(ObjectIdentifier(stream))
        }
    }
}

/// A source of body bytes that can be read again from its start.
///
/// A redirect, an authentication round or a retry sends the body once more; ``rewind()`` makes
/// that possible. Calls never overlap, but may come from different threads one after another.
public protocol BodyStream: AnyObject, Sendable {
    /// How many bytes the stream gives in all; `nil` when that is not known (sent chunked).
    ///
    /// A request whose stream gives fewer or more fails, unless its own `Content-Length` says less.
    var length: Int64? { get }

    /// Copies the next bytes into `buffer`.
    ///
    /// - Returns: How many bytes were copied; 0 at the end.
    /// - Throws: Any error; the request fails with it.
    ///
    /// Thread: the transport's second loop. May block on a disk, not on a network.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// Says whether bytes have to be waited for, so that a ``read(into:)`` now could not give any.
    ///
    /// - Parameter ready: Kept if they have to be, and called once, on any thread, when there is something to
    ///   read, be it the end or an error. One that was kept before is not called any more.
    /// - Returns: Whether to wait. The default never has to.
    ///
    /// Thread: as for ``read(into:)``.
    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool

    /// Goes back to the first byte.
    ///
    /// - Throws: When the bytes are gone; the request fails with that error.
    func rewind() throws
}

extension BodyStream {
    /// Never.
    public func mustWait(ready: @escaping @Sendable () -> Void) -> Bool { false }
}
