public import Dispatch
public import FoundationEssentials
public import OutletHTTP

extension DataRequest {
    /// Delivers the body.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the body first; it is kept as it is if `nil`.
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
        completionHandler: @escaping @Sendable (DataResponse<Data, SessionError>) -> Void
    ) -> Self {
        let serializer = core.dataSerializer(
            dataPreprocessor, emptyResponseCodes, emptyRequestMethods)
        append(
            ResponseHandler(
                destination: .queue(queue), serializer, completion: completionHandler))
        return self
    }

    /// Delivers the body as text.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the body first; by default it is kept as it is.
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
        completionHandler: @escaping @Sendable (DataResponse<String, SessionError>) -> Void
    ) -> Self {
        response(
            queue: queue,
            responseSerializer: StringResponseSerializer(
                dataPreprocessor: dataPreprocessor, encoding: encoding,
                emptyResponseCodes: emptyResponseCodes, emptyRequestMethods: emptyRequestMethods),
            completionHandler: completionHandler)
    }

    /// Delivers the body as a decoded value.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the body first; by default it is kept as it is.
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
    /// Delivers the body as JSON.
    ///
    /// Prefer `responseDecodable` if the structure of the JSON is known.
    ///
    /// - Parameters:
    ///   - queue: Where `completionHandler` runs; the session's callback queue if `nil`.
    ///   - dataPreprocessor: Changes the body first; by default it is kept as it is.
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
