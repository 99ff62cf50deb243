import FoundationEssentials
import OutletTransport

extension HAR {
    /// One transfer: what was asked, what was answered, how long it took.
    public struct Entry: Sendable, Equatable, Codable {
        /// When it began (ISO 8601, with milliseconds).
        public var startedDateTime: String
        /// How long it took in all, in milliseconds.
        public var time: Double
        /// What was asked.
        public var request: Request
        /// What was answered; status 0 when nothing was.
        public var response: Response
        /// Here empty, as the format demands.
        public var cache = Cache()
        /// How long each stage took.
        public var timings: Timings
        /// The server's address, without the port.
        public var serverIPAddress: String?
        /// The own port, which tells connections apart.
        public var connection: String?
        /// What a reader should know.
        public var comment: String?
        /// Why the transfer failed.
        public var error: Failure?
        /// The request of the session that the transfer belongs to.
        public var requestID: String?
        /// Which attempt of that request it was, from 1.
        public var attempt: Int?

        /// Makes an entry.
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

    /// What a cache had to do with it: nothing.
    public struct Cache: Sendable, Equatable, Codable {
        /// Nothing.
        public init() {}
    }

    /// What was asked.
    public struct Request: Sendable, Equatable, Codable {
        /// The method.
        public var method: String
        /// The address, without its fragment.
        public var url: String
        /// The protocol spoken.
        public var httpVersion: String
        /// The cookies that were sent.
        public var cookies: [Pair]
        /// The fields, in order.
        public var headers: [Pair]
        /// The address's parameters.
        public var queryString: [Pair]
        /// The body, if there is one.
        public var postData: PostData?
        /// Bytes of the head; -1 if not known.
        public var headersSize: Int64
        /// Bytes of the body; -1 if not known.
        public var bodySize: Int64
        /// What bodies are told apart by: their length and their sum, secrets left out.
        public var bodyKey: String?

        /// Makes a request.
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
        /// The text, or base64 of the bytes.
        public var text: String
        /// Parameters of forms; here the text says it all.
        public var params: [Pair] = []
        /// `base64`, when the body is no text.
        public var encoding: String?
        /// What a reader should know.
        public var comment: String?

        /// Makes a body.
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

    /// What was answered.
    public struct Response: Sendable, Equatable, Codable {
        /// The status code; 0 without a response.
        public var status: Int
        /// The words behind the code; HTTP/2 has none, and nobody reads them.
        public var statusText: String
        /// The protocol spoken.
        public var httpVersion: String
        /// The cookies that were set.
        public var cookies: [Pair]
        /// The fields, in order.
        public var headers: [Pair]
        /// The body.
        public var content: Content
        /// Where a redirect leads; empty otherwise.
        public var redirectURL: String
        /// Bytes of the head; -1 if not known.
        public var headersSize: Int64
        /// Bytes of the body on the wire; -1 if not known.
        public var bodySize: Int64
        /// Fields behind the body.
        public var trailers: [Pair]?
        /// Heads that came before this one.
        public var interimHeads: [InterimHead]?

        /// Makes a response.
        public init(
            status: Int, httpVersion: String, headers: [Pair], content: Content,
            redirectURL: String = "", cookies: [Pair] = []
        ) {
            self.status = status
            self.statusText = ""
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

    /// A head that announced another one (1xx).
    public struct InterimHead: Sendable, Equatable, Codable {
        /// The status code.
        public var status: Int
        /// The fields, in order.
        public var headers: [Pair]

        /// Makes a head.
        public init(status: Int, headers: [Pair]) {
            self.status = status
            self.headers = headers
        }
    }

    /// A response's body, decoded.
    public struct Content: Sendable, Equatable, Codable {
        /// Its length in bytes, kept or not.
        public var size: Int64
        /// The media type.
        public var mimeType: String
        /// The text, or base64 of the bytes; `nil` when it was not kept.
        public var text: String?
        /// `base64`, when the body is no text.
        public var encoding: String?
        /// Why the body is not whole.
        public var comment: String?

        /// Makes a body that was not kept.
        public init(size: Int64, mimeType: String) {
            self.size = size
            self.mimeType = mimeType
        }

        enum CodingKeys: String, CodingKey {
            case size, mimeType, text, encoding, comment
        }
    }

    /// How long each stage took, in milliseconds; -1 for stages that did not occur.
    public struct Timings: Sendable, Equatable, Codable {
        /// Waiting for a place in the transport's own queue.
        public var blocked: Double
        /// Looking up the name.
        public var dns: Double
        /// Connecting, TLS included.
        public var connect: Double
        /// Sending the request.
        public var send: Double
        /// Waiting for the first byte.
        public var wait: Double
        /// Receiving the rest.
        public var receive: Double
        /// Agreeing on TLS; a part of `connect`.
        public var ssl: Double

        /// Makes timings.
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

    /// Why a transfer failed.
    public struct Failure: Sendable, Equatable, Codable {
        /// The code of `TransferError`.
        public var code: String
        /// The stage of `TransferError`.
        public var stage: String
        /// The fact behind the code.
        public var reason: String

        /// Makes a failure.
        public init(code: String, stage: String, reason: String) {
            self.code = code
            self.stage = stage
            self.reason = reason
        }
    }
}
