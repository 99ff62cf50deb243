public import Dispatch
public import FoundationEssentials
public import OutletHTTP
import OutletTransport

extension DownloadRequest {
    /// Hands over the response as it is.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - completionHandler: Called exactly once.
    @discardableResult
    public func response(
        queue: DispatchQueue? = nil,
        completionHandler: @escaping @Sendable (DownloadResponse<URL?, SessionError>) -> Void
    ) -> Self {
        append(.queue(queue)) { request, facts in
            let response = request.outcome(facts) { fileURL in
                if let error = facts.error { throw error }
                return fileURL
            }
            request.monitors?.observe(
                .didParseResponse(
                    .init(response.result) { $0.request(request, didParseResponse: response) }),
                of: request)
            return ResponseHandler.Serialized(unserialized: response, completionHandler)
        }
    }

    /// Serializes the response, and hands over the value.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - responseSerializer: Makes the value.
    ///   - completionHandler: Called exactly once.
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
            @escaping @Sendable (DownloadResponse<Serializer.SerializedObject, SessionError>) ->
            Void
    ) -> Self {
        append(.queue(queue), responseSerializer, completionHandler: completionHandler)
    }

    /// Hands over where the file is.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - completionHandler: Called exactly once.
    @discardableResult
    public func responseURL(
        queue: DispatchQueue? = nil,
        completionHandler: @escaping @Sendable (DownloadResponse<URL, SessionError>) -> Void
    ) -> Self {
        response(
            queue: queue, responseSerializer: URLResponseSerializer(),
            completionHandler: completionHandler)
    }

    /// Hands over the file's content, read into memory.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the content first; it stays as it is if `nil`.
    ///   - emptyResponseCodes: Status codes whose responses may be empty; 204 and 205 if `nil`.
    ///   - emptyRequestMethods: Methods whose responses may be empty; `HEAD` if `nil`.
    ///   - completionHandler: Called exactly once.
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

    /// Hands over the file's content as text, read into memory.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the content first.
    ///   - encoding: The charset; the response's own if `nil`, ISO 8859-1 if it names none.
    ///   - emptyResponseCodes: Status codes whose responses may be empty.
    ///   - emptyRequestMethods: Methods whose responses may be empty.
    ///   - completionHandler: Called exactly once.
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

    /// Hands over the file's content as a decoded value; it is read into memory.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the content first.
    ///   - decoder: Makes the value.
    ///   - emptyResponseCodes: Status codes whose responses may be empty.
    ///   - emptyRequestMethods: Methods whose responses may be empty.
    ///   - completionHandler: Called exactly once.
    @discardableResult
    public func responseDecodable<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self,
        queue: DispatchQueue? = nil,
        dataPreprocessor: any DataPreprocessor = PassthroughPreprocessor(),
        decoder: any DataDecoder = JSONDecoder(),
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
        append(destination) { request, facts in
            let response = request.outcome(facts) { fileURL in
                try serializer.serializeDownload(
                    request: facts.request, response: facts.response, fileURL: fileURL,
                    error: facts.error)
            }
            request.monitors?.observe(
                .didParseResponse(
                    .init(response.result) { $0.request(request, didParseResponse: response) }),
                of: request)
            return ResponseHandler.Serialized(response, completionHandler)
        }
    }

    private func append(
        _ destination: ResponseHandler.Destination,
        serialize:
            @escaping @Sendable (DownloadRequest, AttemptOutcome) -> ResponseHandler.Serialized
    ) -> Self {
        append(
            ResponseHandler(destination: destination, isQuick: false) { request, facts in
                guard let request = request as? DownloadRequest else {
                    return ResponseHandler.Serialized(failure: nil) { _ in }
                }
                return serialize(request, facts)
            })
        return self
    }

    /// What is handed over of a finished download.
    private func outcome<Value>(
        _ facts: AttemptOutcome, _ serialize: (URL?) throws -> Value
    ) -> DownloadResponse<Value, SessionError> {
        let (fileURL, resumeData) = download.withLock { ($0.fileURL, $0.resumeData) }
        let watch = Stopwatch()
        let result = ResponseHandler.result { try serialize(fileURL) }
        return DownloadResponse(
            request: facts.request, response: facts.response, fileURL: fileURL,
            resumeData: resumeData, metrics: facts.metrics,
            serializationDuration: watch.seconds, result: result)
    }
}

extension DownloadRequest {
    /// Hands over the file's content as JSON.
    ///
    /// - Parameters:
    ///   - queue: Where the handler runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Runs on the content before it is read.
    ///   - emptyResponseCodes: The status codes whose responses may have no body.
    ///   - emptyRequestMethods: The methods whose responses may have no body.
    ///   - options: How much is taken for JSON.
    ///   - completionHandler: Called once.
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
