public import OutletHTTP
public import OutletTransport

extension DataStreamRequest {
    /// An event of a stream, with methods to cancel the request.
    public struct Stream<Success: Sendable, Failure: Error>: Sendable {
        /// The event.
        public let event: Event<Success, Failure>
        /// Cancels the request.
        public let token: CancellationToken

        /// Cancels the request; no further values are delivered, but the completion is.
        ///
        /// A `for await` loop still gets the values that wait for it.
        public func cancel() { token.cancel() }

        /// The value or error of a piece; `nil` for the completion.
        public var result: Result<Success, Failure>? {
            guard case .stream(let result) = event else { return nil }
            return result
        }

        /// The value; `nil` for errors and for the completion.
        public var value: Success? {
            guard case .success(let value)? = result else { return nil }
            return value
        }

        /// The serialization error; `nil` for values and for the completion.
        public var error: Failure? {
            guard case .failure(let error)? = result else { return nil }
            return error
        }

        /// The completion; `nil` for pieces of the body.
        public var completion: Completion? {
            guard case .complete(let completion) = event else { return nil }
            return completion
        }
    }

    /// An event of a stream: a piece of the body, or the end.
    public enum Event<Success: Sendable, Failure: Error>: Sendable {
        /// A piece of the body, serialized.
        case stream(Result<Success, Failure>)
        /// The request has ended; the last event.
        indirect case complete(Completion)
    }

    /// How a streaming request ended.
    public struct Completion: Sendable {
        /// The last request, as adapted; `nil` when none could be made.
        public let request: HTTPRequest?
        /// The head of the response, if one arrived.
        public let response: HTTPResponse?
        /// The metrics of the last attempt; `nil` when there was no transfer.
        public let metrics: TransferMetrics?
        /// Why the request has failed; `nil` if it has not.
        public let error: SessionError?
    }

    /// Cancels a streaming request; references it weakly.
    public struct CancellationToken: Sendable {
        /// Shared by the events of a handler: each copy of a weak reference would cost more.
        private let target: Target

        private final class Target: Sendable {
            weak let request: DataStreamRequest?

            init(_ request: DataStreamRequest) {
                self.request = request
            }
        }

        init(_ request: DataStreamRequest) {
            target = Target(request)
        }

        /// Cancels the request; has no effect when all its handlers have got the completion.
        public func cancel() { target.request?.end(with: .explicitlyCancelled) }
    }
}
