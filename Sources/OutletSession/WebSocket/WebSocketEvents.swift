public import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

extension WebSocketRequest {
    /// An event of a WebSocket.
    public struct Event<Success: Sendable, Failure: Error>: Sendable {
        /// What happened: connected, then messages, then disconnected, then completed.
        public enum Kind: Sendable {
            /// The connection is open; the protocol is the one that the server chose, if any.
            case connected(protocol: String?)
            /// A message has come.
            case receivedMessage(Success)
            /// A message has come that the serializer cannot read.
            case serializerFailed(Failure)
            /// Either end has closed the connection in order; not told after a cancel or a failure.
            case disconnected(closeCode: WebSocketCloseCode, reason: Data?)
            /// The request is over; always the last.
            case completed(Completion)
        }

        /// The request; an event that is kept keeps it.
        public let socket: WebSocketRequest?
        /// What happened.
        public let kind: Kind

        init(socket: WebSocketRequest, kind: Kind) {
            self.socket = socket
            self.kind = kind
        }

        /// The message, if one has come.
        public var message: Success? {
            guard case .receivedMessage(let message) = kind else { return nil }
            return message
        }

        /// Closes the connection in order.
        public func close(sending closeCode: WebSocketCloseCode, reason: Data? = nil) {
            socket?.close(sending: closeCode, reason: reason)
        }

        /// Ends the request with ``SessionError/explicitlyCancelled``.
        public func cancel() {
            socket?.cancel()
        }

        /// Sends a ping.
        ///
        /// - Parameters:
        ///   - queue: Where `onResponse` runs; the session's callback queue if `nil`.
        ///   - onResponse: Called exactly once.
        public func sendPing(
            respondingOn queue: DispatchQueue? = nil,
            onResponse: @escaping @Sendable (PingResponse) -> Void
        ) {
            socket?.sendPing(respondingOn: queue, onResponse: onResponse)
        }
    }

    /// How a request ended.
    public struct Completion: Sendable {
        /// The last request that was made.
        public let request: HTTPRequest?
        /// The answer to the handshake.
        public let response: HTTPResponse?
        /// What was measured of the last attempt.
        public let metrics: TransferMetrics?
        /// Why the request failed; `nil` when the connection was closed in order.
        public let error: SessionError?
    }

    /// The settings of a WebSocket.
    public struct Configuration: Sendable {
        /// The usual ones: no subprotocol, messages up to 1 MiB, no pings.
        public static var `default`: Self { Self() }

        /// The usual ones with a subprotocol; several are separated by commas, the best first.
        public static func `protocol`(_ protocol: String) -> Self {
            Self(protocol: `protocol`)
        }

        /// The usual ones with another limit of messages, in bytes.
        public static func maximumMessageSize(_ maximumMessageSize: Int) -> Self {
            Self(maximumMessageSize: maximumMessageSize)
        }

        /// The usual ones with pings, each so many seconds after the pong before.
        public static func pingInterval(_ pingInterval: TimeInterval) -> Self {
            Self(pingInterval: pingInterval)
        }

        /// The subprotocol offered (`Sec-WebSocket-Protocol`).
        public let `protocol`: String?
        /// The largest message that is taken, in bytes; a larger one fails the request.
        public let maximumMessageSize: Int
        /// How long after a pong the next ping is sent, in seconds; `nil` for no pings.
        public let pingInterval: TimeInterval?

        /// Names settings.
        public init(
            protocol: String? = nil, maximumMessageSize: Int = 1_048_576,
            pingInterval: TimeInterval? = nil
        ) {
            self.protocol = `protocol`
            self.maximumMessageSize = maximumMessageSize
            self.pingInterval = pingInterval
        }
    }

    /// What became of a ping.
    public enum PingResponse: Sendable {
        /// A pong, and how long it took.
        public struct Pong: Sendable {
            /// When the ping was given to be sent.
            public let start: Date
            /// When the pong came.
            public let end: Date
            /// The time between them, in seconds, by a clock that nobody sets.
            public let latency: TimeInterval
        }

        /// The pong has come.
        case pong(Pong)
        /// No pong will come.
        case error(any Error)
        /// The ping was not sent: the request is not running.
        case unsent
    }
}
