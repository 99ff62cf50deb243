import Dispatch
public import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// A request whose response body goes into a file.
///
/// The body is written to a temporary file as it comes, and moved once it is whole. What breaks off
/// can be gone on with: see ``resumeData`` and
/// ``Session/download(resumingWith:interceptor:shouldAutomaticallyResume:to:)``; retries of the
/// request itself do so too. A body is asked for as it is (`Accept-Encoding: identity`), unless the
/// request has an `Accept-Encoding` of its own.
public final class DownloadRequest: Request, @unchecked Sendable {
    // because what it adds to `Request` is either constant or behind a lock.

    /// How a file is put into its place.
    public struct Options: OptionSet, Sendable {
        /// The bits.
        public let rawValue: Int

        /// Makes options of bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Directories that are missing are made.
        public static let createIntermediateDirectories = Options(rawValue: 1 << 0)
        /// A file that is there already is replaced.
        public static let removePreviousFile = Options(rawValue: 1 << 1)
    }

    /// Says where a file goes, once its response is there.
    ///
    /// Thread: where the request is being finished.
    public typealias Destination =
        @Sendable (_ temporaryURL: URL, _ response: HTTPResponse) ->
        (destinationURL: URL, options: Options)

    /// What a download begins with.
    public enum Downloadable: Sendable {
        /// A request.
        case request(any URLRequestConvertible)
        /// What an earlier download has left.
        case resumeData(Data)
    }

