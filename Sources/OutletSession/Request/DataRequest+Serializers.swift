public import Dispatch
public import FoundationEssentials
public import OutletHTTP

extension DataRequest {
    /// Hands over the body.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the body first; it stays as it is if `nil`.
    ///   - emptyResponseCodes: Status codes whose responses may be empty; 204 and 205 if `nil`.
    ///   - emptyRequestMethods: Methods whose responses may be empty; `HEAD` if `nil`.
    ///   - completionHandler: Called exactly once.
    @discardableResult
    public func responseData(
        queue: DispatchQueue? = nil,
        dataPreprocessor: (any DataPreprocessor)? = nil,
        emptyResponseCodes: Set<Int>? = nil,
        emptyRequestMethods: Set<HTTPMethod>? = nil,
        completionHandler: @escaping @Sendable (DataResponse<Data, SessionError>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: core.dataSerializer(
                dataPreprocessor, emptyResponseCodes, emptyRequestMethods),
            completionHandler: completionHandler)
    }

    /// Hands over the body as text.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the body first.
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
        completionHandler: @escaping @Sendable (DataResponse<String, SessionError>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            completionHandler: completionHandler)
    }

    /// Hands over the body as a decoded value.
    ///
    /// - Parameters:
    ///   - type: What to decode.
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the body first.
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
        completionHandler: @escaping @Sendable (DataResponse<Value, SessionError>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: DecodableResponseSerializer<Value>(
                dataPreprocessor: dataPreprocessor, decoder: decoder,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            completionHandler: completionHandler)
    }
}

extension DataRequest {
    /// Hands over the body as JSON; ``responseDecodable(of:queue:dataPreprocessor:decoder:emptyResponseCodes:emptyRequestMethods:completionHandler:)`` is preferred.
    ///
    /// - Parameters:
    ///   - queue: Where the handler runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Runs on the body before it is read.
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
        completionHandler: @escaping @Sendable (DataResponse<JSONValue, SessionError>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: JSONResponseSerializer(
                dataPreprocessor: dataPreprocessor, emptyResponseCodes: emptyResponseCodes,
                emptyRequestMethods: emptyRequestMethods, options: options),
            completionHandler: completionHandler)
    }
}
