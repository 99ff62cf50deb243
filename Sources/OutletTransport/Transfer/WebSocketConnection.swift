public import FoundationEssentials
public import OutletHTTP

/// One message of a WebSocket (RFC 6455 §5.6).
public enum WebSocketMessage: Sendable, Equatable, Hashable {
    /// A binary message.
    case data(Data)
    /// A text message, UTF-8 on the wire.
    case string(String)
}

/// Why a WebSocket was closed (RFC 6455 §7.4); may hold codes that have no name here.
public struct WebSocketCloseCode: RawRepresentable, Sendable, Equatable, Hashable {
    /// The number on the wire; 0 for no code.
    public let rawValue: Int

    /// Makes a code from any number; it is not checked.
    ///
    /// - Parameter rawValue: The code (RFC 6455 §7.4); 0 for no code.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// No code: the connection is still open.
    public static let invalid = WebSocketCloseCode(rawValue: 0)
    /// The purpose of the connection is fulfilled.
    public static let normalClosure = WebSocketCloseCode(rawValue: 1000)
    /// An endpoint goes away: the server stops, or the user leaves the page.
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    /// An endpoint violated the protocol.
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// An endpoint received a kind of message that it does not accept.
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// The close frame had no code; never on the wire.
    public static let noStatusReceived = WebSocketCloseCode(rawValue: 1005)
    /// There was no close frame; never on the wire.
    public static let abnormalClosure = WebSocketCloseCode(rawValue: 1006)
    /// A text message was not UTF-8.
    public static let invalidFramePayloadData = WebSocketCloseCode(rawValue: 1007)
    /// A message violated the policy of its receiver.
    public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    /// A message was too large for its receiver.
    public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    /// The client requires an extension that the server did not accept.
    public static let mandatoryExtensionMissing = WebSocketCloseCode(rawValue: 1010)
    /// The server met an unexpected condition.
    public static let internalServerError = WebSocketCloseCode(rawValue: 1011)
    /// TLS failed; never on the wire.
    public static let tlsHandshakeFailure = WebSocketCloseCode(rawValue: 1015)
}

/// A WebSocket for a transport to open.
public struct WebSocketJob: Sendable {
    /// The handshake's request (RFC 6455 §4.1): a `GET` to an http or https address.
    ///
    /// `Sec-WebSocket-Protocol` lists the offered subprotocols; the transport adds the other fields
    /// of the handshake.
    public var request: HTTPRequest
    /// The largest message accepted, in bytes; a larger one closes the connection with
    /// ``WebSocketCloseCode/messageTooBig``.
    public var maximumMessageSize: Int
    /// Sent with the handshake, unless the request has an `Authorization` field.
    ///
    /// Credentials for basic and bearer are sent at once, those for digest only if there is a
    /// ``challenge`` to answer.
    public var credential: Credential?
    /// The challenge with which the server refused the handshake before; ``credential`` answers it.
    public var challenge: AuthenticationChallenge?
    /// Keeps values of layers for the next attempt to open the connection; `nil` to keep none.
    public var memory: AttemptMemory?
    /// Provides the policy that evaluates the server; see ``TransferJob/serverTrustManager``.
    public var serverTrustManager: (any ServerTrustDeciding)?
    /// The IP addresses that may be connected to; see ``TransferJob/addressPolicy``.
    public var addressPolicy: AddressPolicy?
    /// The original URL of the handshake before redirects; `nil` if it was not redirected.
    public var firstURL: URL?
    /// As ``TransferJob/receivedContext``.
    package var receivedContext: Boxed<RequestContext>?

    /// Makes a job.
    ///
    /// - Parameters:
    ///   - request: The handshake; its scheme is `ws`, `wss`, `http` or `https`.
    ///   - maximumMessageSize: The largest message accepted, in bytes.
    public init(request: HTTPRequest, maximumMessageSize: Int = 1_048_576) {
        self.request = request
        self.maximumMessageSize = maximumMessageSize
        self.credential = nil
        self.challenge = nil
        self.memory = nil
    }
}

