public import FoundationEssentials
public import OutletHTTP
public import OutletObservation
import OutletSession
public import OutletTransport

/// Answers requests from an HTTP archive, without a network.
///
/// The first unused entry with the request's method, URL and body answers a request. The fragment
/// of the URL is not compared. Entries of archives that other programs wrote, and of bodies that
/// were not recorded, match any body unless there is an unused entry with the request's body.
/// The order of the members of JSON objects does not matter. Requests that differ in nothing but
/// secrets are answered in the order of the archive, and so are those whose bodies are hidden as a
/// whole, such as JSON in UTF-16. A request
/// without an entry fails with `TransferError.Code.resourceUnavailable`, and ``unmatched`` says why.
/// WebSockets are refused.
public final class ReplayTransport: Transport {
    /// Why a request has no answer.
    public enum Mismatch: Error, Equatable, Sendable {
        /// The archive has no entry for the request.
        ///
        /// - Parameters:
        ///   - request: Method and URL, secrets redacted.
        ///   - nearMisses: Up to five entries with the same URL or the same path.
        case notRecorded(request: String, nearMisses: [String])
        /// All `recorded` entries for the request have been used.
        case usedUp(request: String, recorded: Int)
        /// The archive has an entry for the request, without the response's body.
        case bodyNotRecorded(request: String)
        /// The archive has an entry for the request, whose body is not valid base64.
        case bodyNotReadable(request: String)
    }

    fileprivate struct State {
        var entries: [RecordedEntry]
        var unmatched: [Mismatch] = []
    }

    /// An entry of the archive, and what requests are compared with.
    fileprivate struct RecordedEntry {
        let entry: HAR.Entry
        /// The URL without its fragment.
        let url: String
        var isUsed = false
        private var foundBodyKey: String?

        init(_ entry: HAR.Entry) {
            self.entry = entry
            url = String(entry.request.url.prefix(whileByte: { $0 != UInt8(ascii: "#") }))
            foundBodyKey = entry.request.bodyKey
        }

        func matches(_ wanted: Wanted) -> Bool {
            guard entry.request.method == wanted.method, url == wanted.url else { return false }
            // Archives of other programs have no key.
            return entry.request.bodyKey.map { $0 == wanted.bodyKey } ?? true
        }

        /// The key of the request's body; for archives of other programs made by the first call.
        mutating func bodyKey(_ redaction: Redaction) -> String {
            if let foundBodyKey { return foundBodyKey }
            let data = entry.request.postData
            let text = data?.text ?? ""
            let isText = data?.encoding != "base64"
            let body = isText ? Data(text.utf8) : Data(base64Encoded: text) ?? Data()
            let key = HAR.bodyKey(of: body, ["Content-Type": data?.mimeType ?? ""], redaction)
            foundBodyKey = key
            return key
        }
    }

    /// The archive's entries, and the rules by which its secrets were redacted.
    private final class Archive: Sendable {
        let state: Lock<State>
        let redaction: Redaction

        init(_ archive: HAR, _ redaction: Redaction) {
            state = Lock(State(entries: archive.log.entries.map(RecordedEntry.init)))
            self.redaction = redaction
        }
    }

    private let archive: Archive
    private let stub: StubTransport

    /// Reads an archive from a file.
    ///
    /// - Parameters:
    ///   - file: The archive.
    ///   - redaction: The rules with which the archive was recorded. Requests are redacted by them
    ///     before they are compared with entries.
    ///   - clock: If set, each answer is delayed on this clock by the duration of the recorded
    ///     transfer; if `nil`, answers begin at once.
    /// - Throws: `HARError.unreadable(path:reason:)` when the file cannot be read,
    ///   `HARError.malformed(path:reason:)` when it is not an archive.
    public convenience init(
        from file: URL, redaction: Redaction = .standard, clock: TestClock? = nil
    ) throws(HARError) {
        self.init(try HAR(contentsOf: file), redaction: redaction, clock: clock)
    }

