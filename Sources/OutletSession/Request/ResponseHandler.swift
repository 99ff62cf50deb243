import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// What a user wants done with a finished request: make a value, then hand it over.
struct ResponseHandler: Sendable {
    /// Where the value is handed over.
    enum Destination: Sendable {
        /// On that queue; the session's callback queue when `nil`.
        case queue(DispatchQueue?)
        /// Wherever the request is being finished: it resumes a task, which runs elsewhere.
        case anywhere
    }

    let destination: Destination
    /// Whether serializing runs no code of the user's and takes microseconds at most.
    let isQuick: Bool
    /// Makes the value.
    let serialize: @Sendable (Request, AttemptOutcome) -> Serialized

    /// A value that was made, or failed to be.
    struct Serialized: Sendable {
        /// Why it failed; retriers are asked about it.
        let failure: SessionError?
        /// Hands the value over; with an error, hands that over in its place.
        let deliver: @Sendable (SessionError?) -> Void
    }

    /// Runs a serializer; what it throws is named.
    @inline(__always)
    static func result<Value>(_ serialize: () throws -> Value) -> Result<Value, SessionError> {
        Result(catching: serialize).mapError { error in
            error.asSessionError {
                .responseSerializationFailed(reason: .customSerializationFailed(error: $0))
            }
        }
    }
}

extension ResponseHandler.Serialized {
    /// A response that was not serialized: retriers were asked about its error when the transfer ended.
    init<Response: SerializableResponse>(
        unserialized response: Response, _ completion: @escaping @Sendable (Response) -> Void
    ) {
        self.init(failure: nil) { _ in completion(response) }
    }

    /// A serializer's response.
    init<Response: SerializableResponse>(
        _ response: Response, _ completion: @escaping @Sendable (Response) -> Void
    ) {
        self.init(failure: response.error) { replacement in
            if let replacement {
                completion(response.with(.failure(replacement)))
            } else {
                completion(response)
            }
        }
    }
}

/// What a handler is given, of whatever kind of request.
protocol SerializableResponse: Sendable {
    associatedtype Success: Sendable
    var error: SessionError? { get }
    func with(_ result: Result<Success, SessionError>) -> Self
}

extension DataResponse: SerializableResponse where Failure == SessionError {}
extension DownloadResponse: SerializableResponse where Failure == SessionError {}

extension Request.Mutable {
    /// What serializers are told of the last attempt.
    var facts: AttemptOutcome {
        // Judges and retriers may have had their say since.
        if let outcome = attempt.outcome, attempt.error == nil, outcome.error == nil {
            return outcome
        }
        return AttemptOutcome(
            request: history.requests.last, response: attempt.response, data: attempt.data,
            metrics: attempt.lastMetrics, error: attempt.error)
    }
}

/// A value that waits for the other serializers.
struct Delivery: Sendable {
    let destination: ResponseHandler.Destination
    var replacement: SessionError?
    let serialized: ResponseHandler.Serialized

    func deliver() { serialized.deliver(replacement) }
}

/// Where a request is being finished right now.
enum FinishingPlace {
    /// On the transport's thread; nothing of the user's runs here, unless declared non-blocking.
    case transport(TransportTurn)
    /// On a queue.
    case queue(DispatchQueue)
}
