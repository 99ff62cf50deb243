import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A response handler: makes a value of a finished request, then delivers it.
struct ResponseHandler: Sendable {
    /// Where the value is delivered.
    enum Destination: Sendable {
        /// On this queue; on the session's callback queue if `nil`.
        case queue(DispatchQueue?)
        /// On the finishing queue, because delivery calls no user code.
        case anywhere
        /// As `anywhere`: delivery sets a promise, whose tasks continue afterwards.
        case tasks(PromiseStorage)

        /// Whether delivery calls no user code.
        var isAnywhere: Bool {
            switch self {
            case .queue: false
            case .anywhere, .tasks: true
            }
        }
    }

    let destination: Destination
    /// Whether serializing calls no user code, and so takes microseconds at most.
    let isQuick: Bool
    /// Whether serializing may block its thread for long.
    let mayBlock: Bool
    private let work: Work

    private enum Work: Sendable {
        case serialize(@Sendable (Request, AttemptOutcome) -> Serialized)
        /// The outcome itself is the value.
        case passOn(@Sendable (AttemptOutcome) -> Void)
        /// The value is the body. Its closures would be two more objects: 4 % of the instructions
        /// of a stored response (`Benchmarks/count stored`).
        case data(
            DataResponseSerializer, @Sendable (DataResponse<Data, SessionError>) -> Void)
    }

    /// Makes a handler of a serializer.
    ///
    /// - Parameter serialize: Makes the value.
    init(
        destination: Destination, isQuick: Bool, mayBlock: Bool = false,
        serialize: @escaping @Sendable (Request, AttemptOutcome) -> Serialized
    ) {
        self.destination = destination
        self.isQuick = isQuick
        self.mayBlock = mayBlock
        work = .serialize(serialize)
    }

    /// Makes a handler that gets the outcome of a data request as it is.
    ///
    /// - Parameter completion: Called with the outcome.
    init(destination: Destination, completion: @escaping @Sendable (AttemptOutcome) -> Void) {
        self.destination = destination
        isQuick = true
        mayBlock = false
        work = .passOn(completion)
    }

    /// Makes a handler that gets the body of a data request.
    ///
    /// - Parameters:
    ///   - serializer: Makes the value.
    ///   - completion: Called with the response.
    init(
        destination: Destination, _ serializer: DataResponseSerializer,
        completion: @escaping @Sendable (DataResponse<Data, SessionError>) -> Void
    ) {
        self.destination = destination
        isQuick = serializer.isQuick
        mayBlock = false
        work = .data(serializer, completion)
    }

    /// Makes the value.
    func serialize(_ request: Request, _ outcome: AttemptOutcome) -> Serialized {
        switch work {
        case .serialize(let serialize): return serialize(request, outcome)
        case .passOn(let completion):
            if request.isMonitored { DataRequest.reportUnserialized(request, outcome) }
            return Serialized(failure: nil) { _ in completion(outcome) }
        case .data(let serializer, let completion):
            let response = DataRequest.response(to: request, outcome, serializer)
            return Serialized(failure: response.error) { replacement in
                if let replacement {
                    completion(response.with(.failure(replacement)))
                } else {
                    completion(response)
                }
            }
        }
    }

    /// A serialized value or a failure.
    struct Serialized: Sendable {
        /// Why serialization failed; retriers are called with it.
        ///
        /// `nil` without serialization: retriers were called with the request's error at the end
        /// of the transfer.
        let failure: SessionError?
        /// Delivers the value, or the given error in its place.
        let deliver: @Sendable (SessionError?) -> Void
    }

    /// Runs a serializer, and wraps errors that are no ``SessionError``.
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

/// A response of any kind of request, for handlers.
protocol SerializableResponse: Sendable {
    associatedtype Success: Sendable
    var error: SessionError? { get }
    func with(_ result: Result<Success, SessionError>) -> Self
}

extension DataResponse: SerializableResponse where Failure == SessionError {}
extension DownloadResponse: SerializableResponse where Failure == SessionError {}

/// A serialized value that waits for delivery.
struct Delivery: Sendable {
    let destination: ResponseHandler.Destination
    var replacement: SessionError?
    let serialized: ResponseHandler.Serialized

    func deliver() { serialized.deliver(replacement) }
}

/// Where a request is being finished.
enum FinishingPlace {
    /// On the transport's thread; calls no user code, except with inline delivery.
    case transport(TransportTurn)
    /// On a queue.
    case queue(DispatchQueue)

    /// The transport's turn; `nil` on a queue.
    var turn: TransportTurn? {
        switch self {
        case .transport(let turn): turn
        case .queue: nil
        }
    }
}