    /// Makes a transport from an archive in memory.
    ///
    /// - Parameters:
    ///   - archive: The archive.
    ///   - redaction: The rules with which the archive was recorded. Requests are redacted by them
    ///     before they are compared with entries.
    ///   - clock: If set, each answer is delayed on this clock by the duration of the recorded
    ///     transfer; if `nil`, answers begin at once.
    public init(_ archive: HAR, redaction: Redaction = .standard, clock: TestClock? = nil) {
        let entries = Archive(archive, redaction)
        self.archive = entries
        stub = StubTransport(
            clock: clock,
            source: .responder { job, body throws(TransferError) in
                try Self.answer(job, body, entries, isTimed: clock != nil)
            })
    }

    /// The requests that had no answer, in the order in which they arrived.
    public var unmatched: [Mismatch] { archive.state.withLock { $0.unmatched } }

    /// Method and URL of the unused entries, in the order of the archive; secrets are redacted.
    public var unused: [String] {
        archive.state.withLock { state in
            state.entries.filter { !$0.isUsed }.map { $0.entry.shown }
        }
    }

    /// Begins to play the recorded answer, and returns at once.
    ///
    /// Thread of `handler`: the transport's own queue.
    ///
    /// - Parameters:
    ///   - job: The request and how to deliver its response.
    ///   - handler: Receives the events of the transfer.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        stub.start(job, handler: handler)
    }

    /// Cancels all transfers; later ones fail with `TransferError.Code.transportClosed`.
    public func shutDown() { stub.shutDown() }

    // MARK: Looking

    private static func answer(
        _ job: TransferJob, _ body: Data, _ archive: Archive, isTimed: Bool
    ) throws(TransferError) -> StubAnswer {
        let request = job.request
        let wanted = Wanted(
            method: request.method.rawValue, url: HAR.address(request.url, archive.redaction),
            bodyKey: HAR.bodyKey(of: body, request.headers, archive.redaction))
        do throws(Mismatch) {
            let entry = try archive.state.withLock { state throws(Mismatch) in
                try state.take(wanted, archive.redaction)
            }
            return try StubAnswer(entry, for: wanted.shown, isTimed: isTimed)
        } catch {
            archive.state.withLock { $0.unmatched.append(error) }
            throw TransferError(
                code: .resourceUnavailable, host: request.url?.host(), reason: "\(error)",
                advice: "record it again")
        }
    }

    /// The properties that a matching entry has.
    fileprivate struct Wanted {
        let method: String
        let url: String
        let bodyKey: String

        var shown: String { "\(method) \(Redaction.standard.address(url))" }
    }
}

extension ReplayTransport.State {
    fileprivate mutating func take(
        _ wanted: ReplayTransport.Wanted, _ redaction: Redaction
    ) throws(ReplayTransport.Mismatch) -> HAR.Entry {
        let fitting = entries.indices.filter { entries[$0].matches(wanted) }
        let unused = fitting.filter { !entries[$0].isUsed }
        let exact = unused.first { entries[$0].bodyKey(redaction) == wanted.bodyKey }
        if let index = exact ?? unused.first {
            entries[index].isUsed = true
            return entries[index].entry
        }
        guard fitting.isEmpty else {
            throw .usedUp(request: wanted.shown, recorded: fitting.count)
        }
        var nearMisses: [String] = []
        for entry in entries.map(\.entry) where nearMisses.count < 5 {
            let sameURL = entry.request.url == wanted.url
            let sameMethod = entry.request.method == wanted.method
            if sameURL, sameMethod {
                nearMisses.append("\(entry.shown) with another body")
            } else if sameURL || entry.request.url.path == wanted.url.path {
                nearMisses.append(entry.shown)
            }
        }
        throw .notRecorded(request: wanted.shown, nearMisses: nearMisses)
    }
}

