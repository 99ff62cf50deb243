public import FoundationEssentials

/// The head of a response: what a server said before the body.
public struct HTTPResponse: Sendable, Equatable, Hashable {
    /// The address that answered.
    public var url: URL?
    /// The status code; 100 to 599 from well-behaved servers.
    public var statusCode: Int
    /// The protocol spoken, such as `HTTP/1.1` or `HTTP/2`.
    public var httpVersion: String
    /// The header fields in order, repeats kept.
    public var headers: HTTPHeaders

    /// Makes a response head.
    public init(
        url: URL?, statusCode: Int, httpVersion: String = "HTTP/1.1",
        headers: HTTPHeaders = HTTPHeaders()
    ) {
        self.url = url
        self.statusCode = statusCode
        self.httpVersion = httpVersion
        self.headers = headers
    }

    /// The media type of `Content-Type`, lower case, without parameters.
    public var mimeType: String? {
        guard let type = headers.value(for: "Content-Type")?.prefix(while: { $0 != ";" }) else {
            return nil
        }
        let trimmed = String(type.drop { $0 == " " || $0 == "\t" }).lowercased()
        let end = trimmed.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { String(trimmed[...$0]) }
    }

    /// The body's length as announced in `Content-Length`, in bytes; -1 when it was not.
    public var expectedContentLength: Int64 {
        headers.value(for: "Content-Length").flatMap(Int64.init) ?? -1
    }
}
