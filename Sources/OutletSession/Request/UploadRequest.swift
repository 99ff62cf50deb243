public import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// A type that makes the body of an upload; called again for every attempt.
public protocol UploadableConvertible: Sendable {
    /// Returns the body.
    ///
    /// - Throws: Any error; the request fails with it inside
    ///   ``SessionError/createUploadableFailed(error:)``, or with a ``SessionError`` as it is.
    ///   Retriers are called.
    ///
    /// Thread: the session's request queue; after an adapter that completes asynchronously, the
    /// thread on which it completes.
    func createUploadable() throws -> UploadRequest.Uploadable
}

/// A type that makes both the request and the body of an upload.
public protocol UploadConvertible: UploadableConvertible, URLRequestConvertible {}

/// A request that uploads data, a file or a stream; the response body is collected in memory.
public final class UploadRequest: DataRequest, @unchecked Sendable {
    // because what it adds to `Request` is either constant or behind a lock.

    /// The body of an upload.
    public enum Uploadable: Sendable {
        /// Bytes in memory.
        case data(Data)
        /// A file's content, read while it is sent; with `shouldRemove`, the file is removed when
        /// the request has ended.
        case file(URL, shouldRemove: Bool)
        /// Bytes read from a stream while they are sent; rewound when they have to be sent again.
        case stream(any BodyStream)
    }

    /// Makes the body.
    public let upload: any UploadableConvertible
    /// Removes files of ``Uploadable/file(_:shouldRemove:)``.
    public let fileManager: FileManager
    private let made = Lock(Made())

    private struct Made {
        /// The body of the last attempt.
        var uploadable: Uploadable?
        /// The number of attempts before the last one whose body was made.
        var attempt: Int?
        /// Why the body of that attempt could not be made.
        var failure: SessionError?
        /// Whether the request has ended, and its file was removed.
        var isOver = false
    }

    init(
        core: SessionCore, convertible: any URLRequestConvertible,
        upload: any UploadableConvertible, interceptor: Boxed<any RequestInterceptor>?,
        fileManager: FileManager, shouldAutomaticallyResume: Bool?
    ) {
        self.upload = upload
        self.fileManager = fileManager
        super.init(
            core: core, convertible: convertible, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// The body of the last attempt; `nil` before it is made.
    ///
    /// For a form, ``Uploadable/data(_:)`` below its threshold, else ``Uploadable/stream(_:)``,
    /// which uses no temporary file.
    public var uploadable: Uploadable? { made.withLock { $0.uploadable } }

    override var isMadeOfValues: Bool { super.isMadeOfValues && upload is Uploadable }

    override func prepare(_ request: HTTPRequest) throws(SessionError) -> HTTPRequest {
        try super.prepare(addBody(to: request))
    }

    override var makesBody: Bool { true }

    override func addBody(to request: HTTPRequest) throws(SessionError) -> HTTPRequest {
        let attempt = retryCount
        let (known, failure) = made.withLock { made in
            made.attempt == attempt ? (made.uploadable, made.failure) : (nil, nil)
        }
        if let failure { throw failure }
        // An adapter after those that see the body may have made another request, and a description
        // may have been the first that needed it.
        if let known { return request.body.isNone ? known.added(to: request) : request }
        let uploadable: Uploadable
        do {
            uploadable = try upload.createUploadable()
            // The path of another URL would name a file of this machine.
            if let file = uploadable.file, !file.isFileURL {
                throw NoFileURL(url: file)
            }
        } catch {
            let failed = error.asSessionError { .createUploadableFailed(error: $0) }
            made.withLock { ($0.attempt, $0.failure) = (attempt, failed) }
            note(failed)
            monitors?.observe(.didFailToCreateUploadable(error: failed), of: self)
            throw failed
        }
        let (former, isOver) = made.withLock { made in
            defer { (made.uploadable, made.attempt, made.failure) = (uploadable, attempt, nil) }
            return (made.uploadable, made.isOver)
        }
        if let former, former.file != uploadable.file { remove(former) }
        // The request was cancelled while its body was made.
        if isOver { remove(uploadable) }
        monitors?.observe(.didCreateUploadable(uploadable), of: self)
        return uploadable.added(to: request)
    }

    override func didRewind(_ stream: any BodyStream) {
        monitors?.observe(.didProvideInputStream(stream), of: self)
    }

    override func reset(_ mutable: inout Mutable) {
        super.reset(&mutable)
        made.withLock { made in
            made.isOver = false
            if made.failure.take() != nil { made.attempt = nil }
        }
    }

    override func cleanUp() {
        let uploadable = made.withLock { made in
            made.isOver = true
            return made.uploadable
        }
        if let uploadable { remove(uploadable) }
        super.cleanUp()
    }

    /// Ignores errors: the request has ended, and the file may have been removed already.
    private func remove(_ uploadable: Uploadable) {
        guard case .file(let url, shouldRemove: true) = uploadable else { return }
        try? fileManager.removeItem(at: url)
    }
}

/// The error of a body from a URL that is not a file URL.
private struct NoFileURL: Error, CustomStringConvertible {
    let url: URL

    var description: String { "\(Redaction.standard.url(url)): not a file URL" }
}

extension UploadRequest.Uploadable: UploadableConvertible {
    /// Returns the body itself; never throws.
    public func createUploadable() throws -> UploadRequest.Uploadable { self }

    /// Returns the request with the body.
    fileprivate func added(to request: HTTPRequest) -> HTTPRequest {
        var complete = request
        complete.body =
            switch self {
            case .data(let data): .data(data)
            case .file(let url, _): .file(path: url.path)
            case .stream(let stream): .stream(stream)
            }
        complete.allowsBodyInGET = true
        return complete
    }

    fileprivate var file: URL? {
        guard case .file(let url, _) = self else { return nil }
        return url
    }
}

/// A request and a body from separate sources.
struct Upload: UploadConvertible {
    let request: any URLRequestConvertible
    let uploadable: any UploadableConvertible

    func createUploadable() throws -> UploadRequest.Uploadable {
        try uploadable.createUploadable()
    }

    func asURLRequest() throws -> HTTPRequest { try request.asURLRequest() }
}