extension ReplayTransport.Mismatch: CustomStringConvertible {
    /// What is wrong, and the facts.
    public var description: String {
        switch self {
        case .notRecorded(let request, let nearMisses):
            "\(request): the archive has no answer"
                + (nearMisses.isEmpty ? "" : ": it has \(nearMisses.joined(separator: "; "))")
        case .usedUp(let request, let recorded):
            "\(request): the archive has no answer left: it was recorded \(recorded) times"
        case .bodyNotRecorded(let request):
            "\(request): the archive has the answer without its body"
        case .bodyNotReadable(let request):
            "\(request): the archive has the answer with a body that is not valid base64"
        }
    }
}

extension HAR.Entry {
    fileprivate var shown: String {
        "\(request.method) \(Redaction.standard.address(request.url))"
    }
}

extension String {
    /// A URL without its query.
    fileprivate var path: Substring { prefix(whileByte: { $0 != UInt8(ascii: "?") }) }
}

extension StubAnswer {
    /// Makes the answer that an entry recorded.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - request: Method and URL for errors, secrets redacted.
    ///   - isTimed: Whether the answer is delayed by the duration of the transfer.
    /// - Throws: `Mismatch` when the body was not recorded, or cannot be read.
    fileprivate init(
        _ entry: HAR.Entry, for request: String, isTimed: Bool
    ) throws(ReplayTransport.Mismatch) {
        let response = entry.response
        let body: Data
        switch (response.content.text, response.content.encoding) {
        case (let text?, "base64"?):
            // Some programs write it in lines.
            guard let data = Data(base64Encoded: Data(text.utf8.filter { $0 > 0x20 })) else {
                throw .bodyNotReadable(request: request)
            }
            body = data
        case (let text?, _): body = Data(text.utf8)
        case (nil, _):
            // That of a redirect, which recorders do not see, is not used. Of a transfer that failed,
            // the error is what matters.
            let isRedirect = (300..<400).contains(response.status)
            guard response.content.size <= 0 || isRedirect || entry.error != nil else {
                throw .bodyNotRecorded(request: request)
            }
            body = Data()
        }
        let hasResponse = response.status >= 200 || response.status == 101
        self.init(
            statusCode: hasResponse ? response.status : nil,
            headers: HTTPHeaders(pairs: response.headers), body: body,
            delay: isTimed ? max(0, entry.time / 1000) : 0)
        if !response.httpVersion.isEmpty { httpVersion = response.httpVersion }
        trailers = response.trailers.map(HTTPHeaders.init(pairs:))
        interimHeads = (response.interimHeads ?? []).map {
            InterimHead(statusCode: $0.status, headers: HTTPHeaders(pairs: $0.headers))
        }
        // The recorded body is decoded; the length is that of the encoded one.
        if headers["Content-Encoding"] != nil { headers.remove(name: "Content-Length") }
        // Redaction may have changed the length. A body that was cut off has fewer bytes than that.
        if headers["Content-Length"] != nil, entry.error == nil, !body.isEmpty {
            headers.update(name: "Content-Length", value: "\(body.count)")
        }
        if let failure = entry.error {
            error = TransferError(
                code: TransferError.Code(rawValue: failure.code) ?? .unknown,
                stage: TransferError.Stage(rawValue: failure.stage) ?? .receiving,
                reason: failure.reason)
            failureOffset = body.count
        } else if !hasResponse {
            error = TransferError(
                code: .networkConnectionLost, stage: .receiving,
                reason: "the archive has no response to this request, and no error")
        }
    }
}

extension HTTPHeaders {
    /// Makes the fields of a recorded head.
    ///
    /// Browsers write the pseudo-header fields of HTTP/2 too, and several fields of one name as the
    /// lines of one value.
    fileprivate init(pairs: [HAR.Pair]) {
        self.init()
        for pair in pairs where !pair.name.startsWithBytes(of: ":") {
            for value in pair.value.parts(separatedBy: "\n") {
                append(name: pair.name, value: String(value.trimmingBlanks))
            }
        }
    }
}
