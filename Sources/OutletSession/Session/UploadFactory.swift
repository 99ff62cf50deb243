public import FoundationEssentials
public import OutletHTTP

/// Makes requests whose bodies are uploads; the part of ``Session`` that does.
open class UploadFactory: RequestFactory, @unchecked Sendable {
    // because it adds no stored property.

    // MARK: Upload

    /// Makes a request from what makes both the request and its body.
    ///
    /// All uploads come here.
    ///
    /// - Parameters:
    ///   - upload: The request and the body; asked again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Removes files that are not wanted any more.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func upload(
        _ upload: any UploadConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        let parts = upload as? Upload
        return core.begin(
            UploadRequest(
                core: core, convertible: parts?.request ?? upload,
                upload: parts?.uploadable ?? upload, interceptor: interceptor.map { Boxed($0) },
                fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    // MARK: Bytes

    /// Makes a request that sends bytes.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Not needed for bytes.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func upload(
        _ data: Data,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            data, with: RequestParts.base(convertible, method, headers, requestModifier),
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request that sends bytes.
    ///
    /// - Parameters:
    ///   - data: The body.
    ///   - convertible: The request; asked again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Not needed for bytes.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func upload(
        _ data: Data,
        with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            .data(data), with: convertible, interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: A file

    /// Makes a request that sends a file's content.
    ///
    /// - Parameters:
    ///   - fileURL: The file; read while it is sent.
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Removes files that are not wanted any more.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func upload(
        _ fileURL: URL,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            fileURL, with: RequestParts.base(convertible, method, headers, requestModifier),
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request that sends a file's content.
    ///
    /// - Parameters:
    ///   - fileURL: The file; read while it is sent.
    ///   - convertible: The request; asked again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Removes files that are not wanted any more.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func upload(
        _ fileURL: URL,
        with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            .file(fileURL, shouldRemove: false), with: convertible, interceptor: interceptor,
            fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    // MARK: A stream

    /// Makes a request that sends what a stream gives.
    ///
    /// - Parameters:
    ///   - stream: The body; taken back to its start for redirects, authentication and retries.
    ///   - convertible: The address.
    ///   - method: The request method.
    ///   - headers: Fields besides the session's.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Not needed for streams.
    ///   - requestModifier: Changes the request once it is made; again at every attempt.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func upload(
        _ stream: any BodyStream,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: Session.RequestModifier? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            stream, with: RequestParts.base(convertible, method, headers, requestModifier),
            interceptor: interceptor, fileManager: fileManager,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Makes a request that sends what a stream gives.
    ///
    /// - Parameters:
    ///   - stream: The body; taken back to its start for redirects, authentication and retries.
    ///   - convertible: The request; asked again at every attempt.
    ///   - interceptor: Adapts and retries this request, after the session's.
    ///   - fileManager: Not needed for streams.
    ///   - shouldAutomaticallyResume: Whether the first handler starts it; the session's
    ///     setting if `nil`.
    open func upload(
        _ stream: any BodyStream,
        with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest {
        upload(
            .stream(stream), with: convertible, interceptor: interceptor,
            fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    private func upload(
        _ uploadable: UploadRequest.Uploadable, with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)?, fileManager: FileManager,
        shouldAutomaticallyResume: Bool?
    ) -> UploadRequest {
        upload(
            Upload(request: convertible, uploadable: uploadable), interceptor: interceptor,
            fileManager: fileManager, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

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
    open func upload(
        multipartFormData: (MultipartFormData) -> Void,
        to url: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: Session.RequestModifier? = nil,
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
    open func upload(
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
    open func upload(
        multipartFormData: MultipartFormData,
        to url: any URLConvertible,
        usingThreshold encodingMemoryThreshold: UInt64 = MultipartFormData.encodingMemoryThreshold,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: Session.RequestModifier? = nil,
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
    open func upload(
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
