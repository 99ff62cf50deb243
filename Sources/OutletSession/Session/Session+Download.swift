public import OutletHTTP

extension Session {
    /// Makes a request whose response goes into a file.
    ///
    /// - Parameters:
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - parameters: The parameters; `nil` for none.
    ///   - encoding: Puts the parameters into the request.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - requestModifier: Changes the request before parameters are encoded.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    ///   - destination: Says where the file goes; if `nil`, it stays in the temporary directory.
    public func download(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoding: any ParameterEncoding = URLEncoding.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        let base = RequestParts.base(convertible, method, headers, requestModifier)
        return download(
            RequestParts.adding(parameters, encoding, to: base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume, to: destination)
    }

    /// Makes a request whose response goes into a file.
    ///
    /// - Parameters:
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - parameters: The value; `nil` for none.
    ///   - encoder: Puts the value into the request.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - requestModifier: Changes the request before the value is encoded.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    ///   - destination: Says where the file goes; if `nil`, it stays in the temporary directory.
    public func download<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        let base = RequestParts.base(convertible, method, headers, requestModifier)
        return download(
            RequestParts.adding(parameters, encoder, to: base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume, to: destination)
    }
}