/// A WebSocket that a transport is opening or has opened.
///
/// Messages, pings and closes requested before the connection is open wait until it is.
///
/// Completions are called exactly once, on the transport's thread, and must not block. Those of
/// messages sent before the end are called before the handler's end. Those of messages sent after
/// the end fail, on the transport's or the caller's thread.
public protocol WebSocketConnection: TransferTask {
    /// Sends a message, after all messages passed before.
    ///
    /// - Parameters:
    ///   - message: The message, of any size.
    ///   - completion: Called when the last byte was passed to the network, or with the error.
    ///
    /// Thread: any. Never blocks.
    func send(
        _ message: WebSocketMessage,
        completion: @escaping @Sendable (Result<Void, TransferError>) -> Void)

    /// Sends a ping, after all messages passed before.
    ///
    /// - Parameter completion: Called when the pong of this or a later ping has arrived, or with
    ///   the error.
    ///
    /// Thread: any. Never blocks.
    func sendPing(completion: @escaping @Sendable (Result<Void, TransferError>) -> Void)

    /// Closes the connection after the messages passed before are sent (RFC 6455 §7.1.2).
    ///
    /// Messages that arrive afterwards are ignored. If the peer does not answer, the connection is
    /// closed after a few seconds. A connection that is not open yet ends with
    /// ``TransferError/Code/cancelled``.
    ///
    /// - Parameters:
    ///   - code: The code to send; none is sent for codes that must not be on the wire.
    ///   - reason: A UTF-8 text of at most 123 bytes, a longer one is truncated; `nil` for none.
    ///
    /// Thread: any. Never blocks.
    func close(code: WebSocketCloseCode, reason: Data?)
}

/// Receives the events of a WebSocket.
///
/// The head is the answer to the handshake. Status 101 means that the connection is open. Any other
/// status ends the transfer without an error; the handler has to check the status.
public protocol WebSocketHandler: TransferHandler {
    /// A message has arrived.
    ///
    /// - Parameters:
    ///   - connection: The WebSocket.
    ///   - message: The complete message.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    /// - Returns: Whether to continue, to stop reading until ``TransferTask/resume()``, or to end
    ///   as cancelled.
    func webSocket(
        _ connection: any WebSocketConnection, didReceive message: WebSocketMessage,
        turn: TransportTurn
    ) -> TransferDecision

    /// The connection was closed properly; the end of the transfer follows.
    ///
    /// - Parameters:
    ///   - connection: The WebSocket.
    ///   - code: The peer's close code; the local one if the peer has sent no close frame.
    ///   - reason: The reason in the same close frame; `nil` if it had none.
    ///   - turn: Collects work for dispatch queues until the transport's turn ends; do not keep it.
    func webSocket(
        _ connection: any WebSocketConnection, didCloseWith code: WebSocketCloseCode,
        reason: Data?, turn: TransportTurn)
}

extension Transport {
    /// Fails the connection with ``TransferError/Code/unsupportedURL``, on the caller's thread,
    /// because this transport does not support WebSockets.
    ///
    /// - Parameters:
    ///   - job: Ignored: nothing is sent.
    ///   - handler: Receives only the end, before this returns; not kept.
    /// - Returns: A connection that has ended; messages and pings sent on it fail with the same
    ///   error.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        refuse(
            TransferError(
                code: .unsupportedURL, reason: "this session's transport speaks no WebSocket",
                advice: "use a transport that implements connect(_:handler:)"),
            handler: handler)
    }

    /// Returns a WebSocket that has failed already; calls the handler's end on the caller's thread.
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

/// A WebSocket that could not be opened; everything sent on it fails with the same error.
private final class RefusedConnection: WebSocketConnection {
    private let error: TransferError

    init(_ error: TransferError) {
        self.error = error
    }

    /// Less than the identifiers of all other transfers.
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