    /// Judges a response; throwing or answering a failure refuses it.
    public typealias Validation =
        @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse, _ fileURL: URL?) ->
        ValidationResult

    /// What the download begins with.
    public let downloadable: Downloadable
    private let destination: Destination?
    let download = Lock(DownloadState())

    init(
        core: SessionCore, downloadable: Downloadable, interceptor: Boxed<any RequestInterceptor>?,
        shouldAutomaticallyResume: Bool?, destination: Destination?
    ) {
        self.downloadable = downloadable
        self.destination = destination
        let convertible: any URLRequestConvertible =
            switch downloadable {
            case .request(let convertible): convertible
            case .resumeData(let data): ResumedRequest(data: data)
            }
        super.init(
            core: core, convertible: convertible, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
        watchesHeads = true
    }

    /// Where the file is, once it is whole.
    public var fileURL: URL? { download.withLock { $0.fileURL } }

    /// What is needed to go on, once the download has failed or was cancelled for that purpose.
    ///
    /// JSON with the address, the request's fields (credentials too: keep it as you keep those), what
    /// the content is known by and the temporary file. `nil` when the server promises nothing that
    /// would make going on safe: a strong `ETag` or a `Last-Modified`. The file waits for a week, or
    /// until ``discard(resumeData:)``; then a download of any process of this user's clears it away.
    public var resumeData: Data? { download.withLock { $0.resumeData } }

    // MARK: Steps

    override var ownFinishingQueue: DispatchQueue? { DiskQueue.shared }
    override var bodyOffset: Int64 { download.withLock { $0.start } }

    override var usesAdapters: Bool {
        guard case .resumeData = downloadable else { return true }
        return false
    }

    override func prepare(_ request: HTTPRequest) throws(SessionError) -> HTTPRequest {
        var request = request
        do {
            try makeReady(&request)
        } catch {
            throw .sessionTaskFailed(error: error)
        }
        if request.headers.values(for: "Accept-Encoding").isEmpty {
            request.headers.append(name: "Accept-Encoding", value: "identity")
        }
        return try super.prepare(request)
    }

    /// Finds the file to write to, and asks for the rest of it if that can be done.
    private func makeReady(_ request: inout HTTPRequest) throws(TransferError) {
        var (part, resumable, former) = download.withLock { state in
            defer { state.formerFile = nil }
            return (state.part, state.resumable, state.formerFile)
        }
        if let former { try? FileManager.default.removeItem(at: former) }
        if part == nil, case .resumeData(let data) = downloadable, let known = try? ResumeData(data)
        {
            part = PartFile(takingOver: known.file)
            resumable = known
        }
        var offset: Int64 = 0
        if let part, let known = resumable, request.method == .get, request.url == known.url,
            request.headers.values(for: "Range").isEmpty
        {
            offset = min(part.size, known.bytesReceived)
        }
        if offset > 0, let known = resumable {
            request.headers.update(name: "Range", value: "bytes=\(offset)-")
            request.headers.update(name: "If-Range", value: known.validator)
        }
        let file = if let part { part } else { try PartFile() }
        _ = StalePartialFiles.clearedAway
        download.withLock { state in
            state.part = file
            state.offset = offset
            state.plan = .undecided
            state.resumable = offset > 0 ? resumable : nil
        }
    }

    override func delivery() -> BodyDelivery {
        download.withLock { state in
            guard let part = state.part else { return .chunks }
            return .file(path: part.path, offset: state.offset)
        }
    }

    override func accept(_ head: HTTPResponse, from task: any TransferTask) -> TransferDecision {
        let (part, offset, resumable) = download.withLock { state in
            (state.part, state.offset, state.resumable)
        }
        guard let part else { return .cancel }
        let plan = DownloadPlan(
            head, offset: offset, validator: resumable?.validator, total: resumable?.totalBytes)
        var aside: PartFile?
        if plan == .aside {
            do {
                aside = try PartFile()
            } catch {
                note(.sessionTaskFailed(error: error))
                return .cancel
            }
        }
        let range = head.headers.value(for: "Content-Range").flatMap(ContentRange.init)
        let total = download.withLock { state in
            state.plan = plan
            state.range = plan == .continued ? range : nil
            state.aside = aside
            return state.total ?? -1
        }
        let calls = mutable.withLock { mutable in
            mutable.attempt.receive(head)
            return plan == .continued
                ? mutable.observers?.resume(at: offset, of: total, self) : nil
        }
        for call in calls ?? [] { call() }
        if plan == .continued {
            core.monitors?.observe(
                .taskDidResumeAtOffset(task, offset: offset, expected: total), of: self)
        }
        switch plan {
        case .undecided, .complete: return .deliver(.chunks)
        case .whole: return .deliver(.file(path: part.path, offset: 0))
        case .continued: return .deliver(.file(path: part.path, offset: offset))
        case .aside: return .deliver(.file(path: aside?.path ?? "", offset: 0))
        case .restart: return .cancel
        }
    }

    override func nextHop(after result: TransferResult) -> HTTPRequest? {
        guard var next = mutable.withLock({ $0.attempt.prepared }) else { return nil }
        let (rest, validator) = download.withLock { state -> (DownloadState.Rest, String?) in
            let rest: DownloadState.Rest =
                state.plan == .restart ? .whole : partialRest(state, result)
            switch rest {
            case .whole:
                state.plan = .undecided
                state.offset = 0
                state.resumable = nil
            case .from(let offset):
                state.keepPart(offset)
                state.plan = .undecided
                state.offset = offset
            case .missing, .none: break
            }
            return (rest, state.resumable?.validator)
        }
        switch rest {
        case .none: return nil
        case .whole:
            next.headers.remove(name: "Range")
            next.headers.remove(name: "If-Range")
        case .from(let offset):
            next.headers.update(name: "Range", value: "bytes=\(offset)-")
            next.headers.update(name: "If-Range", value: validator ?? "")
        case .missing(let count):
            let error = TransferError(
                code: .networkConnectionLost, stage: .receiving,
                host: next.url?.host(),
                reason:
                    "the part of the content that was sent (206) is \(count) bytes shorter than "
                    + "its Content-Range says")
            note(.sessionTaskFailed(error: error.naming(next)))
            return nil
        }
        return next
    }

    /// What a transfer that brought a part leaves to be done; nothing unless it came to its end.
    private func partialRest(
        _ state: DownloadState, _ result: TransferResult
    ) -> DownloadState.Rest {
        guard result.error == nil, let part = state.part else { return .none }
        return state.rest(part.size)
    }

    override func take(_ result: TransferResult, _ mutable: inout Mutable) -> Data? {
        let plan = download.withLock { state in
            state.collected = result.body
            return state.plan
        }
        // There was nothing left to send: to the user that is the answer to the whole request.
        if plan == .complete { mutable.attempt.acceptEmptyRange() }
        return nil
    }

    override func placesFile(of result: TransferResult) -> Bool {
        result.error == nil && error == nil
    }

    override func didTransfer(_ task: any TransferTask) {
        guard error == nil else {
            keepForLater()
            return
        }
        let (part, aside, collected) = download.withLock { ($0.part, $0.aside, $0.collected) }
        guard let file = aside ?? part else { return }
        core.monitors?.observe(.taskDidFinishDownloading(task, to: file.url), of: self)
        let result = Result { () throws(SessionError) in
            try place(file, collected: collected, response: response)
        }
        switch result {
        case .success(let url):
            download.withLock { state in
                state.fileURL = url
                state.aside = nil
                if aside == nil { state.part = nil }
            }
            // An error's text lies in its place; what had come before waits for another try.
            if aside != nil { keepForLater() }
        case .failure(let error):
            mutable.withLock { $0.attempt.overrule(error) }
            download.withLock { $0.isMisplaced = true }
        }
        monitors?.observe(.didFinishDownloading(task, result), of: self)
    }

    private func place(
        _ file: PartFile, collected: Data?, response: HTTPResponse?
    ) throws(SessionError) -> URL {
        let wanted = response.flatMap { destination?(file.url, $0) }
        let (url, options) = wanted ?? Self.keep(file.url)
        monitors?.observe(.didCreateDestinationURL(url), of: self)
        do {
            if let collected { try collected.write(to: file.url) }
            if wanted != nil { file.publish() }
            if url != file.url { try FileMove.move(file.url, to: url, options: options) }
            return url
        } catch {
            throw .downloadedFileMoveFailed(error: error, source: file.url, destination: url)
        }
    }

    /// The temporary directory, under a name without `.part`.
    private static func keep(_ temporaryURL: URL) -> (URL, Options) {
        (temporaryURL.deletingPathExtension(), .removePreviousFile)
    }

    override func runValidators() { judge() }

    override func reset(_ mutable: inout Mutable) {
        super.reset(&mutable)
        download.withLock { $0.reset() }
    }

    override func cleanUp() {
        let state = download.withLock { state in
            defer {
                state.resumeDataHandlers = []
                state.part = nil
                state.aside = nil
                state.formerFile = nil
            }
            return state
        }
        // Of an attempt that was to be followed by another, which came to nothing.
        if let former = state.formerFile { try? FileManager.default.removeItem(at: former) }
        if !state.isMisplaced {
            state.aside?.remove()
            if state.resumeData == nil { state.part?.remove() }
        }
        let (handlers, data) = (state.resumeDataHandlers, state.resumeData)
        for handler in handlers { core.call(on: nil) { handler(data) } }
        super.cleanUp()
    }
}
