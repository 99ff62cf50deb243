public import FoundationEssentials
public import OutletHTTP
public import OutletSession

/// What a stub answers to one request.
public struct StubAnswer: Sendable {
    /// The status code; no head comes when `nil`.
    public var statusCode: Int?
    /// The header fields.
    public var headers: HTTPHeaders
    /// The body.
    public var body: Data
    /// The most bytes handed over at a time.
    public var chunkSize: Int
    /// How the transfer fails, after ``failureOffset`` bytes of the body.
    public var error: TransferError?
    /// How many bytes of the body come before ``error``.
    public var failureOffset: Int
    /// Whether, in place of failing there, nothing more comes until a cancel.
    public var stallsAtFailure: Bool
    /// What the server shows of itself, to requests that ask for trust.
    public var serverTrust: ServerTrust?
    /// When the answer begins, in seconds after the request; `nil` for never, until a cancel.
    public var delay: TimeInterval?

    /// Makes an answer.
    public init(
        statusCode: Int? = 200, headers: HTTPHeaders = HTTPHeaders(), body: Data = Data(),
        chunkSize: Int = 16_384, delay: TimeInterval? = 0
    ) {
        self.statusCode = statusCode
        self.headers = headers
        self.body = body
        self.chunkSize = max(1, chunkSize)
        self.delay = delay
        self.error = nil
        self.failureOffset = 0
        self.stallsAtFailure = false
        self.serverTrust = nil
    }

    /// An answer with a text as body.
    public static func text(_ text: String, statusCode: Int = 200) -> StubAnswer {
        StubAnswer(
            statusCode: statusCode, headers: ["Content-Type": "text/plain; charset=utf-8"],
            body: Data(text.utf8))
    }

    /// An answer with a JSON text as body.
    public static func json(_ text: String, statusCode: Int = 200) -> StubAnswer {
        StubAnswer(
            statusCode: statusCode, headers: ["Content-Type": "application/json"],
            body: Data(text.utf8))
    }

    /// An answer without a body.
    public static func status(_ code: Int, headers: HTTPHeaders = HTTPHeaders()) -> StubAnswer {
        StubAnswer(statusCode: code, headers: headers)
    }

    /// A redirect.
    public static func redirect(_ code: Int = 302, to location: String) -> StubAnswer {
        status(code, headers: ["Location": location])
    }

    /// A failure before any byte of a response.
    public static func failure(_ error: TransferError) -> StubAnswer {
        var answer = StubAnswer(statusCode: nil)
        answer.error = error
        return answer
    }

    /// No answer at all; the transfer ends when it is cancelled.
    public static var silence: StubAnswer { StubAnswer(delay: nil) }
}
