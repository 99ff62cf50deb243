public import FoundationEssentials

/// The head of a response: status line and header fields, without the body.
///
/// All properties share one copy-on-write storage: copying a head costs one retain.
public struct HTTPResponse: Sendable, Equatable, Hashable {
    @usableFromInline struct Parts: Sendable, Hashable {
        @usableFromInline var url: URL?
        @usableFromInline var statusCode: Int
        @usableFromInline var httpVersion: String
        @usableFromInline var headers: HTTPHeaders
    }

    @usableFromInline var parts: Boxed<Parts>

    /// The URL that sent the response, after redirects.
    @inlinable public var url: URL? {
        get { parts.value.url }
        set { parts.value.url = newValue }
    }

    /// The status code; HTTP defines 100 to 599, but servers can send others.
    @inlinable public var statusCode: Int {
        get { parts.value.statusCode }
        set { parts.value.statusCode = newValue }
    }

    /// The server's own words for the status code (RFC 9112 §4), such as `Not Found`; empty if it sent
    /// none.
    ///
    /// `nil` if there are none, as over HTTP/2 and in a response made by a program, and if the status code
    /// was changed, or a field replaced or removed, since the response arrived. Read from the received
    /// bytes at each access.
    public var reasonPhrase: String? { headers.reasonPhrase(of: statusCode) }

    /// The protocol version, such as `HTTP/1.1` or `HTTP/2`.
    public var httpVersion: String {
        get { parts.value.httpVersion }
        set { parts.value.httpVersion = newValue }
    }

    /// The header fields in the order received, repeated ones included.
    @inlinable public var headers: HTTPHeaders {
        get { parts.value.headers }
        _modify { yield &parts.value.headers }
    }

    /// Makes a response head.
    ///
    /// - Parameters:
    ///   - url: The URL that sent the response, after redirects.
    ///   - statusCode: The status code; any number is accepted.
    ///   - httpVersion: The protocol version, such as `HTTP/1.1` or `HTTP/2`.
    ///   - headers: The header fields, in order.
    public init(
        url: URL?, statusCode: Int, httpVersion: String = "HTTP/1.1",
        headers: HTTPHeaders = HTTPHeaders()
    ) {
        parts = Boxed(
            Parts(url: url, statusCode: statusCode, httpVersion: httpVersion, headers: headers))
    }

    /// The media type of `Content-Type`, in lower case and without parameters; `nil` if there is
    /// none.
    public var mimeType: String? {
        guard let field = headers.value(for: "Content-Type") else { return nil }
        let type = field.prefix(whileByte: { $0 != UInt8(ascii: ";") }).trimmingBlanks
        return type.isEmpty ? nil : type.lowercasedASCII
    }

    /// The value of `Content-Length`, in bytes; -1 if the field is missing or not a number.
    public var expectedContentLength: Int64 {
        headers.value(for: "Content-Length").flatMap { $0.decimal() } ?? -1
    }
}
