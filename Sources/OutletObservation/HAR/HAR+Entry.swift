import FoundationEssentials
import OutletTransport

extension HAR {
    /// One transfer: request, response and timings.
    public struct Entry: Sendable, Equatable, Codable {
        /// When the transfer began (ISO 8601, UTC, with milliseconds).
        public var startedDateTime: String
        /// The total duration of the transfer, in milliseconds.
        public var time: Double
        /// The request.
        public var request: Request
        /// The response; status 0 if none arrived.
        public var response: Response
        /// Always empty; the format requires it.
        public var cache = Cache()
        /// The duration of each stage.
        public var timings: Timings
        /// The IP address of the server or proxy, without the port.
        public var serverIPAddress: String?
        /// The local port, which identifies the connection.
        public var connection: String?
        /// A remark for readers.
        public var comment: String?
        /// The reason why the transfer failed; `nil` if it succeeded.
        public var error: Failure?
        /// The id (a UUID) of the session's request that the transfer belongs to.
        public var requestID: String?
        /// The number of the request's attempt, from 1.
        public var attempt: Int?

        /// Makes an entry.
        ///
        /// - Parameters:
        ///   - startedDateTime: When the transfer began (ISO 8601); not checked.
        ///   - time: The total duration of the transfer, in milliseconds.
        ///   - request: The request.
        ///   - response: The response; its status is 0 if none arrived.
        ///   - timings: The duration of each stage.
        public init(
            startedDateTime: String, time: Double, request: Request, response: Response,
            timings: Timings
        ) {
            self.startedDateTime = startedDateTime
            self.time = time
            self.request = request
            self.response = response
            self.timings = timings
        }

        private enum CodingKeys: String, CodingKey {
            case startedDateTime, time, request, response, cache, timings, serverIPAddress
            case connection, comment
            case error = "_error"
            case requestID = "_requestID"
            case attempt = "_attempt"
        }
    }

    /// The cache information of an entry; always empty.
    public struct Cache: Sendable, Equatable, Codable {
        /// Makes empty cache information.
        public init() {}
    }

    /// The request of an entry.
    public struct Request: Sendable, Equatable, Codable {
        /// The method.
        public var method: String
        /// The URL, without its fragment.
        public var url: String
        /// The HTTP version, such as `HTTP/1.1`; empty if not known.
        public var httpVersion: String
        /// The cookies that were sent.
        public var cookies: [Pair]
        /// The headers, in order.
        public var headers: [Pair]
        /// The query parameters of the URL, percent-encoded.
        public var queryString: [Pair]
        /// The body; `nil` if there is none.
        public var postData: PostData?
        /// The size of the head, in bytes; -1 if not known.
        public var headersSize: Int64
        /// The size of the body, in bytes; -1 if not known.
        public var bodySize: Int64
        /// Identifies the body: its length and checksum after redaction; `nil` if not known.
        public var bodyKey: String?

        /// Makes a request without a body.
        ///
        /// - Parameters:
        ///   - method: The method.
        ///   - url: The URL, without its fragment.
        ///   - httpVersion: The HTTP version, such as `HTTP/1.1`; empty if not known.
        ///   - headers: The headers, in order.
        ///   - queryString: The query parameters of the URL.
        ///   - cookies: The cookies that were sent.
        public init(
            method: String, url: String, httpVersion: String, headers: [Pair],
            queryString: [Pair] = [], cookies: [Pair] = []
        ) {
            self.method = method
            self.url = url
            self.httpVersion = httpVersion
            self.cookies = cookies
            self.headers = headers
            self.queryString = queryString
            headersSize = -1
            bodySize = -1
        }

        private enum CodingKeys: String, CodingKey {
            case method, url, httpVersion, cookies, headers, queryString, postData, headersSize
            case bodySize
            case bodyKey = "_bodyKey"
        }
    }

    /// A request's body.
    public struct PostData: Sendable, Equatable, Codable {
        /// The media type.
        public var mimeType: String
        /// The body as text, or in base64; empty if it was not recorded.
        public var text: String
        /// The parameters of a form; empty in archives of this library, which have ``text``.
        public var params: [Pair] = []
        /// `base64` if ``text`` is in base64; `nil` if it is plain text.
        public var encoding: String?
        /// Why the body was not recorded.
        public var comment: String?

        /// Makes a body.
        ///
        /// - Parameters:
        ///   - mimeType: The media type; empty if not known.
        ///   - text: The body as text, or in base64.
        ///   - encoding: `base64` if `text` is in base64; `nil` for plain text.
        public init(mimeType: String, text: String, encoding: String? = nil) {
            self.mimeType = mimeType
            self.text = text
            self.encoding = encoding
        }

        enum CodingKeys: String, CodingKey {
            case mimeType, text, params, comment
            case encoding = "_encoding"
        }
    }

