public import OutletHTTP

extension Session {
    /// Makes a request whose response is handed over piece by piece.
    ///
    /// - Parameters:
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - headers: Fields besides the session's.
    ///   - automaticallyCancelOnStreamError: Whether a piece that cannot be serialized ends the
    ///     request.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    public func streamRequest(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        streamRequest(
            RequestParts.base(convertible, method, headers, requestModifier),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request whose response is handed over piece by piece.
    ///
    /// - Parameters:
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - parameters: The value; `nil` for none.
    ///   - encoder: Puts the value into the request.
    ///   - headers: Fields besides the session's.
    ///   - automaticallyCancelOnStreamError: Whether a piece that cannot be serialized ends the
    ///     request.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - requestModifier: Changes the request before the value is encoded.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    public func streamRequest<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        let base = RequestParts.base(convertible, method, headers, requestModifier)
        return streamRequest(
            RequestParts.adding(parameters, encoder, to: base),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }
}
