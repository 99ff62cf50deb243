public import Dispatch
public import FoundationEssentials
public import OutletHTTP

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
    public var data: Data? { mutable.withLock { $0.data } }

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

    override func validatesQuickly(_ mutable: Mutable) -> Bool {
        mutable.dataValidators.allSatisfy(\.isQuick)
    }

    override func runValidators() {
        // Without a validator nothing is copied: this is on every request's way.
        let facts = mutable.withLock { mutable in
            mutable.dataValidators.isEmpty
                ? nil
                : (mutable.dataValidators, mutable.requests.last, mutable.response, mutable.data)
        }
        guard let facts, let response = facts.2 else { return }
        facts.0.forEach { validator in
            guard error == nil else { return }
            let result = validator.validation(facts.1, response, facts.3)
            refuse(result)
            monitors?.request(
                self, didValidateRequest: facts.1, response: response, data: facts.3,
                withResult: result)
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
            ResponseHandler(destination: destination, isQuick: true) { request in
                Self.unserialized(request, completionHandler)
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
        let isQuick = (serializer as? DataResponseSerializer)?.isQuick == true
        append(
            ResponseHandler(destination: destination, isQuick: isQuick) { request in
                Self.serialized(request, serializer, completionHandler)
            })
        return self
    }

    /// What serializers see of a finished request.
    private struct Outcome: Sendable {
        let request: HTTPRequest?
        let response: HTTPResponse?
        let data: Data?
        let metrics: TransferMetrics?
        let error: SessionError?

        consuming func response<Value>(
            _ result: Result<Value, SessionError>, took duration: Double = 0
        ) -> DataResponse<Value, SessionError> {
            DataResponse(
                request: request, response: response, data: data, metrics: metrics,
                serializationDuration: duration, result: result)
        }
    }

    private static func outcome(of request: Request) -> Outcome {
        request.mutable.withLock { mutable in
            Outcome(
                request: mutable.requests.last, response: mutable.response, data: mutable.data,
                metrics: mutable.metrics.last, error: mutable.error)
        }
    }

    private static func unserialized(
        _ request: Request,
        _ completion: @escaping @Sendable (DataResponse<Data?, SessionError>) -> Void
    ) -> ResponseHandler.Serialized {
        let outcome = outcome(of: request)
        let result: Result<Data?, SessionError> =
            outcome.error.map(Result.failure) ?? .success(outcome.data)
        let response = outcome.response(result)
        if let monitors = request.monitors, let request = request as? DataRequest {
            monitors.request(request, didParseResponse: response)
        }
        // Retriers were asked about this error when the transfer ended.
        return ResponseHandler.Serialized(failure: nil) { _ in completion(response) }
    }

    private static func serialized<Serializer: DataResponseSerializerProtocol>(
        _ request: Request, _ serializer: Serializer,
        _ completion:
            @escaping @Sendable (DataResponse<Serializer.SerializedObject, SessionError>) -> Void
    ) -> ResponseHandler.Serialized {
        let outcome = outcome(of: request)
        let start = DispatchTime.now().uptimeNanoseconds
        let result = Result {
            try serializer.serialize(
                request: outcome.request, response: outcome.response, data: outcome.data,
                error: outcome.error)
        }.mapError { error in
            error.asSessionError {
                .responseSerializationFailed(reason: .customSerializationFailed(error: $0))
            }
        }
        let end = DispatchTime.now().uptimeNanoseconds
        let response = outcome.response(result, took: Double(end &- start) / 1e9)
        if let monitors = request.monitors, let request = request as? DataRequest {
            monitors.request(request, didParseResponse: response)
        }
        return ResponseHandler.Serialized(failure: response.error) { replacement in
            if let replacement {
                completion(response.failing(with: replacement))
            } else {
                completion(response)
            }
        }
    }
}

extension DataResponse where Failure == SessionError {
    fileprivate func failing(with error: SessionError) -> Self {
        DataResponse(
            request: request, response: response, data: data, metrics: metrics,
            serializationDuration: serializationDuration, result: .failure(error))
    }
}
