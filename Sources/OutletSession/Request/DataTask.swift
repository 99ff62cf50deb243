public import FoundationEssentials
public import OutletHTTP

/// A request's value, to be awaited: once or often, before or after it is there.
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
        request.append(.anywhere, serializer) { outcome.fulfil($0) }
    }

    init(unserialized request: DataRequest, automaticallyCancelling: Bool) where Value == Data? {
        let outcome = Promise<DataResponse<Value, SessionError>>()
        self.request = request
        self.outcome = outcome
        shouldAutomaticallyCancel = automaticallyCancelling
        request.appendUnserialized { outcome.fulfil($0) }
    }

    /// Everything about the finished request.
    @inlinable public var response: DataResponse<Value, SessionError> {
        get async {
            await wait()
            return outcome.read { $0.pointee }
        }
    }

    /// The value, or why there is none.
    @inlinable public var result: Result<Value, SessionError> {
        get async {
            await wait()
            return outcome.read { $0.pointee.result }
        }
    }

    /// The value.
    ///
    /// - Throws: ``SessionError``.
    @inlinable public var value: Value {
        get async throws {
            await wait()
            return try outcome.read { try $0.pointee.result.get() }
        }
    }

    /// Waits for the response, which is then looked at where it lies.
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
    /// Suspends the request.
    public func suspend() { request.suspend() }
    /// Resumes the request.
    public func resume() { request.resume() }
}

extension DataRequest {
    /// Serializes the body as it is, for a task to await; starts the request.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the request.
    ///   - dataPreprocessor: Changes the body first; it stays as it is if `nil`.
    ///   - emptyResponseCodes: Status codes whose responses may be empty; 204 and 205 if `nil`.
    ///   - emptyRequestMethods: Methods whose responses may be empty; `HEAD` if `nil`.
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

    /// Decodes the body, for a task to await; starts the request.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the request.
    ///   - dataPreprocessor: Changes the body first.
    ///   - decoder: Makes the value.
    ///   - emptyResponseCodes: Status codes whose responses may be empty.
    ///   - emptyRequestMethods: Methods whose responses may be empty.
    public func serializingDecodable<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        decoder: any DataDecoder = JSONDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods
    ) -> DataTask<Value> {
        serializingResponse(
            using: DecodableResponseSerializer<Value>(
                dataPreprocessor: dataPreprocessor, decoder: decoder,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Makes text of the body, for a task to await; starts the request.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the request.
    ///   - dataPreprocessor: Changes the body first.
    ///   - encoding: The charset; the response's own if `nil`, ISO 8859-1 if it names none.
    ///   - emptyResponseCodes: Status codes whose responses may be empty.
    ///   - emptyRequestMethods: Methods whose responses may be empty.
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

    /// Serializes the response, for a task to await; starts the request.
    ///
    /// - Parameters:
    ///   - serializer: Makes the value.
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the request.
    public func serializingResponse<Serializer: DataResponseSerializerProtocol>(
        using serializer: Serializer,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DataTask<Serializer.SerializedObject> {
        DataTask(self, serializer: serializer, automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Serializes the response, for a task to await; starts the request.
    ///
    /// - Parameters:
    ///   - serializer: Makes the value.
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the request.
    public func serializingResponse<Serializer: ResponseSerializer>(
        using serializer: Serializer,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DataTask<Serializer.SerializedObject> {
        DataTask(self, serializer: serializer, automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Takes the response as it is, for a task to await; starts the request.
    ///
    /// - Parameter shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the
    ///   request.
    public func serializingUnserialized(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DataTask<Data?> {
        DataTask(unserialized: self, automaticallyCancelling: shouldAutomaticallyCancel)
    }
}
