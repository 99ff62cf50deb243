public import FoundationEssentials
public import OutletHTTP

/// The value of a download, to await; several tasks may await it, also after the download has
/// ended.
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
        request.append(.tasks(outcome.place), serializer) { outcome.set($0) }
    }

    /// The response of the finished download; waits for it.
    ///
    /// Cancelling the awaiting task cancels the download, unless `automaticallyCancelling` was
    /// `false`.
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

    /// The serialized value, or the error; waits for it as ``response`` does.
    public var result: Result<Value, SessionError> {
        get async { await response.result }
    }

    /// The serialized value; waits for it as ``response`` does.
    ///
    /// - Throws: The ``SessionError`` that the download failed with.
    public var value: Value {
        get async throws { try await result.get() }
    }

    /// Cancels the download without resume data.
    public func cancel() { request.cancel() }
    /// Suspends the download, as ``Request/suspend()``.
    public func suspend() { request.suspend() }
    /// Starts or resumes the download, as ``Request/resume()``.
    public func resume() { request.resume() }
}

extension DownloadRequest {
    /// Starts the download, and returns a task for the URL of the file.
    ///
    /// - Parameter shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the
    ///   download.
    public func serializingDownloadedFileURL(
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<URL> {
        serializingDownload(
            using: URLResponseSerializer(), automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Starts the download, and returns a task for the file's content, read into memory.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the download.
    ///   - dataPreprocessor: Changes the content first; it is kept as it is if `nil`.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 if
    ///     `nil`.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` if `nil`.
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

    /// Starts the download, and returns a task for the file's content as text.
    ///
    /// - Parameters:
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the download.
    ///   - dataPreprocessor: Changes the content first; by default it is kept as it is.
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
    ) -> DownloadTask<String> {
        serializingDownload(
            using: StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Starts the download, and returns a task for a value decoded from the file's content.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the download.
    ///   - dataPreprocessor: Changes the content first; by default it is kept as it is.
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
    ) -> DownloadTask<Value> {
        serializingDownload(
            using: DecodableResponseSerializer<Value>(
                dataPreprocessor: dataPreprocessor, decoder: decoder,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Starts the download, and returns a task for the value of a serializer.
    ///
    /// - Parameters:
    ///   - serializer: Makes the value, on the request's finishing queue (see ``Request``).
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the download.
    public func serializingDownload<Serializer: DownloadResponseSerializerProtocol>(
        using serializer: Serializer,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        DownloadTask(
            self, serializer: serializer, automaticallyCancelling: shouldAutomaticallyCancel)
    }

    /// Starts the download, and returns a task for the value of a serializer.
    ///
    /// - Parameters:
    ///   - serializer: Makes the value, on the request's finishing queue (see ``Request``).
    ///   - shouldAutomaticallyCancel: Whether cancelling the awaiting task cancels the download.
    public func serializingDownload<Serializer: ResponseSerializer>(
        using serializer: Serializer,
        automaticallyCancelling shouldAutomaticallyCancel: Bool = true
    ) -> DownloadTask<Serializer.SerializedObject> {
        DownloadTask(
            self, serializer: serializer, automaticallyCancelling: shouldAutomaticallyCancel)
    }
}
