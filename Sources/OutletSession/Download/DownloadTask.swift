public import FoundationEssentials
public import OutletHTTP

/// A download's value, to be awaited: once or often, before or after it is there.
public struct DownloadTask<Value: Sendable>: Sendable {
    private let request: DownloadRequest
    private let outcome: Promise<DownloadResponse<Value, SessionError>>
    private let shouldAutomaticallyCancel: Bool

    init<Serializer: DownloadResponseSerializerProtocol>(
        _ request: DownloadRequest, serializer: Serializer, automaticallyCancelling: Bool
    ) where Serializer.SerializedObject == Value {
        let outcome = Promise<DownloadResponse<Value, SessionError>>()
        self.request = request
        self.outcome = outcome
        shouldAutomaticallyCancel = automaticallyCancelling
        request.append(.anywhere, serializer) { outcome.fulfil($0) }
    }

    /// Everything about the finished download.
    public var response: DownloadResponse<Value, SessionError> {
        get async {
            guard shouldAutomaticallyCancel else { return await outcome.value }
            return await withTaskCancellationHandler {
                await outcome.value
            } onCancel: {
                request.cancel()
            }
        }
    }

    /// The value, or why there is none.
    public var result: Result<Value, SessionError> {
        get async { await response.result }
    }

    /// The value.
    ///
    /// - Throws: ``SessionError``.
    public var value: Value {
        get async throws { try await result.get() }
    }

    /// Cancels the download; leaves no resume data.
    public func cancel() { request.cancel() }
    /// Suspends the download.
    public func suspend() { request.suspend() }
    /// Resumes the download.
    public func resume() { request.resume() }
}

extension DownloadRequest {
    /// Takes where the file is, for a task to await; starts the download.
    ///
    /// - Parameter shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the
    ///   download.
    public func serializingDownloadedFileURL(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<URL> {
        serializingDownload(
            using: URLResponseSerializer(), automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Reads the file into memory, for a task to await; starts the download.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the download.
    ///   - dataPreprocessor: Changes the content first; it stays as it is if `nil`.
    ///   - emptyResponseCodes: Status codes whose responses may be empty; 204 and 205 if `nil`.
    ///   - emptyRequestMethods: Methods whose responses may be empty; `HEAD` if `nil`.
    public func serializingData(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        dataPreprocessor: (any DataPreprocessor)? = nil,
        emptyResponseCodes: Set<Int>? = nil,
        emptyRequestMethods: Set<HTTPMethod>? = nil
    ) -> DownloadTask<Data> {
        serializingDownload(
            using: core.dataSerializer(
                dataPreprocessor, emptyResponseCodes, emptyRequestMethods),
            automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Makes text of the file, for a task to await; starts the download.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the download.
    ///   - dataPreprocessor: Changes the content first.
    ///   - encoding: The charset; the response's own if `nil`, ISO 8859-1 if it names none.
    ///   - emptyResponseCodes: Status codes whose responses may be empty.
    ///   - emptyRequestMethods: Methods whose responses may be empty.
    public func serializingString(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true,
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods
    ) -> DownloadTask<String> {
        serializingDownload(
            using: StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Decodes the file, for a task to await; starts the download.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the download.
    ///   - dataPreprocessor: Changes the content first.
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
    ) -> DownloadTask<Value> {
        serializingDownload(
            using: DecodableResponseSerializer<Value>(
                dataPreprocessor: dataPreprocessor, decoder: decoder,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Serializes the file, for a task to await; starts the download.
    ///
    /// - Parameters:
    ///   - serializer: Makes the value.
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the download.
    public func serializingDownload<Serializer: DownloadResponseSerializerProtocol>(
        using serializer: Serializer,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        DownloadTask(
            self, serializer: serializer, automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Serializes the file, for a task to await; starts the download.
    ///
    /// - Parameters:
    ///   - serializer: Makes the value.
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the download.
    public func serializingDownload<Serializer: ResponseSerializer>(
        using serializer: Serializer,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        DownloadTask(
            self, serializer: serializer, automaticallyCancelling: shouldAutomaticallyCancel)
    }
}
