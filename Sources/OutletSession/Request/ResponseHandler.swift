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
        case .passOn:
            if request.isMonitored { DataRequest.reportUnserialized(request, outcome) }
            return .outcome(outcome)
        case .data(let serializer, _):
            return .data(DataRequest.response(to: request, outcome, serializer))
        }
    }

    /// Delivers a value that this handler has made.
    func deliver(_ serialized: Serialized) {
        switch serialized {
        case .value(_, let deliver): deliver(nil)
        case .outcome(let outcome):
            if case .passOn(let completion) = work { completion(outcome) }
        case .data(let response):
            if case .data(_, let completion) = work { completion(response) }
        }
    }

    /// A serialized value or a failure.
    enum Serialized: Sendable {
        /// A value that a closure delivers.
        ///
        /// - Parameters:
        ///   - failure: Why serialization failed; `nil` if it has not, and without serialization.
        ///   - deliver: Delivers the value, or the given error in its place.
        case value(failure: SessionError?, deliver: @Sendable (SessionError?) -> Void)
        /// The outcome itself.
        case outcome(AttemptOutcome)
        /// The body.
        case data(DataResponse<Data, SessionError>)

        init(failure: SessionError?, deliver: @escaping @Sendable (SessionError?) -> Void) {
            self = .value(failure: failure, deliver: deliver)
        }

        /// Why serialization failed; retriers are called with it.
        ///
        /// `nil` without serialization: retriers were called with the request's error at the end
        /// of the transfer.
        var failure: SessionError? {
            switch self {
            case .value(let failure, _): failure
            case .outcome: nil
            case .data(let response): response.error
            }
        }

        /// Replaces the value with an error; has no effect without serialization.
        mutating func replace(with error: SessionError) {
            switch self {
            case .value(_, let deliver): self = .value(failure: error) { _ in deliver(error) }
            case .outcome: break
            case .data(let response): self = .data(response.with(.failure(error)))
            }
        }
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
    let handler: ResponseHandler
    var serialized: ResponseHandler.Serialized

    func deliver() { handler.deliver(serialized) }
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
