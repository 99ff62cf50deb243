public import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// Something that makes the body of an upload; asked again at every attempt.
public protocol UploadableConvertible: Sendable {
    /// The body.
    ///
    /// - Throws: Any error; the request fails with
    ///   ``SessionError/createUploadableFailed(error:)`` around it.
    ///
    /// Thread: the session's request queue.
    func createUploadable() throws -> UploadRequest.Uploadable
}

/// Something that makes both the request and the body of an upload.
public protocol UploadConvertible: UploadableConvertible, URLRequestConvertible {}

/// A request whose body is made when it is sent: bytes, a file, a stream.
public final class UploadRequest: DataRequest, @unchecked Sendable {
    // because what it adds to `Request` is either constant or behind a lock.

    /// What can be sent.
    public enum Uploadable: Sendable {
        /// Bytes in memory.
        case data(Data)
        /// A file's content, read while it is sent; removed when the request is over if so wished.
        case file(URL, shouldRemove: Bool)
        /// Bytes made while they are sent; taken back to the start when they are needed again.
        case stream(any BodyStream)
    }

    /// Makes the body.
    public let upload: any UploadableConvertible
    /// Removes the file that is not wanted any more.
    public let fileManager: FileManager
    private let made = Lock<Uploadable?>(nil)

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

    /// The body of the last attempt, once it was made; ``Uploadable/data(_:)`` for a form below its
    /// threshold, ``Uploadable/stream(_:)`` for one from there on, which leaves no file behind.
    public var uploadable: Uploadable? { made.withLock { $0 } }

    override var isMadeOfValues: Bool { super.isMadeOfValues && upload is Uploadable }

    override func prepare(_ request: HTTPRequest) throws(SessionError) -> HTTPRequest {
        let uploadable: Uploadable
        do {
            uploadable = try upload.createUploadable()
        } catch {
            let failed = error.asSessionError { .createUploadableFailed(error: $0) }
            note(failed)
            monitors?.observe(.didFailToCreateUploadable(error: failed), of: self)
            throw failed
        }
        let former = made.withLock { made in
            defer { made = uploadable }
            return made
        }
        if let former, former.file != uploadable.file { remove(former) }
        monitors?.observe(.didCreateUploadable(uploadable), of: self)
        var prepared = try super.prepare(request)
        prepared.body = uploadable.body
        prepared.allowsBodyInGET = true
        return prepared
    }

    override func didRewind(_ stream: any BodyStream) {
        monitors?.observe(.didProvideInputStream(stream), of: self)
    }

    override func cleanUp() {
        if let uploadable { remove(uploadable) }
        super.cleanUp()
    }

    /// Nobody hears of a failure: the request is over, and its file may be gone already.
    private func remove(_ uploadable: Uploadable) {
        guard case .file(let url, shouldRemove: true) = uploadable else { return }
        try? fileManager.removeItem(at: url)
    }
}

extension UploadRequest.Uploadable: UploadableConvertible {
    /// The body itself.
    public func createUploadable() throws -> UploadRequest.Uploadable { self }

    fileprivate var body: HTTPBody {
        switch self {
        case .data(let data): .data(data)
        case .file(let url, _): .file(path: url.path)
        case .stream(let stream): .stream(stream)
        }
    }

    fileprivate var file: URL? {
        guard case .file(let url, _) = self else { return nil }
        return url
    }
}

/// A request and a body that were made apart.
struct Upload: UploadConvertible {
    let request: any URLRequestConvertible
    let uploadable: any UploadableConvertible

    func createUploadable() throws -> UploadRequest.Uploadable {
        try uploadable.createUploadable()
    }

    func asURLRequest() throws -> HTTPRequest { try request.asURLRequest() }
}
