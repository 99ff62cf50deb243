public import FoundationEssentials
public import OutletHTTP

/// Makes requests whose responses come back; the part of ``Session`` that knows no uploads.
open class RequestFactory: @unchecked Sendable {
    // because its one property is a constant.

    let core: SessionCore

    init(core: SessionCore) {
        self.core = core
    }

    // MARK: Data

    /// Makes a request for an address.
    ///
    /// The request is made of address, method and headers, then changed by the modifier, then
    /// given the parameters; all of it again at every attempt.
    ///
    /// - Parameters:
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - parameters: Names and values; `nil` for none.
    ///   - encoding: Puts the parameters into the request; `URLEncoding.default` if `nil`.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - requestModifier: Changes the request before parameters are encoded.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func request(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoding: (any ParameterEncoding)? = nil,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        let base = RequestParts.base(convertible, method, headers, requestModifier)
        return request(
            RequestParts.adding(parameters, encoding, to: base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request for an address, with an `Encodable` value.
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
    open func request<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        let base = RequestParts.base(convertible, method, headers, requestModifier)
        return request(
            RequestParts.adding(parameters, encoder, to: base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request from one, or from what can become one.
    ///
    /// - Parameters:
    ///   - convertible: The request; asked again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func request(
        _ convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        core.begin(
            DataRequest(
                core: core, convertible: convertible,
                // Not mapped, which would copy even what is not there.
                interceptor: interceptor == nil ? nil : interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume, isPlain: true))
    }

    // MARK: Stream

    /// Makes a request whose response is handed over piece by piece.
    ///
    /// - Parameters:
    ///   - convertible: The request; asked again at every attempt.
    ///   - automaticallyCancelOnStreamError: Whether a piece that cannot be serialized ends the
    ///     request.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func streamRequest(
        _ convertible: any URLRequestConvertible,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        core.begin(
            DataStreamRequest(
                core: core, convertible: convertible,
                automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
                interceptor: interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

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
    open func streamRequest(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: Session.RequestModifier? = nil,
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
    open func streamRequest<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        automaticallyCancelOnStreamError: Bool = false,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest {
        let base = RequestParts.base(convertible, method, headers, requestModifier)
        return streamRequest(
            RequestParts.adding(parameters, encoder, to: base),
            automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
            interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: Download

    /// Makes a request whose response goes into a file.
    ///
    /// - Parameters:
    ///   - convertible: The request; asked again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    ///   - destination: Says where the file goes; if `nil`, it stays in the temporary directory.
    open func download(
        _ convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        core.begin(
            DownloadRequest(
                core: core, downloadable: .request(convertible),
                interceptor: interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume, destination: destination))
    }

    /// Goes on with a download that broke off.
    ///
    /// Only what is missing is asked for; if the content has changed meanwhile, or the temporary file
    /// is gone, the whole. Adapters are not asked.
    ///
    /// - Parameters:
    ///   - data: What ``DownloadRequest/resumeData`` was.
    ///   - interceptor: Retries this request, after the session's.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    ///   - destination: Says where the file goes; if `nil`, it stays in the temporary directory.
    open func download(
        resumingWith data: Data,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        core.begin(
            DownloadRequest(
                core: core, downloadable: .resumeData(data),
                interceptor: interceptor.map { Boxed($0) },
                shouldAutomaticallyResume: shouldAutomaticallyResume, destination: destination))
    }

    /// Makes a request whose response goes into a file.
    ///
    /// - Parameters:
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - parameters: The parameters; `nil` for none.
    ///   - encoding: Puts the parameters into the request; `URLEncoding.default` if `nil`.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - requestModifier: Changes the request before parameters are encoded.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    ///   - destination: Says where the file goes; if `nil`, it stays in the temporary directory.
    open func download(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoding: (any ParameterEncoding)? = nil,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: Session.RequestModifier? = nil,
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
    open func download<Parameters: Encodable & Sendable>(
        _ convertible: any URLConvertible,
        method: HTTPMethod = .get,
        parameters: Parameters? = nil,
        encoder: any ParameterEncoder = URLEncodedFormParameterEncoder.default,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        let base = RequestParts.base(convertible, method, headers, requestModifier)
        return download(
            RequestParts.adding(parameters, encoder, to: base), interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume, to: destination)
    }
}
