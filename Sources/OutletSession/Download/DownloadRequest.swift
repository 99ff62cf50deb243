import Dispatch
public import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// A request whose response body is written to a file.
///
/// The body is written to a temporary file as it arrives, and moved once it is complete. An
/// interrupted download can be resumed: see ``resumeData`` and
/// ``Session/download(resumingWith:interceptor:shouldAutomaticallyResume:to:)``; retries resume
/// too. If a server sends only a part of what was requested, the rest is requested from it, after at
/// most 100 parts of fewer than 64 KiB. Sends `Accept-Encoding: identity` unless the request has an
/// `Accept-Encoding` of its own.
public final class DownloadRequest: Request, @unchecked Sendable {
    // because what it adds to `Request` is either constant or behind a lock.

    /// How the file is moved to its destination.
    public struct Options: OptionSet, Sendable {
        /// The options as a bit set.
        public let rawValue: Int

        /// Makes options from a bit set.
        ///
        /// - Parameter rawValue: The bits of the options.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Creates missing directories of the destination.
        public static let createIntermediateDirectories = Options(rawValue: 1 << 0)
        /// Replaces an existing file atomically; without it, an existing file is an error.
        public static let removePreviousFile = Options(rawValue: 1 << 1)
    }

    /// Returns where to move the downloaded file, and how.
    ///
    /// Called when the body is complete, before validation, for error responses too. `temporaryURL`
    /// is the file at present; if it is returned, the file stays in its directory, without the
    /// extension `part` of an unfinished one. If the file cannot be moved, the request fails with
    /// ``SessionError/downloadedFileMoveFailed(error:source:destination:)``, and the temporary file
    /// stays. A cancel while it is moved takes effect after that: the file stays at the destination,
    /// and the response's `fileURL` names it.
    ///
    /// Thread: the request's finishing queue (see ``Request``).
    public typealias Destination =
        @Sendable (_ temporaryURL: URL, _ response: HTTPResponse) ->
        (destinationURL: URL, options: Options)

    /// What a download starts from.
    public enum Downloadable: Sendable {
        /// A request.
        case request(any URLRequestConvertible)
        /// The ``resumeData`` of an earlier download.
        case resumeData(Data)
    }

    /// Validates a response; returning a failure refuses it.
    ///
    /// `request` is the last request, as adapted; `fileURL` is the file at its destination.
    public typealias Validation =
        @Sendable (_ request: HTTPRequest?, _ response: HTTPResponse, _ fileURL: URL?) ->
        ValidationResult

    /// What the download starts from.
    public let downloadable: Downloadable
    private let destination: Destination?
    let download: Lock<DownloadState>

