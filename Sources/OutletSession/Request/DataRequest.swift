public import Dispatch
public import FoundationEssentials
public import OutletHTTP
import OutletTransport
import Synchronization

/// A request whose response body is collected in memory.
public class DataRequest: Request, @unchecked Sendable {
    // because it adds no stored property to `Request`.

    /// Validates a response; returning a failure refuses it.
    ///
    /// `request` is the last request, as adapted; `data` is the body, `nil` when no byte arrived.
    public typealias Validation =
        @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse, _ data: Data?) ->
        ValidationResult

    /// A validation closure.
    struct Validator: Sendable {
        /// Whether it belongs to this library, and so calls no user code.
        let isQuick: Bool
        let validation: Validation
    }

    /// The body of the last response; `nil` until the transfer is over, and when no byte arrived.
    public var data: Data? { mutable.withLock { $0.attempt.data } }

    // MARK: Validation

    /// Validates the response with a closure, after the validators added before.
    ///
    /// Call it before the first response handler, which starts the request: the response may be there
    /// before the next call.
    ///
    /// - Parameter validation: Called once for each attempt that received a response and did not
    ///   fail before. The first failure ends the validation, and is the error that retriers get.
    ///   Released at the end of the request, unless an interceptor may still retry that for a handler
    ///   added later.
    ///
    /// Thread: the request's finishing queue (see ``Request``).
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        add(Validator(isQuick: false, validation: validation))
    }

    @discardableResult
    func add(_ validator: Validator) -> Self {
        mutable.withLock { $0.dataValidators.append(validator) }
        hasDataValidators.store(true, ordering: .releasing)
        return self
    }

    override func cleanUp() {
        guard hasDataValidators.load(ordering: .acquiring), !hasInterceptors else { return }
        // Captures of closures, often the request itself, are released outside the lock.
        _ = mutable.withLock { mutable in
            defer { mutable.dataValidators = InlineFirst() }
            return mutable.dataValidators
        }
    }

    override func validation(_ mutable: inout Mutable) -> ValidationCost {
        mutable.dataValidation
    }

    override func runValidators() {
        let (validators, outcome) = mutable.withLock { ($0.dataValidators, $0.attemptOutcome) }
        guard let response = outcome.response else { return }
        validators.forEach { validator in
            guard error == nil else { return }
            let result = validator.validation(outcome.request, response, outcome.data)
            refuse(result)
            monitors?.observe(
                .didValidate(
                    Event.Validation(
                        request: outcome.request, response: response, data: outcome.data,
                        result: result)), of: self)
        }
    }

    // MARK: Responses

    /// Delivers the response without serializing it.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - completionHandler: Called exactly once, also after a failure or a cancel.
    @discardableResult
    public func response(
        queue: DispatchQueue? = nil,
        completionHandler: @escaping @Sendable (DataResponse<Data?, SessionError>) -> Void
    ) -> Self {
        appendUnserialized(.queue(queue)) { completionHandler(DataResponse(unserialized: $0)) }
        return self
    }

    /// As ``response(queue:completionHandler:)``, without making a response of the outcome.
    package func outcome(
        queue: DispatchQueue?,
        completionHandler: @escaping @Sendable (AttemptOutcome) -> Void
    ) { appendUnserialized(.queue(queue), completionHandler: completionHandler) }

    func appendUnserialized(
        _ destination: ResponseHandler.Destination,
        completionHandler: @escaping @Sendable (AttemptOutcome) -> Void
    ) {
        append(ResponseHandler(destination: destination, completion: completionHandler))
    }

    /// Serializes the response, and delivers the value.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - responseSerializer: Makes the value, on the request's finishing queue (see ``Request``).
    ///   - completionHandler: Called exactly once, also after a failure or a cancel.
    @discardableResult
    public func response<Serializer: DataResponseSerializerProtocol>(
        queue: DispatchQueue? = nil,
        responseSerializer: Serializer,
        completionHandler:
            @escaping @Sendable (DataResponse<Serializer.SerializedObject, SessionError>) -> Void
    ) -> Self {
        append(
            .queue(queue), responseSerializer, completionHandler: completionHandler)
    }

    /// Serializes the response, and delivers the value.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - responseSerializer: Makes the value, on the request's finishing queue (see ``Request``).
    ///   - completionHandler: Called exactly once, also after a failure or a cancel.
    @discardableResult
    public func response<Serializer: ResponseSerializer>(
        queue: DispatchQueue? = nil,
        responseSerializer: Serializer,
        completionHandler:
            @escaping @Sendable (DataResponse<Serializer.SerializedObject, SessionError>) -> Void
    ) -> Self {
        append(
            .queue(queue), responseSerializer, completionHandler: completionHandler)
    }

    @discardableResult
    func append<Serializer: DataResponseSerializerProtocol>(
        _ destination: ResponseHandler.Destination, _ serializer: Serializer,
        completionHandler:
            @escaping @Sendable (DataResponse<Serializer.SerializedObject, SessionError>) -> Void
    ) -> Self {
        append(
            ResponseHandler(
                destination: destination, isQuick: Self.isQuick(serializer),
                mayBlock: serializer.mayBlock
            ) { request, outcome in
                ResponseHandler.Serialized(
                    Self.response(to: request, outcome, serializer), completionHandler)
            })
        return self
    }

    @inline(__always)
    private static func isQuick<Serializer>(_ serializer: Serializer) -> Bool {
        (serializer as? DataResponseSerializer)?.isQuick == true
    }

    static func reportUnserialized(_ request: Request, _ outcome: AttemptOutcome) {
        guard let request = request as? DataRequest else { return }
        let response = DataResponse(unserialized: outcome)
        request.monitors?.observe(
            .didParseResponse(
                .init(response.result) { $0.request(request, didParseResponse: response) }),
            of: request)
    }

    /// Serializes a response, and reports that to monitors.
    static func response<Serializer: DataResponseSerializerProtocol>(
        to request: Request, _ outcome: AttemptOutcome, _ serializer: Serializer
    ) -> DataResponse<Serializer.SerializedObject, SessionError> {
        // Reading the clock twice takes longer than delivering a body unchanged.
        let watch = isQuick(serializer) ? nil : Stopwatch()
        let result = ResponseHandler.result {
            try serializer.serialize(
                request: outcome.request, response: outcome.response, data: outcome.data,
                error: outcome.error)
        }
        let response = DataResponse(outcome, result, took: watch?.seconds ?? 0)
        if request.isMonitored, let request = request as? DataRequest {
            request.monitors?.observe(
                .didParseResponse(
                    .init(response.result) { $0.request(request, didParseResponse: response) }),
                of: request)
        }
        return response
    }
}
