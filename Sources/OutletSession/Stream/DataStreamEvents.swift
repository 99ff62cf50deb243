public import OutletHTTP
public import OutletTransport

extension DataStreamRequest {
    /// One event of a stream, and a way to end it.
    public struct Stream<Success: Sendable, Failure: Error>: Sendable {
        /// What has happened.
        public let event: Event<Success, Failure>
        /// Ends the request.
        public let token: CancellationToken

        /// Ends the request.
        public func cancel() { token.cancel() }

        /// The value, or why there is none; `nil` at the end.
        public var result: Result<Success, Failure>? {
            guard case .stream(let result) = event else { return nil }
            return result
        }

        /// The value, if there is one.
        public var value: Success? {
            guard case .success(let value)? = result else { return nil }
            return value
        }

        /// Why there is no value.
        public var error: Failure? {
            guard case .failure(let error)? = result else { return nil }
            return error
        }

        /// How the request ended, at the end.
        public var completion: Completion? {
            guard case .complete(let completion) = event else { return nil }
            return completion
        }
    }

    /// What happens in a stream.
    public enum Event<Success: Sendable, Failure: Error>: Sendable {
        /// A piece has come.
        case stream(Result<Success, Failure>)
        /// The request is over; nothing follows.
        case complete(Completion)
    }

    /// How a streaming request ended.
    public struct Completion: Sendable {
        /// The last request that was sent; `nil` when none could be made.
        public let request: HTTPRequest?
        /// The head of the response, if one arrived.
        public let response: HTTPResponse?
        /// The measures of the last attempt.
        public let metrics: TransferMetrics?
        /// Why the request failed.
        public let error: SessionError?
    }

    /// Ends a streaming request; does not keep it.
    public struct CancellationToken: Sendable {
        private weak let request: DataStreamRequest?

        init(_ request: DataStreamRequest) {
            self.request = request
        }

        /// Cancels the request, unless its handlers have seen the end.
        public func cancel() { request?.end(with: .explicitlyCancelled) }
    }
}
