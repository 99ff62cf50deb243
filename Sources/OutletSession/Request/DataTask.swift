public import FoundationEssentials
public import OutletHTTP

/// The value of a request, to await; several tasks may await it, also after the request has ended.
public struct DataTask<Value: Sendable>: Sendable {
    @usableFromInline let request: DataRequest
    @usableFromInline let outcome: Promise<DataResponse<Value, SessionError>>
    @usableFromInline let shouldAutomaticallyCancel: Bool

    init<Serializer: DataResponseSerializerProtocol>(
        _ request: DataRequest, serializer: Serializer, automaticallyCancelling: Bool
    ) where Serializer.SerializedObject == Value {
        let outcome = Promise<DataResponse<Value, SessionError>>()
        self.request = request
        self.outcome = outcome
        shouldAutomaticallyCancel = automaticallyCancelling
        request.append(.tasks(outcome.place), serializer) { outcome.set($0) }
    }

    init(unserialized request: DataRequest, automaticallyCancelling: Bool) where Value == Data? {
        let outcome = Promise<DataResponse<Value, SessionError>>()
        self.request = request
        self.outcome = outcome
        shouldAutomaticallyCancel = automaticallyCancelling
        request.appendUnserialized(.tasks(outcome.place)) {
            outcome.set(DataResponse(unserialized: $0))
        }
    }

    /// The response of the finished request; waits for it.
    ///
    /// Cancelling the awaiting task cancels the request, unless `automaticallyCancelling` was
    /// `false`.
    @inlinable public var response: DataResponse<Value, SessionError> {
        get async {
            await wait()
            return outcome.read { $0.pointee }
        }
    }

    /// The serialized value, or the error; waits for it as ``response`` does.
    @inlinable public var result: Result<Value, SessionError> {
        get async {
            await wait()
            return outcome.read { $0.pointee.result }
        }
    }

    /// The serialized value; waits for it as ``response`` does.
    ///
    /// - Throws: The ``SessionError`` that the request failed with.
    @inlinable public var value: Value {
        get async throws {
            await wait()
            return try outcome.read { try $0.pointee.result.get() }
        }
    }

    /// Waits for the response, which the callers then read in place, without copying it.
    @inlinable @inline(__always)
    func wait() async {
        guard shouldAutomaticallyCancel else { return await outcome.wait() }
        await withTaskCancellationHandler {
            await outcome.wait()
        } onCancel: {
            request.cancel()
        }
    }

    /// Cancels the request.
    public func cancel() { request.cancel() }
    /// Suspends the request, as ``Request/suspend()``.
    public func suspend() { request.suspend() }
    /// Starts or resumes the request, as ``Request/resume()``.
    public func resume() { request.resume() }
}

extension DataRequest {
    /// Starts the request, and returns a task for its body.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the request.
    ///   - dataPreprocessor: Changes the body first; it is kept as it is if `nil`.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 if
    ///     `nil`.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` if `nil`.
    public func serializingData(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        dataPreprocessor: (any DataPreprocessor)? = nil,
        emptyResponseCodes: Set<Int>? = nil,
        emptyRequestMethods: Set<HTTPMethod>? = nil
    ) -> DataTask<Data> {
        serializingResponse(
            using: core.dataSerializer(
                dataPreprocessor, emptyResponseCodes, emptyRequestMethods),
            automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Starts the request, and returns a task for a value decoded from its body.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the request.
    ///   - dataPreprocessor: Changes the body first; by default it is kept as it is.
    ///   - decoder: Decodes the value; may be called on several threads at the same time.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 by
    ///     default.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` by default.
    public func serializingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        decoder: any DataDecoder = JSONTextDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> DataTask<Value> {
        serializingResponse(
            using: DecodableResponseSerializer<Value>(
                dataPreprocessor: dataPreprocessor, decoder: decoder,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Starts the request, and returns a task for its body as text.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the request.
    ///   - dataPreprocessor: Changes the body first; by default it is kept as it is.
    ///   - encoding: The charset; if `nil`, the one in `Content-Type`, else ISO 8859-1.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 by
    ///     default.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` by default.
    public func serializingString(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
    ) -> DataTask<String> {
        serializingResponse(
            using: StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Starts the request, and returns a task for the value of a serializer.
    ///
    /// - Parameters:
    ///   - serializer: Makes the value, on the request's finishing queue (see ``Request``).
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the request.
    public func serializingResponse<Serializer: DataResponseSerializerProtocol>(
        using serializer: Serializer,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DataTask<Serializer.SerializedObject> {
        DataTask(self, serializer: serializer, automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Starts the request, and returns a task for the value of a serializer.
    ///
    /// - Parameters:
    ///   - serializer: Makes the value, on the request's finishing queue (see ``Request``).
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the request.
    public func serializingResponse<Serializer: ResponseSerializer>(
        using serializer: Serializer,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DataTask<Serializer.SerializedObject> {
        DataTask(self, serializer: serializer, automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Starts the request, and returns a task for its response without serializing it.
    ///
    /// - Parameter shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the
    ///   request.
    public func serializingUnserialized(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DataTask<Data?> {
        DataTask(unserialized: self, automaticallyCancelling: shouldAutomaticallyCancel)
    }
}
