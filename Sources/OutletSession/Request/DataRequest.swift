public import Dispatch
public import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// A request whose response body is collected in memory.
public class DataRequest: Request, @unchecked Sendable {
    // because it adds no stored property to `Request`.

    /// Judges a response; throwing or answering a failure refuses it.
    public typealias Validation =
        @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse, _ data: Data?) ->
        ValidationResult

    /// A validation, and whether it is one of this library's.
    struct Validator: Sendable {
        let isQuick: Bool
        let validation: Validation
    }

    /// The body; `nil` until a byte has arrived.
    public var data: Data? { mutable.withLock { $0.attempt.data } }

    // MARK: Validation

    /// Judges the response with a closure, after those added before; the first failure wins.
    ///
    /// Thread: where the request is being finished.
    @discardableResult
    public func validate(_ validation: @escaping Validation) -> Self {
        add(Validator(isQuick: false, validation: validation))
    }

    @discardableResult
    func add(_ validator: Validator) -> Self {
        mutable.withLock { $0.dataValidators.append(validator) }
        return self
    }

    override func validation(_ mutable: inout Mutable) -> ValidationEffort {
        mutable.dataValidation
    }

    override func runValidators() {
        let (validators, facts) = mutable.withLock { ($0.dataValidators, $0.facts) }
        guard let response = facts.response else { return }
        validators.forEach { validator in
            guard error == nil else { return }
            let result = validator.validation(facts.request, response, facts.data)
            refuse(result)
            monitors?.observe(
                .didValidate(
                    Event.Validation(
                        request: facts.request, response: response, data: facts.data,
                        result: result)), of: self)
        }
    }

    // MARK: Responses

    /// Hands over the response as it is.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - completionHandler: Called exactly once.
    @discardableResult
    public func response(
        queue: DispatchQueue? = nil,
        completionHandler: @escaping @Sendable (DataResponse<Data?, SessionError>) -> Void
    ) -> Self {
        appendUnserialized(.queue(queue), completionHandler: completionHandler)
    }

    @discardableResult
    func appendUnserialized(
        _ destination: ResponseHandler.Destination = .anywhere,
        completionHandler: @escaping @Sendable (DataResponse<Data?, SessionError>) -> Void
    ) -> Self {
        append(
            ResponseHandler(destination: destination, isQuick: true) { request, facts in
                Self.unserialized(request, facts, completionHandler)
            })
        return self
    }

    /// Serializes the response, and hands over the value.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - responseSerializer: Makes the value.
    ///   - completionHandler: Called exactly once.
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

    /// Serializes the response, and hands over the value.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - responseSerializer: Makes the value.
    ///   - completionHandler: Called exactly once.
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
            ResponseHandler(destination: destination, isQuick: Self.isQuick(serializer)) {
                request, facts in
                Self.serialized(request, facts, serializer, completionHandler)
            })
        return self
    }

    @inline(__always)
    private static func isQuick<Serializer>(_ serializer: Serializer) -> Bool {
        (serializer as? DataResponseSerializer)?.isQuick == true
    }

    private static func unserialized(
        _ request: Request, _ facts: AttemptOutcome,
        _ completion: @escaping @Sendable (DataResponse<Data?, SessionError>) -> Void
    ) -> ResponseHandler.Serialized {
        let result: Result<Data?, SessionError> =
            facts.error.map(Result.failure) ?? .success(facts.data)
        let response = DataResponse(facts, result, took: 0)
        if request.isMonitored, let request = request as? DataRequest {
            request.monitors?.observe(
                .didParseResponse(
                    .init(response.result) { $0.request(request, didParseResponse: response) }),
                of: request)
        }
        return ResponseHandler.Serialized(unserialized: response, completion)
    }

    private static func serialized<Serializer: DataResponseSerializerProtocol>(
        _ request: Request, _ facts: AttemptOutcome, _ serializer: Serializer,
        _ completion:
            @escaping @Sendable (DataResponse<Serializer.SerializedObject, SessionError>) -> Void
    ) -> ResponseHandler.Serialized {
        // To look at the clock twice takes longer than to hand a body over as it is.
        let watch = isQuick(serializer) ? nil : Stopwatch()
        let result = ResponseHandler.result {
            try serializer.serialize(
                request: facts.request, response: facts.response, data: facts.data,
                error: facts.error)
        }
        let response = DataResponse(facts, result, took: watch?.seconds ?? 0)
        if request.isMonitored, let request = request as? DataRequest {
            request.monitors?.observe(
                .didParseResponse(
                    .init(response.result) { $0.request(request, didParseResponse: response) }),
                of: request)
        }
        return ResponseHandler.Serialized(response, completion)
    }
}
