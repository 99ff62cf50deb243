public import FoundationEssentials
public import OutletHTTP

extension Session {
    // MARK: A form, filled in by a closure

    /// Makes a request that sends a form of several parts.
    ///
    /// - Parameters:
    ///   - multipartFormData: Fills in the form; called once, before this returns.
    ///   - url: The address.
    ///   - encodingMemoryThreshold: From how many bytes of parts on the form is not encoded in
    ///     memory, but read part by part while it is sent.
    ///   - method: The request method.
    ///   - headers: Fields besides the session's; the form's `Content-Type` wins.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Tells which files are there and how large they are.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    public func upload(
        multipartFormData: (MultipartFormData) -> Void,
        to url: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        let form = MultipartFormData(fileManager: fileManager)
        multipartFormData(form)
        return upload(
            multipartFormData: form, to: url, usingThreshold: encodingMemoryThreshold,
            method: method, headers: headers, interceptor: interceptor, fileManager: fileManager,
            requestModifier: requestModifier, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request that sends a form of several parts.
    ///
    /// - Parameters:
    ///   - multipartFormData: Fills in the form; called once, before this returns.
    ///   - request: The request; asked again at every attempt.
    ///   - encodingMemoryThreshold: From how many bytes of parts on the form is not encoded in
    ///     memory, but read part by part while it is sent.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Tells which files are there and how large they are.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    public func upload(
        multipartFormData: (MultipartFormData) -> Void,
        with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        let form = MultipartFormData(fileManager: fileManager)
        multipartFormData(form)
        return upload(
            multipartFormData: form, with: request, usingThreshold: encodingMemoryThreshold,
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: A form made elsewhere

    /// Makes a request that sends a form of several parts.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form.
    ///   - url: The address.
    ///   - encodingMemoryThreshold: From how many bytes of parts on the form is not encoded in
    ///     memory, but read part by part while it is sent.
    ///   - method: The request method.
    ///   - headers: Fields besides the session's; the form's `Content-Type` wins.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Not needed: forms leave no files behind.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    public func upload(
        multipartFormData: MultipartFormData,
        to url: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            multipartFormData: multipartFormData,
            with: RequestParts.base(url, method, headers, requestModifier),
            usingThreshold: encodingMemoryThreshold, interceptor: interceptor,
            fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request that sends a form of several parts.
    ///
    /// - Parameters:
    ///   - multipartFormData: The form.
    ///   - request: The request; asked again at every attempt.
    ///   - encodingMemoryThreshold: From how many bytes of parts on the form is not encoded in
    ///     memory, but read part by part while it is sent.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Not needed: forms leave no files behind.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    public func upload(
        multipartFormData: MultipartFormData,
        with request: any URLRequestConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            MultipartUpload(
                request: request, form: multipartFormData, threshold: encodingMemoryThreshold),
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }
}
