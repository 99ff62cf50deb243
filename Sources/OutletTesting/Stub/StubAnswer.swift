public import FoundationEssentials
public import OutletHTTP
import OutletSession
public import OutletTransport

/// The answer of a stub to one request: response, timing and failure.
///
/// Of an answer to a WebSocket handshake only ``statusCode``, ``headers``, ``error``, ``delay`` and
/// ``script`` are used.
public struct StubAnswer: Sendable {
    /// The status code; if `nil`, the transfer ends without a response.
    ///
    /// As from a server, a status below 200 is no final response: the transfer fails with
    /// `TransferError.Code.badServerResponse`. A WebSocket handshake needs status 101.
    public var statusCode: Int?
    /// The HTTP version of the response.
    public var httpVersion = "HTTP/1.1"
    /// Interim responses (1xx) before the final head, in order.
    public var interimHeads: [InterimHead] = []
    /// The headers.
    ///
    /// `Content-Length` is added if there is a body, and neither it nor `Transfer-Encoding` is set.
    /// One that is set is not compared with the body: unlike from a server, a shorter body is not an
    /// error.
    ///
    /// As from a server, a name that is not a token, and a value with CR, LF or NUL, fail the
    /// transfer with `TransferError.Code.badServerResponse`.
    public var headers: HTTPHeaders
    /// The body.
    ///
    /// As from a server, it is not delivered to a `HEAD` request, nor with the statuses 204, 205 and
    /// 304 (RFC 9110 §6.4.1).
    public var body: Data
    /// The sizes of the first chunks, in bytes; later chunks have the size ``chunkSize``.
    public var chunkSizes: [Int] = []
    /// The size of a chunk of the body, in bytes; at least 1.
    public var chunkSize: Int
    /// The trailers (RFC 9110 §6.5); `nil` for none.
    public var trailers: HTTPHeaders?
    /// The error with which the transfer fails after ``failureOffset`` bytes of ``failurePart``;
    /// `nil` if it succeeds.
    public var error: TransferError?
    /// How many bytes of ``failurePart`` arrive before ``error``.
    public var failureOffset: Int
    /// The part of the response whose bytes ``failureOffset`` counts.
    public var failurePart = Part.body
    /// Whether the transfer stalls at ``failureOffset`` instead of failing, until it is cancelled.
    public var stallsAtFailure: Bool
    /// The certificates of the server, which the session's trust policies evaluate for `https`
    /// URLs; `nil` for a trusted server.
    public var serverTrust: ServerTrust?
    /// The time between request and answer, in seconds on the transport's clock; `nil` never
    /// answers, until a cancel.
    ///
    /// WebSocket handshakes use real time. 0 if it is not a positive number, at most 10⁹ s.
    public var delay: TimeInterval?
    /// ``delay`` within its limits, because clocks take no other numbers.
    var limitedDelay: TimeInterval? { delay.map { $0 > 0 ? min($0, 1e9) : 0 } }
    /// Pauses in the body.
    public var pauses: [Pause] = []
    /// The steps of a WebSocket after its handshake was accepted (status 101).
    public var script: [StubSocketStep] = []

    /// An interim response (RFC 9110 §15.2).
    public struct InterimHead: Sendable, Equatable {
        /// The status code, 100 to 199.
        public var statusCode: Int
        /// The headers.
        public var headers: HTTPHeaders

        /// Makes an interim response.
        ///
        /// - Parameters:
        ///   - statusCode: The status code, 100 to 199; not checked.
        ///   - headers: The headers; none by default.
        public init(statusCode: Int, headers: HTTPHeaders = HTTPHeaders()) {
            self.statusCode = statusCode
            self.headers = headers
        }
    }

    /// A part of a response.
    public enum Part: Sendable, Equatable {
        /// Status line and headers; an incomplete head is never delivered.
        case head
        /// The body.
        case body
    }

    /// A pause in the delivery of the body.
    public struct Pause: Sendable {
        /// The number of bytes of the body before the pause.
        public var offset: Int
        /// What ends the pause.
        public var end: End

        /// What ends a pause.
        public enum End: Sendable {
            /// A time on the transport's clock.
            case after(Duration)
            /// A gate that is opened.
            case gate(StubGate)
        }
    }

    /// Makes an answer.
    ///
    /// - Parameters:
    ///   - statusCode: The status code; if `nil`, the transfer ends without a response.
    ///   - headers: The headers; `Content-Length` is added if there is a body.
    ///   - body: The body.
    ///   - chunkSize: The size of a chunk of the body, in bytes; 16 KiB by default.
    ///   - delay: The time between request and answer, in seconds on the transport's clock; `nil`
    ///     never answers, until a cancel.
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

    /// Returns an answer with a text as body, in UTF-8, of type `text/plain`.
    ///
    /// - Parameters:
    ///   - text: The body.
    ///   - statusCode: The status code.
    public static func text(_ text: String, statusCode: Int = 200) -> StubAnswer {
        StubAnswer(
            statusCode: statusCode, headers: ["Content-Type": "text/plain; charset=utf-8"],
            body: Data(text.utf8))
    }

