public import FoundationEssentials
public import OutletHTTP
import OutletSession
public import OutletTransport

/// What a stub answers to one request.
public struct StubAnswer: Sendable {
    /// The status code; no head comes when `nil`.
    public var statusCode: Int?
    /// The protocol spoken.
    public var httpVersion = "HTTP/1.1"
    /// Heads that come before the final one (1xx), in order.
    public var interimHeads: [InterimHead] = []
    /// The header fields.
    public var headers: HTTPHeaders
    /// The body.
    public var body: Data
    /// The sizes of the first chunks, in bytes; ``chunkSize`` is that of the others.
    public var chunkSizes: [Int] = []
    /// The most bytes handed over at a time.
    public var chunkSize: Int
    /// Fields behind the body (RFC 9110 §6.5).
    public var trailers: HTTPHeaders?
    /// How the transfer fails, after ``failureOffset`` bytes of ``failurePart``.
    public var error: TransferError?
    /// How many bytes of ``failurePart`` come before ``error``.
    public var failureOffset: Int
    /// What ``failureOffset`` counts the bytes of.
    public var failurePart = Part.body
    /// Whether, in place of failing there, nothing more comes until a cancel.
    public var stallsAtFailure: Bool
    /// What the server shows of itself, to requests that ask for trust.
    public var serverTrust: ServerTrust?
    /// When the answer begins, in seconds after the request; `nil` for never, until a cancel.
    public var delay: TimeInterval?
    /// Where the body waits on its way.
    public var pauses: [Pause] = []
    /// What happens on a WebSocket once its handshake is accepted (101).
    public var script: [StubSocketStep] = []

    /// A head that announces another one (RFC 9110 §15.2).
    public struct InterimHead: Sendable, Equatable {
        /// The status code, 100 to 199.
        public var statusCode: Int
        /// The header fields.
        public var headers: HTTPHeaders

        /// Makes a head.
        public init(statusCode: Int, headers: HTTPHeaders = HTTPHeaders()) {
            self.statusCode = statusCode
            self.headers = headers
        }
    }

    /// A part of a response.
    public enum Part: Sendable, Equatable {
        /// Status line and fields; a head that is cut short is never handed over.
        case head
        /// The body.
        case body
    }

    /// A wait on the way through the body.
    public struct Pause: Sendable {
        /// How many bytes of the body come before it.
        public var offset: Int
        /// What ends it.
        public var end: End

        /// What ends a wait.
        public enum End: Sendable {
            /// So much time of the transport's clock.
            case after(Duration)
            /// The gate's opening.
            case gate(StubGate)
        }
    }

    /// Makes an answer.
    public init(
        statusCode: Int? = 200, headers: HTTPHeaders = HTTPHeaders(), body: Data = Data(),
        chunkSize: Int = 16_384, delay: TimeInterval? = 0
    ) {
        self.statusCode = statusCode
        self.headers = headers
        self.body = body
        self.chunkSize = chunkSize
        self.delay = delay
        self.error = nil
        self.failureOffset = 0
        self.stallsAtFailure = false
    }

    // MARK: Usual answers

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

    // MARK: Changes

    /// The same, begun later on the transport's clock.
    public func delayed(by delay: Duration) -> StubAnswer {
        changed { $0.delay = delay / .seconds(1) }
    }

    /// The same, its body in chunks of those sizes, the last one for the rest.
    public func chunked(into sizes: Int...) -> StubAnswer {
        changed { answer in
            answer.chunkSizes = sizes.dropLast()
            answer.chunkSize = sizes.last ?? answer.chunkSize
        }
    }

    /// The same, breaking off with an error after so many bytes of its head or its body.
    public func failing(
        with error: TransferError, atByte offset: Int, of part: Part = .body
    ) -> StubAnswer {
        changed { answer in
            answer.error = error
            answer.failureOffset = offset
            answer.failurePart = part
        }
    }

    /// The same, with nothing coming after so many bytes of the body, until a cancel.
    public func stalling(atByte offset: Int) -> StubAnswer {
        changed { answer in
            answer.failureOffset = offset
            answer.stallsAtFailure = true
        }
    }

    /// The same, waiting after so many bytes of the body until the gate opens.
    public func waiting(atByte offset: Int, for gate: StubGate) -> StubAnswer {
        changed { $0.pauses.append(Pause(offset: offset, end: .gate(gate))) }
    }

    /// The same, waiting after so many bytes of the body for so long on the transport's clock.
    public func waiting(atByte offset: Int, for time: Duration) -> StubAnswer {
        changed { $0.pauses.append(Pause(offset: offset, end: .after(time))) }
    }

    /// The same, with fields behind the body.
    public func trailing(_ trailers: HTTPHeaders) -> StubAnswer {
        changed { $0.trailers = trailers }
    }

    /// The same, behind an interim head.
    public func after(interim code: Int, headers: HTTPHeaders = HTTPHeaders()) -> StubAnswer {
        changed { $0.interimHeads.append(InterimHead(statusCode: code, headers: headers)) }
    }

    private func changed(_ change: (inout StubAnswer) -> Void) -> StubAnswer {
        var answer = self
        change(&answer)
        return answer
    }
}
