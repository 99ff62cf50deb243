public import FoundationEssentials

/// The head of a response: what a server said before the body.
///
/// A copy costs one reference: a head passes through many hands on its way.
public struct HTTPResponse: Sendable, Equatable, Hashable {
    @usableFromInline struct Parts: Sendable, Hashable {
        @usableFromInline var url: URL?
        @usableFromInline var statusCode: Int
        @usableFromInline var httpVersion: String
        @usableFromInline var headers: HTTPHeaders
    }

    @usableFromInline var parts: Boxed<Parts>

    /// The address that answered.
    @inlinable public var url: URL? {
        get { parts.value.url }
        set { parts.value.url = newValue }
    }

    /// The status code; 100 to 599 from well-behaved servers.
    @inlinable public var statusCode: Int {
        get { parts.value.statusCode }
        set { parts.value.statusCode = newValue }
    }

    /// The protocol spoken, such as `HTTP/1.1` or `HTTP/2`.
    public var httpVersion: String {
        get { parts.value.httpVersion }
        set { parts.value.httpVersion = newValue }
    }

    /// The header fields in order, repeats kept.
    @inlinable public var headers: HTTPHeaders {
        get { parts.value.headers }
        _modify { yield &parts.value.headers }
    }

    /// Makes a response head.
    ///
    /// - Parameters:
    ///   - url: The address that answered, after redirects.
    ///   - statusCode: The status code.
    ///   - httpVersion: Such as `HTTP/1.1` or `HTTP/2`.
    ///   - headers: The header fields in order, repeats kept.
    public init(
        url: URL?, statusCode: Int, httpVersion: String = "HTTP/1.1",
        headers: HTTPHeaders = HTTPHeaders()
    ) {
        parts = Boxed(
            Parts(url: url, statusCode: statusCode, httpVersion: httpVersion, headers: headers))
    }

    /// The media type of `Content-Type`, lower case, without parameters.
    public var mimeType: String? {
        guard let field = headers.value(for: "Content-Type") else { return nil }
        let type = field.prefix(whileByte: { $0 != UInt8(ascii: ";") }).trimmingBlanks
        return type.isEmpty ? nil : type.lowercasedASCII
    }

    /// The body's length as announced in `Content-Length`, in bytes; -1 when it was not.
    public var expectedContentLength: Int64 {
        headers.value(for: "Content-Length").flatMap { $0.decimal() } ?? -1
    }
}
