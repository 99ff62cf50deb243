public import FoundationEssentials

/// The body of a request.
public enum HTTPBody: Sendable {
    /// No body.
    case none
    /// Bytes in memory.
    case data(Data)
    /// The whole content of a file, read while it is sent.
    ///
    /// If a regular file changes meanwhile, the request fails before the last bytes are sent.
    case file(path: String)
    /// Bytes that a stream produces while they are sent.
    case stream(any BodyStream)

    /// The bytes; `nil` if there is no body, or it is a file or a stream.
    public var data: Data? {
        guard case .data(let data) = self else { return nil }
        return data
    }

    /// Whether the body is a file or a stream, which is read while it is sent.
    @inlinable package var isRead: Bool {
        switch self {
        case .none, .data: false
        case .file, .stream: true
        }
    }

    /// Whether there is no body; empty data is a body of length 0.
    @inlinable public var isNone: Bool {
        guard case .none = self else { return false }
        return true
    }
}

extension HTTPBody: Equatable, Hashable {
    /// Whether both have equal bytes, equal paths, or the same stream object.
    public static func == (a: HTTPBody, b: HTTPBody) -> Bool {
        switch (a, b) {
        case (.none, .none): true
        case (.data(let a), .data(let b)): a == b
        case (.file(let a), .file(let b)): a == b
        case (.stream(let a), .stream(let b)): a === b
        default: false
        }
    }

    /// Hashes the bytes, the path, or the identity of the stream.
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
/// A redirect, an authentication challenge or a retry sends the body again, and calls
/// ``rewind()`` before. Calls never overlap, but successive calls may come from different threads.
public protocol BodyStream: AnyObject, Sendable {
    /// A description of what makes the bytes, for the error of a timeout while the transfer waits
    /// for them or they do not end; by default "the stream of the request's body".
    var name: String { get }

    /// The total length in bytes; `nil` if it is not known, which HTTP/1.1 sends in chunks.
    ///
    /// The request fails if the stream produces fewer or more bytes. A smaller `Content-Length` of
    /// the request's own limits what is sent.
    var length: Int64? { get }

    /// Copies the next bytes into `buffer`.
    ///
    /// - Parameter buffer: Filled from its start; valid until the call returns.
    /// - Returns: The number of bytes copied; 0 at the end of the stream.
    /// - Throws: Any error; the request fails with it.
    ///
    /// Thread: the transport's event loop for transfers with files and streams. The call may block
    /// on a disk, but not on a network: all transfers of that loop wait for it.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// Returns whether the transport must wait before it calls ``read(into:)``.
    ///
    /// Return `true` while there are no bytes, the end is not reached and there is no error. Then
    /// keep `ready` in place of the one from an earlier call, which must not be called any more.
    ///
    /// - Parameter ready: To be called once, from any thread, as soon as ``read(into:)`` can return
    ///   bytes, return 0 or throw.
    /// - Returns: `true` if `ready` was kept. The default implementation returns `false`.
    ///
    /// Thread: as for ``read(into:)``.
    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool

    /// Goes back to the first byte.
    ///
    /// - Throws: Any error if the bytes cannot be produced again; the request fails with it.
    ///
    /// Thread: as for ``read(into:)``.
    func rewind() throws
}

extension BodyStream {
    /// Returns "the stream of the request's body".
    public var name: String { "the stream of the request's body" }

    /// Returns `false`: ``read(into:)`` can always be called.
    ///
    /// - Parameter ready: Ignored; never called.
    public func mustWait(ready: @escaping @Sendable () -> Void) -> Bool { false }
}
