public import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

extension WebSocketRequest {
    /// An event of a WebSocket.
    public struct Event<Success: Sendable, Failure: Error>: Sendable {
        /// What happened: first `connected`, then messages, `disconnected`, and `completed` last.
        public enum Kind: Sendable {
            /// The connection is open; `protocol` is the subprotocol that the server chose, or
            /// `nil`.
            case connected(protocol: String?)
            /// A message has arrived.
            case receivedMessage(Success)
            /// A message has arrived, and the serializer threw this error.
            case serializerFailed(Failure)
            /// The connection was closed with a close frame, by either end.
            ///
            /// Does not occur after a cancel or a failure of the connection.
            case disconnected(closeCode: WebSocketCloseCode, reason: Data?)
            /// The request has ended; always the last event.
            indirect case completed(Completion)
        }

        /// The request; the event retains it.
        public let socket: WebSocketRequest?
        /// What happened.
        public let kind: Kind

        init(socket: WebSocketRequest, kind: Kind) {
            self.socket = socket
            self.kind = kind
        }

        /// The message of a `receivedMessage` event; `nil` for other events.
        public var message: Success? {
            guard case .receivedMessage(let message) = kind else { return nil }
            return message
        }

        /// Closes the connection with a close frame, after the messages sent before.
        ///
        /// See ``WebSocketRequest/close(sending:reason:)``.
        ///
        /// - Parameters:
        ///   - closeCode: The reason as a number.
        ///   - reason: The reason as UTF-8 text of at most 123 bytes, cut off beyond; `nil` for
        ///     none.
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
        ///   - onResponse: Called exactly once, with the pong or the reason why there is none.
        public func sendPing(
            respondingOn queue: DispatchQueue? = nil,
            onResponse: @escaping @Sendable (PingResponse) -> Void
        ) {
            socket?.sendPing(respondingOn: queue, onResponse: onResponse)
        }
    }

    /// The result of a request that has ended.
    public struct Completion: Sendable {
        /// The last request, as adapted; `nil` if none was made.
        public let request: HTTPRequest?
        /// The response to the handshake; `nil` if there was none.
        public let response: HTTPResponse?
        /// The metrics of the last attempt; `nil` if there was none.
        public let metrics: TransferMetrics?
        /// Why the request failed; `nil` if the connection was closed with a close frame, or
        /// ``WebSocketRequest/close(sending:reason:)`` was called before it was open.
        public let error: SessionError?
    }

    /// The settings of a WebSocket.
    public struct Configuration: Sendable {
        /// The default settings: no subprotocol, messages up to 1 MiB, no automatic pings.
        public static var `default`: Self { Self() }

        /// Returns the default settings with a subprotocol.
        ///
        /// - Parameter protocol: The value of `Sec-WebSocket-Protocol`; several subprotocols are
        ///   separated by commas, the preferred one first.
        public static func `protocol`(_ protocol: String) -> Self {
            Self(protocol: `protocol`)
        }

        /// Returns the default settings with another size limit.
        ///
        /// - Parameter maximumMessageSize: The largest message accepted, in bytes.
        public static func maximumMessageSize(_ maximumMessageSize: Int) -> Self {
            Self(maximumMessageSize: maximumMessageSize)
        }

        /// Returns the default settings with automatic pings.
        ///
        /// - Parameter pingInterval: The time from a pong to the next ping, in seconds; no pings if
        ///   it is not greater than 0.
        public static func pingInterval(_ pingInterval: TimeInterval) -> Self {
            Self(pingInterval: pingInterval)
        }

        /// The subprotocols offered (`Sec-WebSocket-Protocol`), separated by commas; `nil` for
        /// none.
        public let `protocol`: String?
        /// The largest message accepted, in bytes; a larger one fails the request.
        public let maximumMessageSize: Int
        /// The time from a pong to the next ping, in seconds; `nil` for no automatic pings.
        ///
        /// The first ping is sent so long after the connection was opened. Without a pong, no
        /// further ping is sent.
        public let pingInterval: TimeInterval?

        /// Makes settings.
        ///
        /// - Parameters:
        ///   - protocol: The value of `Sec-WebSocket-Protocol`: subprotocols separated by commas,
        ///     the preferred one first; `nil` for none.
        ///   - maximumMessageSize: The largest message accepted, in bytes; 1 MiB by default.
        ///   - pingInterval: The time from a pong to the next ping, in seconds; no pings if `nil`
        ///     or not greater than 0.
        public init(
            protocol: String? = nil, maximumMessageSize: Int = 1_048_576,
            pingInterval: TimeInterval? = nil
        ) {
            self.protocol = `protocol`
            self.maximumMessageSize = maximumMessageSize
            self.pingInterval = pingInterval
        }
    }

    /// The result of a ping.
    public enum PingResponse: Sendable {
        /// The times of a ping and its pong.
        public struct Pong: Sendable {
            /// When `sendPing` was called.
            public let start: Date
            /// When the pong arrived.
            public let end: Date
            /// The time between them in seconds, measured with a monotonic clock.
            public let latency: TimeInterval
        }

        /// The pong has arrived.
        case pong(Pong)
        /// The ping was not sent, or its pong cannot arrive any more, because of this error.
        case error(any Error)
        /// The ping was not sent, because the request is not in state `resumed`.
        case unsent
    }
}