    /// The response of an entry.
    public struct Response: Sendable, Equatable, Codable {
        /// The status code; 0 if no response arrived.
        public var status: Int
        /// The reason phrase; empty if the server sent none, as over HTTP/2.
        public var statusText: String
        /// The HTTP version, such as `HTTP/1.1`.
        public var httpVersion: String
        /// The cookies that were set.
        public var cookies: [Pair]
        /// The headers, in order.
        public var headers: [Pair]
        /// The body.
        public var content: Content
        /// The value of `Location`; empty without one.
        public var redirectURL: String
        /// The size of the head, in bytes; -1 if not known.
        public var headersSize: Int64
        /// The size of the body on the wire, in bytes; -1 if not known.
        public var bodySize: Int64
        /// The trailers; `nil` for none.
        public var trailers: [Pair]?
        /// The interim responses (1xx) before this one; `nil` for none.
        public var interimHeads: [InterimHead]?

        /// Makes a response.
        ///
        /// - Parameters:
        ///   - status: The status code; 0 if no response arrived.
        ///   - statusText: The reason phrase; empty for none.
        ///   - httpVersion: The HTTP version, such as `HTTP/1.1`.
        ///   - headers: The headers, in order.
        ///   - content: The body.
        ///   - redirectURL: The value of `Location`; empty without one.
        ///   - cookies: The cookies that were set.
        public init(
            status: Int, statusText: String = "", httpVersion: String, headers: [Pair],
            content: Content,
            redirectURL: String = "", cookies: [Pair] = []
        ) {
            self.status = status
            self.statusText = statusText
            self.httpVersion = httpVersion
            self.cookies = cookies
            self.headers = headers
            self.content = content
            self.redirectURL = redirectURL
            headersSize = -1
            bodySize = -1
        }

        private enum CodingKeys: String, CodingKey {
            case status, statusText, httpVersion, cookies, headers, content, redirectURL
            case headersSize, bodySize
            case trailers = "_trailers"
            case interimHeads = "_interimHeads"
        }
    }

    /// An interim response (1xx).
    public struct InterimHead: Sendable, Equatable, Codable {
        /// The status code, 100 to 199.
        public var status: Int
        /// The headers, in order.
        public var headers: [Pair]

        /// Makes an interim response.
        ///
        /// - Parameters:
        ///   - status: The status code, 100 to 199.
        ///   - headers: The headers, in order.
        public init(status: Int, headers: [Pair]) {
            self.status = status
            self.headers = headers
        }
    }

    /// A response's body, decoded.
    public struct Content: Sendable, Equatable, Codable {
        /// The length of the body in bytes, whether it was recorded or not.
        public var size: Int64
        /// The media type; empty if not known.
        public var mimeType: String
        /// The body as text, or in base64; `nil` if it was not recorded.
        public var text: String?
        /// `base64` if ``text`` is in base64; `nil` if it is plain text.
        public var encoding: String?
        /// Why the body was not recorded.
        public var comment: String?

        /// Makes a body that was not recorded.
        ///
        /// - Parameters:
        ///   - size: The length of the body, in bytes.
        ///   - mimeType: The media type; empty if not known.
        public init(size: Int64, mimeType: String) {
            self.size = size
            self.mimeType = mimeType
        }

        enum CodingKeys: String, CodingKey {
            case size, mimeType, text, encoding, comment
        }
    }

    /// The duration of each stage in milliseconds; -1 for stages that did not occur.
    public struct Timings: Sendable, Equatable, Codable {
        /// Waiting in the transport's queue for a connection.
        public var blocked: Double
        /// Resolving the host name.
        public var dns: Double
        /// Connecting, TLS handshake included.
        public var connect: Double
        /// Sending the request.
        public var send: Double
        /// Waiting for the first byte of the response.
        public var wait: Double
        /// Receiving the response.
        public var receive: Double
        /// The TLS handshake; also part of ``connect``.
        public var ssl: Double

        /// Makes timings; all in milliseconds, -1 for stages that did not occur.
        ///
        /// - Parameters:
        ///   - blocked: Waiting in the transport's queue for a connection.
        ///   - dns: Resolving the host name.
        ///   - connect: Connecting, TLS handshake included.
        ///   - send: Sending the request.
        ///   - wait: Waiting for the first byte of the response.
        ///   - receive: Receiving the response.
        ///   - ssl: The TLS handshake; also part of `connect`.
        public init(
            blocked: Double = -1, dns: Double = -1, connect: Double = -1, send: Double = 0,
            wait: Double = 0, receive: Double = 0, ssl: Double = -1
        ) {
            self.blocked = blocked
            self.dns = dns
            self.connect = connect
            self.send = send
            self.wait = wait
            self.receive = receive
            self.ssl = ssl
        }

        enum CodingKeys: String, CodingKey {
            case blocked, dns, connect, send, wait, receive, ssl
        }
    }

    /// The reason why a transfer failed.
    public struct Failure: Sendable, Equatable, Codable {
        /// The raw value of `TransferError.Code`, such as `timedOut`.
        public var code: String
        /// The raw value of `TransferError.Stage`.
        public var stage: String
        /// The reason of the `TransferError`, secrets redacted.
        public var reason: String

        /// Makes a failure.
        ///
        /// - Parameters:
        ///   - code: The raw value of `TransferError.Code`; a value that is not one is replayed as
        ///     `unknown`.
        ///   - stage: The raw value of `TransferError.Stage`.
        ///   - reason: The reason of the `TransferError`.
        public init(code: String, stage: String, reason: String) {
            self.code = code
            self.stage = stage
            self.reason = reason
        }
    }
}