    /// Returns an answer with a JSON body, of type `application/json`.
    ///
    /// - Parameters:
    ///   - text: The JSON text; not checked.
    ///   - statusCode: The status code.
    public static func json(_ text: String, statusCode: Int = 200) -> StubAnswer {
        StubAnswer(
            statusCode: statusCode, headers: ["Content-Type": "application/json"],
            body: Data(text.utf8))
    }

    /// Returns an answer without a body.
    ///
    /// - Parameters:
    ///   - code: The status code.
    ///   - headers: The header fields.
    public static func status(_ code: Int, headers: HTTPHeaders = HTTPHeaders()) -> StubAnswer {
        StubAnswer(statusCode: code, headers: headers)
    }

    /// Returns a redirect.
    ///
    /// - Parameters:
    ///   - code: The status code, such as 302 or 308.
    ///   - location: The value of `Location`, an absolute or a relative URL.
    public static func redirect(_ code: Int = 302, to location: String) -> StubAnswer {
        status(code, headers: ["Location": location])
    }

    /// Returns a failure before any byte of a response.
    ///
    /// - Parameter error: The error of the transfer.
    public static func failure(_ error: TransferError) -> StubAnswer {
        var answer = StubAnswer(statusCode: nil)
        answer.error = error
        return answer
    }

    /// An answer that never begins; the transfer ends when it is cancelled.
    public static var silence: StubAnswer { StubAnswer(delay: nil) }

    // MARK: Changes

    /// Returns a copy that begins after a delay.
    ///
    /// - Parameter delay: The time between request and answer, on the transport's clock; replaces
    ///   an earlier delay. WebSocket handshakes use real time.
    public func delayed(by delay: Duration) -> StubAnswer {
        changed { $0.delay = delay / .seconds(1) }
    }

    /// Returns a copy whose body arrives in chunks of given sizes.
    ///
    /// - Parameter sizes: The sizes of the chunks, in bytes; the last one also applies to all
    ///   further chunks.
    public func chunked(into sizes: Int...) -> StubAnswer {
        changed { answer in
            answer.chunkSizes = sizes.dropLast()
            answer.chunkSize = sizes.last ?? answer.chunkSize
        }
    }

    /// Returns a copy that fails after some bytes of its head or its body.
    ///
    /// - Parameters:
    ///   - error: The error of the transfer.
    ///   - offset: How many bytes of `part` arrive before. If the head or the body has fewer, that
    ///     part arrives whole and the transfer fails then.
    ///   - part: The part that is incomplete; with ``Part/head`` no body arrives.
    public func failing(
        with error: TransferError, atByte offset: Int, of part: Part = .body
    ) -> StubAnswer {
        changed { answer in
            answer.error = error
            answer.failureOffset = offset
            answer.failurePart = part
        }
    }

    /// Returns a copy that stalls in its body until it is cancelled.
    ///
    /// - Parameter offset: How many bytes of the body arrive before.
    public func stalling(atByte offset: Int) -> StubAnswer {
        changed { answer in
            answer.failureOffset = offset
            answer.stallsAtFailure = true
        }
    }

    /// Returns a copy whose body pauses until a gate is opened.
    ///
    /// - Parameters:
    ///   - offset: How many bytes of the body arrive before; a greater number than the body has
    ///     pauses before the end of the transfer.
    ///   - gate: Ends the pause when it is opened.
    public func waiting(atByte offset: Int, for gate: StubGate) -> StubAnswer {
        changed { $0.pauses.append(Pause(offset: offset, end: .gate(gate))) }
    }

    /// Returns a copy whose body pauses for a time.
    ///
    /// - Parameters:
    ///   - offset: How many bytes of the body arrive before; a greater number than the body has
    ///     pauses before the end of the transfer.
    ///   - time: The length of the pause, on the transport's clock.
    public func waiting(atByte offset: Int, for time: Duration) -> StubAnswer {
        changed { $0.pauses.append(Pause(offset: offset, end: .after(time))) }
    }

    /// Returns a copy with trailers (RFC 9110 §6.5).
    ///
    /// - Parameter trailers: The trailer fields.
    public func trailing(_ trailers: HTTPHeaders) -> StubAnswer {
        changed { $0.trailers = trailers }
    }

    /// Returns a copy with one more interim response before the final head.
    ///
    /// - Parameters:
    ///   - code: The status code, 100 to 199; not checked.
    ///   - headers: The headers of the interim response.
    public func after(interim code: Int, headers: HTTPHeaders = HTTPHeaders()) -> StubAnswer {
        changed { $0.interimHeads.append(InterimHead(statusCode: code, headers: headers)) }
    }

    private func changed(_ change: (inout StubAnswer) -> Void) -> StubAnswer {
        var answer = self
        change(&answer)
        return answer
    }
}
