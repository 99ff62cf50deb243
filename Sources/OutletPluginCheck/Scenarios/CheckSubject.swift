import FoundationEssentials
import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTesting

/// The library that a test is about, and what the test does with it.
struct CheckSubject: Sendable {
    let job: CheckJob
    let report: CheckReport

    private let start = ContinuousClock.now

    /// Whether a test that repeats something goes on: a library may take long to be read and loaded.
    var hasTime: Bool { start.duration(to: .now) < min(job.limit / 5, .seconds(4)) }

    /// How long a hook, or the end, may take: some of a test's time, so that the host tells first.
    var deadline: Duration { job.limit / 4 }

    init(job: CheckJob, report: CheckReport) {
        self.job = job
        self.report = report
    }

    /// Requests that the seed gives this test.
    var requests: MadeRequests {
        let name = job.test.rawValue.utf8.reduce(job.seed) { ($0 &* 31) ^ UInt64($1) }
        return MadeRequests(seed: name)
    }

    /// Loads the plugins; what keeps one from running is a finding.
    ///
    /// - Parameters:
    ///   - observer: Told what they do; the usual one if `nil`.
    ///   - configuration: In place of that which was given.
    func load(
        _ observer: CheckObserver? = nil, configuration: [String: String]? = nil,
        deadline: Duration? = nil
    ) throws(PluginDirectoryError) -> PluginHost {
        var options = PluginHost.Options()
        options.configuration = configuration ?? job.configuration
        options.observer = observer ?? CheckObserver(report)
        options.answerDeadline = deadline ?? self.deadline
        options.shutDownDeadline = self.deadline
        options.loadPolicy = .usable
        // A test goes on with a plugin that breaks the contract.
        options.maximumFaults = 0
        let host = try PluginHost.load(directories: [], files: [job.file], options: options)
        if configuration == nil {
            for failure in host.failures { report.find(failure.rule, failure.fact) }
        }
        return host
    }

    /// Ends the plugins of a host.
    func end(_ host: PluginHost) async {
        report.step("shut down")
        _ = await host.shutDown(deadline: deadline)
    }

    /// Sends made-up requests through the hooks of a host, answered without a network.
    ///
    /// - Parameters:
    ///   - width: How many at a time.
    ///   - ofAllKinds: Whether there are downloads, streams and WebSockets among them.
    func send(
        _ count: Int, through host: PluginHost, watchedBy observer: CheckObserver,
        width: Int = 1, ofAllKinds: Bool = false, requests: MadeRequests
    ) async {
        let transport = StubTransport { requests.answer(to: $0) }
        let session = Session(transport: transport, plugins: host)
        var sent = 0
        // One that waits in vain does so each time.
        while sent < count, !report.hasFailed {
            let part = min(width, count - sent)
            await withTaskGroup(of: Void.self) { group in
                for number in sent..<sent + part {
                    let kind = ofAllKinds ? requests.kind() : .data
                    let made =
                        kind == .webSocket ? requests.socketRequest() : requests.request()
                    report.step("request \(number + 1): \(made.method)")
                    group.addTask {
                        await send(made, as: kind, over: session, watchedBy: observer)
                    }
                }
            }
            sent += part
        }
        withExtendedLifetime(session) {}
    }

    /// Sends one request to its end.
    ///
    /// - Parameter begun: Given what cancels it, before it starts.
    func send(
        _ made: HTTPRequest, as kind: MadeRequests.Kind = .data, over session: Session,
        watchedBy observer: CheckObserver,
        begun: (@escaping @Sendable () -> Void) -> Void = { _ in }
    ) async {
        func watch(_ request: Request) {
            observer.watch(request.id.uuidString) { request.cancel() }
            begun { request.cancel() }
        }
        let sent: Request
        switch kind {
        case .data:
            let request = session.request(made)
            watch(request)
            _ = await request.serializingData().response
            sent = request
        case .download:
            let request = session.download(made)
            watch(request)
            let file = await request.serializingDownloadedFileURL().response.fileURL
            if let file { try? FileManager.default.removeItem(at: file) }
            sent = request
        case .stream:
            let request = session.streamRequest(made)
            watch(request)
            for await _ in request.streamTask().streamingData() {}
            sent = request
        case .webSocket:
            let request = session.webSocketRequest(performing: made)
            watch(request)
            for await _ in request.webSocketTask().streamingMessages() {}
            sent = request
        }
        observer.watch(sent.id.uuidString, end: nil)
    }
}

extension PluginLoadError {
    /// The rule that keeps a plugin from running.
    var rule: PluginRule {
        switch self {
        case .unreadable, .notAFile, .unsafe: .fileSafe
        case .invalidLibrary, .wrongMachine: .fileLibrary
        case .noEntryPoint, .wrongABI: .fileEntry
        case .hostTooOld, .refused: .entryMinor
        case .invalidManifest: .manifestAgrees
        case .notLoadable: .loadLinks
        case .invalidModule(_, let reason):
            reason.containsBytes(of: ": signature ") ? .exportSignature : .entryModule
        case .creationFailed(_, _, let reason):
            if reason.endsWithBytes(of: "without an instance") {
                .createInstance
            } else if reason.endsWithBytes(of: "without a reason") {
                .createReason
            } else {
                .createStarts
            }
        case .duplicate: .entryModule
        case .invalidSchema: .configSchema
        default: .createStarts
        }
    }

    /// What is wrong, without the file.
    var fact: String {
        let text = "\(self)"
        return text.startsWithBytes(of: "\(path): ")
            ? String(text.droppingBytes(path.utf8.count + 2)) : text
    }
}
