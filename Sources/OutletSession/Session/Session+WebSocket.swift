public import OutletHTTP

extension Session {
    /// Makes a request that opens a WebSocket.
    ///
    /// - Parameters:
    ///   - url: The address: ws, wss, http or https.
    ///   - configuration: The WebSocket's settings.
    ///   - headers: Fields of the handshake besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    public func webSocketRequest(
        to url: any URLConvertible,
        configuration: WebSocketRequest.Configuration = .default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        webSocketRequest(
            performing: RequestParts.base(url, .get, headers, requestModifier),
            configuration: configuration, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request that opens a WebSocket, with a value in its address.
    ///
    /// - Parameters:
    ///   - url: The address: ws, wss, http or https.
    ///   - configuration: The WebSocket's settings.
    ///   - parameters: The value; `nil` for none.
    ///   - encoder: Puts the value into the request.
    ///   - headers: Fields of the handshake besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    ///   - requestModifier: Changes the request before the value is encoded.
    public func webSocketRequest<Parameters: Encodable & Sendable>(
        to url: any URLConvertible,
        configuration: WebSocketRequest.Configuration = .default,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        requestModifier: RequestModifier? = nil
    ) -> WebSocketRequest {
        let base = RequestParts.base(url, .get, headers, requestModifier)
        return webSocketRequest(
            performing: RequestParts.adding(parameters, encoder, to: base),
            configuration: configuration, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }
}
