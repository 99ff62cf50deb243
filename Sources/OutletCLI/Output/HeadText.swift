import FoundationEssentials
import Outlet
import OutletTransport

/// Formats the heads of requests and responses.
struct HeadText {
    let style: Style
    let showsSecrets: Bool

    /// Returns the head of a request in the format of HTTP/1.1, with an empty line at its end.
    ///
    /// It is the head as it was sent if the request's ``SentHeadRecorder`` has it.
    func request(_ request: HTTPRequest) -> String {
        if let sent = request.context[SentHeadRecorder.Key.self]?.head(sentTo: request.url) {
            return requestLine(sent.method, sent.target, sent.httpVersion) + fields(sent.headers)
        }
        let target = request.url.map(HeadText.target) ?? "/"
        var text = requestLine(request.method.rawValue, target, "HTTP/1.1")
        if request.headers["Host"] == nil, let url = request.url {
            text += field(HTTPHeader(name: "Host", value: HeadText.authority(of: url)))
        }
        return text + fields(request.headers)
    }

    private func requestLine(_ method: String, _ target: String, _ version: String) -> String {
        let shown = showsSecrets ? target : Redaction.standard.address(target)
        return "\(style.bold(method)) \(style.cyan(shown)) \(version)\n"
    }

    /// Returns the status of a response: its code and its reason phrase, the server's own if there is
    /// one, else the standard one.
    func status(of response: HTTPResponse) -> String {
        let own = response.reasonPhrase.map { showsSecrets ? $0 : Redaction.standard.text($0) }
        let phrase = own.map(singleLine) ?? StatusPhrase.phrase(for: response.statusCode) ?? ""
        return "\(response.statusCode)\(phrase.isEmpty ? "" : " \(phrase)")"
    }

    /// Returns the head of a response, with an empty line at its end.
    func response(_ response: HTTPResponse) -> String {
        let status = style.status(response.statusCode, status(of: response))
        return "\(response.httpVersion) \(style.bold(status))\n" + fields(response.headers)
    }

    /// Returns trailer fields, one in each line.
    func trailers(_ trailers: HTTPHeaders) -> String { trailers.map(field).joined() }

    /// Returns the host and port of a URL, without the scheme's default port.
    static func authority(of url: URL) -> String {
        (try? CanonicalAddress(url.absoluteString))?.hostField ?? ""
    }

    /// Returns the path and query of a URL.
    static func target(of url: URL) -> String {
        url.wirePath + (url.query(percentEncoded: true).map { "?\($0)" } ?? "")
    }

    private func fields(_ headers: HTTPHeaders) -> String {
        headers.map(field).joined() + "\n"
    }

    private func field(_ header: HTTPHeader) -> String {
        let value = showsSecrets ? header.value : Redaction.standard.value(of: header)
        return "\(style.blue(singleLine(header.name))): \(singleLine(value))\n"
    }
}

/// The reason phrases of common status codes (RFC 9110 §15).
enum StatusPhrase {
    private static let phrases: [Int: String] = [
        200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
        301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request",
        401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout",
        409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed",
        413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
        416: "Range Not Satisfiable", 421: "Misdirected Request", 422: "Unprocessable Content",
        426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
        503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
    ]

    static func phrase(for status: Int) -> String? { phrases[status] }
}