    init(
        core: SessionCore, downloadable: Downloadable, interceptor: Boxed<any RequestInterceptor>?,
        shouldAutomaticallyResume: Bool?, destination: Destination?
    ) {
        self.downloadable = downloadable
        self.destination = destination
        let convertible: any URLRequestConvertible
        var state = DownloadState()
        switch downloadable {
        case .request(let initial): convertible = initial
        case .resumeData(let data):
            convertible = ResumedRequest(data: data)
            state.resumable = try? ResumeData(data)
        }
        download = Lock(state)
        super.init(
            core: core, convertible: convertible, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
        watchesHeads = true
    }

    /// The file at its destination; `nil` until the body is complete and moved.
    public var fileURL: URL? { download.withLock { $0.fileURL } }

    /// The data to resume the download with, after a failure, ``cancel(producingResumeData:)``, or the
    /// end of its session; also if these come before a retry, or a resumed download, is sent.
    ///
    /// JSON with the request's URL and fields as they were before adapters, the URL after them
    /// (credentials included: protect it like those), the
    /// validator of the content and the path of the temporary file. `nil` if the server sent
    /// neither a strong `ETag` nor a usable `Last-Modified`, without which resuming is not safe.
    /// The temporary file is kept until ``discard(resumeData:)``, or for a week after its last
    /// write: then the first download of any process of this user removes it.
    public var resumeData: Data? { download.withLock { $0.resumeData } }

    // MARK: Steps

    override var ownFinishingQueue: DispatchQueue? { DiskQueue.shared }
    override var bodyPlace: BodyPlace { download.withLock { $0.place } }

    override func willChange(_ initial: HTTPRequest) {
        download.withLock { $0.initial = initial }
    }

    override var mayRunAgain: Bool {
        // A file that handlers have got is the program's.
        download.withLock { !$0.isOver || $0.fileURL == nil }
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

    /// Opens the file to write to, and adds `Range` and `If-Range` if the download can be resumed.
    private func makeReady(_ request: inout HTTPRequest) throws(TransferError) {
        var (part, resumable, former) = download.withLock { state in
            defer { state.formerFile = nil }
            return (state.part, state.resumable, state.formerFile)
        }
        if let former { try? FileManager.default.removeItem(at: former) }
        if part == nil, let resumable { part = PartFile(takingOver: resumable.file) }
        var offset: Int64 = 0
        if let part, let known = resumable, request.method == .get,
            request.url == known.sentURL ?? known.url,
            request.headers.values(for: "Range").isEmpty
        {
            offset = max(0, min(part.size, known.bytesReceived))
        }
        if offset > 0, let known = resumable {
            request.headers.update(name: "Range", value: "bytes=\(offset)-")
            request.headers.update(name: "If-Range", value: known.validator)
        }
        let file = if let part { part } else { try PartFile() }
        _ = StalePartialFiles.removalOnce
        let isWanted = download.withLock { state in
            // After the end, only a part that can be resumed stays.
            guard !state.isOver else { return part != nil && state.resumeData != nil }
            state.part = file
            state.offset = offset
            state.plan = .undecided
            // Valid until the content overwrites the part, also if it is not asked for now.
            state.resumable = part == nil ? nil : resumable
            return true
        }
        if !isWanted { file.remove() }
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
            var rest: DownloadState.Rest =
                state.plan == .restart ? .whole : partialRest(state, result)
            if case .from = rest, !state.mayRequestRest() { rest = .refused }
            switch rest {
            case .whole:
                state.plan = .undecided
                state.offset = 0
                state.resumable = nil
            case .from(let offset):
                state.keepPart(offset)
                state.plan = .undecided
                state.offset = offset
            case .missing, .refused, .none: break
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
        case .refused:
            note(.sessionTaskFailed(error: DownloadState.tooManyParts(next).naming(next)))
            return nil
        }
        return next
    }

    /// Returns what is still missing after a transfer that received a part of the content; nothing
    /// if the transfer failed.
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
        // Nothing was missing: reported as a successful response to the whole request.
        if plan == .complete { mutable.attempt.acceptEmptyRange() }
        return nil
    }

    override func placesFile(of result: TransferResult) -> Bool {
        result.error == nil && error == nil
    }

    override func didTransfer(_ task: any TransferTask) {
        // Else a completion handler could be called before the file is in its place.
        guard beginPlacing() else { return }
        defer { _ = endPlacing() }
        let (part, aside, collected) = download.withLock { ($0.part, $0.aside, $0.collected) }
        guard error == nil else {
            keepForLater()
            return
        }
        guard let file = aside ?? part else { return }
        core.monitors?.observe(.taskDidFinishDownloading(task, to: file.url), of: self)
        // A cancel does not wait for the program's closure.
        guard endPlacing() else {
            keepForLater()
            return
        }
        let target = target(of: file, response: response)
        guard beginPlacing() else { return }
        let result = Result { () throws(SessionError) in
            try place(file, collected: collected, at: target)
        }
        switch result {
        case .success(let url):
            download.withLock { state in
                state.fileURL = url
                state.aside = nil
                if aside == nil {
                    state.part = nil
                    state.resumable = nil
                }
            }
            // The body of an error response was moved to the destination; the part is kept for
            // another attempt.
            if aside != nil { keepForLater() }
        case .failure(let failure):
            // A cancel during the move is the error, which does not name the file.
            let isMisplaced = error == nil
            if isMisplaced {
                mutable.withLock { $0.attempt.fail(failure) }
                download.withLock { $0.isMisplaced = true }
            }
            if !isMisplaced || aside != nil { keepForLater() }
        }
        monitors?.observe(.didFinishDownloading(task, result), of: self)
    }

    private func beginPlacing() -> Bool { mutable.withLock { $0.machine.beginPlacing() } }
    private func endPlacing() -> Bool { mutable.withLock { $0.machine.endPlacing() } }

    /// Where a file is moved to.
    private struct Target {
        let url: URL
        let options: Options
        /// Whether the program has chosen it.
        let isWanted: Bool
    }

    private func target(of file: PartFile, response: HTTPResponse?) -> Target {
        // A destination that is the file's present URL counts as none: the file then loses its
        // extension `part`.
        let wanted = response.flatMap { destination?(file.url, $0) }
            .flatMap { $0.destinationURL == file.url ? nil : $0 }
        let (url, options) = wanted ?? Self.keep(file.url)
        return Target(url: url, options: options, isWanted: wanted != nil)
    }

    private func place(
        _ file: PartFile, collected: Data?, at target: Target
    ) throws(SessionError) -> URL {
        let url = target.url
        monitors?.observe(.didCreateDestinationURL(url), of: self)
        do {
            if let collected { try collected.write(to: file.url) }
            if url != file.url { try FileMove.move(file.url, to: url, options: target.options) }
            // After the move: if that fails, other users must not read the file.
            if target.isWanted { PartFile.publish(url) }
            return url
        } catch {
            throw .downloadedFileMoveFailed(error: error, source: file.url, destination: url)
        }
    }

    /// The default destination: the temporary directory, under the name without `.part`.
    private static func keep(_ temporaryURL: URL) -> (URL, Options) {
        (temporaryURL.deletingPathExtension(), .removePreviousFile)
    }

    override func willEndEarly(isAbandoned: Bool) {
        // What is at its destination, or could not be moved there, needs no part.
        guard download.withLock({ $0.fileURL == nil && !$0.isMisplaced }) else { return }
        keepForLater(hasReceived: isAbandoned)
    }

    override func finishIntercepted(at place: FinishingPlace) {
        willEndEarly(isAbandoned: false)
        super.finishIntercepted(at: place)
    }

    override func runValidators() { validateFile() }

    override func reset(_ mutable: inout Mutable) {
        super.reset(&mutable)
        download.withLock { $0.reset() }
    }

    override func cleanUp() {
        // Another handler may be added, and its failure retried.
        let mayRetry = hasInterceptors
        let state = download.withLock { state in
            defer {
                if !mayRetry { state.validators = InlineFirst() }
                state.resumeDataHandlers = []
                state.part = nil
                state.aside = nil
                state.formerFile = nil
                state.isOver = true
            }
            return state
        }
        // The file of an attempt that was to be retried, if no further attempt was made.
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
