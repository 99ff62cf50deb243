public import FoundationEssentials
public import OutletHTTP

extension Session {
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
    public func upload(
        _ data: Data,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil,
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
    public func upload(
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
    public func upload(
        _ fileURL: URL,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil,
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
    public func upload(
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
    public func upload(
        _ stream: any BodyStream,
        to convertible: any URLConvertible,
        method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil,
        interceptor: (any RequestInterceptor)? = nil,
        fileManager: FileManager = .default,
        requestModifier: RequestModifier? = nil,
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
    public func upload(
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
}
