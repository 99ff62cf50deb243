public import Dispatch
public import FoundationEssentials
public import OutletHTTP
import OutletTransport

extension DownloadRequest {
    /// Delivers the response without serializing it.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - completionHandler: Called exactly once, also after a failure or a cancel.
    @discardableResult
    public func response(
        queue: DispatchQueue? = nil,
        completionHandler: @escaping @Sendable (DownloadResponse<URL?, SessionError>) -> Void
    ) -> Self {
        append(.queue(queue)) { request, outcome in
            let response = request.makeResponse(outcome) { fileURL in
                if let error = outcome.error { throw error }
                return fileURL
            }
            request.monitors?.observe(
                .didParseResponse(
                    .init(response.result) { $0.request(request, didParseResponse: response) }),
                of: request)
            return ResponseHandler.Serialized(failure: nil) { _ in completionHandler(response) }
        }
    }

    /// Serializes the response, and delivers the value.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - responseSerializer: Makes the value, on the request's finishing queue (see ``Request``).
    ///   - completionHandler: Called exactly once, also after a failure or a cancel.
    @discardableResult
    public func response<Serializer: DownloadResponseSerializerProtocol>(
        queue: DispatchQueue? = nil,
        responseSerializer: Serializer,
        completionHandler:
            @escaping @Sendable (DownloadResponse<Serializer.SerializedObject, SessionError>) ->
            Void
    ) -> Self {
        append(.queue(queue), responseSerializer, completionHandler: completionHandler)
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
            @escaping @Sendable (DownloadResponse<Serializer.SerializedObject, SessionError>) ->
            Void
    ) -> Self {
        append(.queue(queue), responseSerializer, completionHandler: completionHandler)
    }

    /// Delivers the URL of the file.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - completionHandler: Called exactly once, also after a failure or a cancel.
    @discardableResult
    public func responseURL(
        queue: DispatchQueue? = nil,
        completionHandler: @escaping @Sendable (DownloadResponse<URL, SessionError>) -> Void
    ) -> Self {
        response(
            queue: queue, responseSerializer: URLResponseSerializer(),
            completionHandler: completionHandler)
    }

    /// Reads the file into memory, and delivers its content.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the content first; it is kept as it is if `nil`.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 if
    ///     `nil`.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` if `nil`.
    ///   - completionHandler: Called exactly once, also after a failure or a cancel.
    @discardableResult
    public func responseData(
        queue: DispatchQueue? = nil,
        dataPreprocessor: (any DataPreprocessor)? = nil,
        emptyResponseCodes: Set<Int>? = nil,
        emptyRequestMethods: Set<HTTPMethod>? = nil,
        completionHandler: @escaping @Sendable (DownloadResponse<Data, SessionError>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: core.dataSerializer(
                dataPreprocessor, emptyResponseCodes, emptyRequestMethods),
            completionHandler: completionHandler)
    }

    /// Reads the file into memory, and delivers its content as text.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the content first; by default it is kept as it is.
    ///   - encoding: The charset; if `nil`, the one in `Content-Type`, else ISO 8859-1.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 by
    ///     default.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` by default.
    ///   - completionHandler: Called exactly once, also after a failure or a cancel.
    @discardableResult
    public func responseString(
        queue: DispatchQueue? = nil,
        dataPreprocessor: any DataPreprocessor = StringResponseSerializer.defaultDataPreprocessor,
        encoding: String.Encoding? = nil,
        emptyResponseCodes: Set<Int> = StringResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = StringResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (DownloadResponse<String, SessionError>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            completionHandler: completionHandler)
    }

    /// Reads the file into memory, and delivers its content as a decoded value.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the content first; by default it is kept as it is.
    ///   - decoder: Decodes the value; may be called on several threads at the same time.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 by
    ///     default.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` by default.
    ///   - completionHandler: Called exactly once, also after a failure or a cancel.
    @discardableResult
    public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self,
        queue: DispatchQueue? = nil,
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        decoder: any DataDecoder = JSONTextDecoder(),
        emptyResponseCodes: Set<Int> = DataResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = DataResponseSerializer.defaultEmptyRequestMethods,
        completionHandler: @escaping @Sendable (DownloadResponse<Value, SessionError>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: DecodableResponseSerializer<Value>(
                dataPreprocessor: dataPreprocessor, decoder: decoder,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            completionHandler: completionHandler)
    }

    // MARK: Handlers

    @discardableResult
    func append<Serializer: DownloadResponseSerializerProtocol>(
        _ destination: ResponseHandler.Destination, _ serializer: Serializer,
        completionHandler:
            @escaping @Sendable (DownloadResponse<Serializer.SerializedObject, SessionError>) ->
            Void
    ) -> Self {
        append(destination, mayBlock: serializer.mayBlock) { request, outcome in
            let response = request.makeResponse(outcome) { fileURL in
                try serializer.serializeDownload(
                    request: outcome.request, response: outcome.response, fileURL: fileURL,
                    error: outcome.error)
            }
            request.monitors?.observe(
                .didParseResponse(
                    .init(response.result) { $0.request(request, didParseResponse: response) }),
                of: request)
            return ResponseHandler.Serialized(response, completionHandler)
        }
    }

    private func append(
        _ destination: ResponseHandler.Destination, mayBlock: Bool = false,
        serialize:
            @escaping @Sendable (DownloadRequest, AttemptOutcome) -> ResponseHandler.Serialized
    ) -> Self {
        append(
            ResponseHandler(destination: destination, isQuick: false, mayBlock: mayBlock) {
                request, outcome in
                guard let request = request as? DownloadRequest else {
                    return ResponseHandler.Serialized(failure: nil) { _ in }
                }
                return serialize(request, outcome)
            })
        return self
    }

    /// Serializes a finished download, and returns the response to deliver.
    private func makeResponse<Value>(
        _ outcome: AttemptOutcome, _ serialize: (URL?) throws -> Value
    ) -> DownloadResponse<Value, SessionError> {
        let (fileURL, resumeData) = download.withLock { ($0.fileURL, $0.resumeData) }
        let watch = Stopwatch()
        let result = ResponseHandler.result { try serialize(fileURL) }
        return DownloadResponse(
            request: outcome.request, response: outcome.response, fileURL: fileURL,
            resumeData: resumeData, metrics: outcome.metrics,
            serializationDuration: watch.seconds, result: result)
    }
}

extension DownloadRequest {
    /// Reads the file into memory, and delivers its content as JSON.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the content first; by default it is kept as it is.
    ///   - emptyResponseCodes: Status codes whose responses may have an empty body; 204 and 205 by
    ///     default.
    ///   - emptyRequestMethods: Methods whose responses may have an empty body; `HEAD` by default.
    ///   - options: What is accepted as JSON; any root value by default.
    ///   - completionHandler: Called exactly once, also after a failure or a cancel.
    @discardableResult
    public func responseJSON(
        queue: DispatchQueue? = nil,
        dataPreprocessor: any DataPreprocessor = JSONResponseSerializer.defaultDataPreprocessor,
        emptyResponseCodes: Set<Int> = JSONResponseSerializer.defaultEmptyResponseCodes,
        emptyRequestMethods: Set<HTTPMethod> = JSONResponseSerializer.defaultEmptyRequestMethods,
        options: JSONResponseSerializer.ReadingOptions = .allowFragments,
        completionHandler: @escaping @Sendable (DownloadResponse<JSONValue, SessionError>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: JSONResponseSerializer(
                dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods, options: options),
            completionHandler: completionHandler)
    }
}
