public import FoundationEssentials
public import OutletHTTP

/// One message of a WebSocket (RFC 6455 §5.6).
public enum WebSocketMessage: Sendable, Equatable, Hashable {
    /// A binary message.
    case data(Data)
    /// A text message, UTF-8 on the wire.
    case string(String)
}

/// Why a WebSocket was closed (RFC 6455 §7.4); codes without a name here are kept.
public struct WebSocketCloseCode: RawRepresentable, Sendable, Equatable, Hashable {
    /// The number on the wire; 0 for none.
    public let rawValue: Int

    /// Makes a code of any number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// No code: the connection is still open.
    public static let invalid = WebSocketCloseCode(rawValue: 0)
    /// The purpose of the connection is fulfilled.
    public static let normalClosure = WebSocketCloseCode(rawValue: 1000)
    /// An end goes away: a server that stops, a page that is left.
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    /// An end broke the protocol.
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// An end got a kind of message that it does not take.
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// The close frame had no code; never on the wire.
    public static let noStatusReceived = WebSocketCloseCode(rawValue: 1005)
    /// There was no close frame; never on the wire.
    public static let abnormalClosure = WebSocketCloseCode(rawValue: 1006)
    /// A text was not UTF-8.
    public static let invalidFramePayloadData = WebSocketCloseCode(rawValue: 1007)
    /// A message was against the rules of the one who got it.
    public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    /// A message was too large for the one who got it.
    public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    /// The client wants an extension that the server has not agreed to.
    public static let mandatoryExtensionMissing = WebSocketCloseCode(rawValue: 1010)
    /// The server met something unexpected.
    public static let internalServerError = WebSocketCloseCode(rawValue: 1011)
    /// TLS failed; never on the wire.
    public static let tlsHandshakeFailure = WebSocketCloseCode(rawValue: 1015)
}

/// A WebSocket to be opened, as a transport is asked to.
public struct WebSocketJob: Sendable {
    /// The handshake's request (RFC 6455 §4.1): a `GET` to an http or https address.
    ///
    /// `Sec-WebSocket-Protocol` names the subprotocols offered; the transport adds the other fields
    /// of the handshake itself.
    public var request: HTTPRequest
    /// The largest message that is taken, in bytes; a larger one closes the connection (1009).
    public var maximumMessageSize: Int
    /// Sent with the handshake, unless the request has an `Authorization` field: at once with the
    /// scheme basic or bearer, and with digest where there is a ``challenge`` to answer.
    public var credential: Credential?
    /// What the server asked when it refused the handshake before; ``credential`` answers it.
    public var challenge: AuthenticationChallenge?
    /// As ``TransferJob/memory``.
    public var memory: AttemptMemory?
    /// As ``TransferJob/serverTrustManager``.
    public var serverTrustManager: (any ServerTrustJudging)?
    /// Which addresses may be connected to, besides what the transport's own configuration says.
    public var addressPolicy: AddressPolicy?

    /// Makes a job.
    ///
    /// - Parameters:
    ///   - request: The handshake; its scheme is `ws`, `wss`, `http` or `https`.
    ///   - maximumMessageSize: The most bytes of a received message; a larger one fails the connection.
    public init(request: HTTPRequest, maximumMessageSize: Int = 1_048_576) {
        self.request = request
        self.maximumMessageSize = maximumMessageSize
        self.credential = nil
        self.challenge = nil
        self.memory = nil
    }
}

/// A WebSocket that a transport has begun to open.
///
/// Whatever is asked for before it is open waits until then. Completions are called exactly once,
/// on the transport's thread, before the handler's end; they must not block.
public protocol WebSocketConnection: TransferTask {
    /// Sends a message, behind all those given before.
    ///
    /// - Parameters:
    ///   - message: The message, of any size.
    ///   - completion: Called when the last byte was handed to the network.
    ///
    /// Thread: any. Never blocks.
    func send(
        _ message: WebSocketMessage,
        completion: @escaping @Sendable (Result<Void, TransferError>) -> Void)

    /// Sends a ping, behind the messages given before.
    ///
    /// - Parameter completion: Called when its pong, or one of a later ping, has come.
    ///
    /// Thread: any. Never blocks.
    func sendPing(completion: @escaping @Sendable (Result<Void, TransferError>) -> Void)

    /// Closes the connection, once the messages given before are sent (RFC 6455 §7.1.2).
    ///
    /// Messages that come afterwards are dropped. A peer that does not answer is waited for a few
    /// seconds only. A connection that is not open yet ends with ``TransferError/Code/cancelled``.
    ///
    /// - Parameters:
    ///   - code: Why; none is sent for codes that must not be on the wire.
    ///   - reason: At most 123 bytes of UTF-8; what is beyond is cut off.
    ///
    /// Thread: any. Never blocks.
    func close(code: WebSocketCloseCode, reason: Data?)
}

/// Told what happens to a WebSocket.
///
/// The head is the answer to the handshake; the connection is open when its status is 101. Any
/// other ends it without an error: it is for the handler to judge.
public protocol WebSocketHandler: TransferHandler {
    /// A message has come.
    ///
    /// - Returns: Whether to go on, to read no more until ``TransferTask/resume()``, or to end as
    ///   cancelled.
    func webSocket(
        _ connection: any WebSocketConnection, didReceive message: WebSocketMessage,
        turn: TransportTurn
    ) -> TransferDecision

    /// Both ends have closed the connection as they should; the end follows.
    ///
    /// - Parameters:
    ///   - connection: The WebSocket.
    ///   - code: The peer's; the own one when the peer closed without a word.
    ///   - reason: The peer's words, if any.
    ///   - turn: Gathers work for queues until the transport's turn ends; not to be kept.
    func webSocket(
        _ connection: any WebSocketConnection, didCloseWith code: WebSocketCloseCode,
        reason: Data?, turn: TransportTurn)
}

extension Transport {
    /// Refuses: this transport speaks no WebSocket.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        refuse(
            TransferError(
                code: .unsupportedURL, reason: "this session's transport speaks no WebSocket",
                advice: "use a transport that implements connect(_:handler:)"),
            handler: handler)
    }

    /// Ends a WebSocket that cannot be opened here, on the caller's thread.
    package func refuse(
        _ error: TransferError, response: HTTPResponse? = nil, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        let connection = RefusedConnection(error)
        let turn = TransportTurn()
        handler.transferDidFinish(
            connection, result: TransferResult(response: response, error: error), turn: turn)
        turn.end()
        return connection
    }
}

/// A WebSocket that will not be.
private final class RefusedConnection: WebSocketConnection {
    private let error: TransferError

    init(_ error: TransferError) {
        self.error = error
    }

    /// Below all of the transport's own.
    let identifier: UInt64 = 0

    func cancel() {}
    func suspend() {}
    func resume() {}

    func send(
        _ message: WebSocketMessage,
        completion: @escaping @Sendable (Result<Void, TransferError>) -> Void
    ) {
        completion(.failure(error))
    }

    func sendPing(completion: @escaping @Sendable (Result<Void, TransferError>) -> Void) {
        completion(.failure(error))
    }

    func close(code: WebSocketCloseCode, reason: Data?) {}
}
