import FoundationEssentials
import Glibc
import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTesting
import OutletTransport

/// The library under test, and the operations that tests share.
struct CheckSubject: Sendable {
    let job: CheckJob
    let report: CheckReport
    /// The calls of plugins that have returned so far.
    let calls = CallCounter()

    private let start = ContinuousClock.now

    /// Whether a test that repeats something may begin another repetition.
    ///
    /// `false` after a fifth of the test's time limit and at most 4 s of processor time, because some
    /// libraries take long to load; or after half of the limit. On a busy machine so much more time
    /// passes than is used that otherwise too few repetitions would find nothing.
    var hasTime: Bool {
        Self.processorTime < min(job.limit / 5, .seconds(4))
            && start.duration(to: .now) < job.limit / 2
    }

    /// The processor time that this process has used.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Whether half of the time that the test may take has passed.
    ///
    /// A test then sends no more requests, so that plugins with slow hooks can pass.
    var isLate: Bool {
        start.duration(to: .now) >= job.limit * CheckProcess.longestTest / 2
    }

    /// The deadline for hooks and for the shutdown.
    ///
    /// A part of the test's time limit, so that the host reports the missed deadline before the
    /// checker kills the process.
    var deadline: Duration { job.limit / 4 }

    init(job: CheckJob, report: CheckReport) {
        self.job = job
        self.report = report
        removeProbe()
    }

    /// Passes the calls of instances that are created from now on to a probe.
    func setProbe(_ probe: any PluginCallProbe) {
        PluginCallProbes.current = CallProbes(calls, probe)
    }

    /// Ends ``setProbe(_:)``.
    func removeProbe() { PluginCallProbes.current = calls }

    /// A new generator of requests; the sequence depends on the seed and the test.
    var requests: MadeRequests {
        let name = job.test.rawValue.utf8.reduce(job.seed) { ($0 &* 31) ^ UInt64($1) }
        return MadeRequests(seed: name)
    }

    /// Loads the plugins, and reports those that do not start.
    ///
    /// - Parameters:
    ///   - observer: Receives their activity; `nil` for a new one that reports all violations.
    ///   - configuration: Replaces the job's configuration; failures are then not reported.
    ///   - deadline: The time limit for hooks; `nil` for ``deadline``.
    ///   - others: The ids of plugins of the file of which no instances are created.
    func load(
        _ observer: CheckObserver? = nil, configuration: [String: String]? = nil,
        deadline: Duration? = nil, without others: [String] = []
    ) throws(PluginDirectoryError) -> PluginHost {
        var options = PluginHost.Options()
        options.configuration = configuration ?? job.configuration
        options.configurationSources = options.configuration.mapValues { _ in "--plugin-config" }
        options.dataDirectory = Self.newDataDirectory()
        options.observer = observer ?? CheckObserver(report)
        options.answerDeadline = deadline ?? self.deadline
        options.shutDownDeadline = self.deadline
        options.loadPolicy = .usable
        for id in others { options.settings[id, default: PluginSettings()].isEnabled = false }
        // A plugin is not suspended after violations: the test continues with it.
        options.maximumFaults = 0
        let host = try PluginHost.load([.file(job.file)], options: options)
        if configuration == nil {
            // An id that is wrong is often the reason why a plugin lacks its configuration.
            for failure in host.failures.filter(\.isOfID) + host.failures.filter({ !$0.isOfID }) {
                report.find(failure.rule, failure.fact, advice: failure.advice)
            }
        }
        return host
    }

    /// Makes a directory for the files of one host's plugins, so that those of another host are not
    /// influenced by them.
    ///
    /// - Returns: Its path, in the directory of the test, which is removed after it; `nil` if it cannot be
    ///   made.
    private static func newDataDirectory() -> String? {
        let name = "data-\(UUID().uuidString)"
        let path = FileManager.default.temporaryDirectory.appending(path: name).path
        return mkdir(path, 0o700) == 0 ? path : nil
    }

    /// Shuts the plugins of a host down.
    func end(_ host: PluginHost) async {
        report.step("shut down")
        _ = await host.shutDown(deadline: deadline)
    }

    /// Sends generated requests through the hooks of a host; the responses are generated, too.
    ///
    /// Stops after the first violation that is not a warning, and when the test takes long. Sends one
    /// request first, and fewer at a time if that takes long, because hooks may wait for each other.
    ///
    /// - Parameters:
    ///   - count: The number of requests.
    ///   - host: The plugins.
    ///   - observer: The host's observer, which ends requests that wait long for a retry.
    ///   - width: The number of concurrent requests; with `count`, all begin at once.
    ///   - ofAllKinds: Whether downloads, streams and WebSockets are included.
    ///   - requests: Generates the requests and responses.
    /// - Returns: The number of concurrent requests that the plugin is quick enough for.
    @discardableResult
    func send(
        _ count: Int, through host: PluginHost, watchedBy observer: CheckObserver,
        width: Int = 1, ofAllKinds: Bool = false, requests: MadeRequests
    ) async -> Int {
        let transport = StubTransport { job in
            // Unlike texts and fields, the host does not refuse such a body.
            if job.request.body.data.map({ EndedViews.contain($0) }) == true {
                report.find(.viewLate, "a plugin has set a body: \(EndedViews.fact)")
            }
            return requests.answer(to: job)
        }
        let session = Session(transport: transport, plugins: host)
        var sent = 0
        var width = width
        // A plugin that misses a deadline does so each time, and would use up the test's time.
        while sent < count, !report.hasFailed, sent == 0 || !isLate {
            let part = min(sent == 0 && width < count ? 1 : width, count - sent)
            let start = ContinuousClock.now
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
            if sent == 0, part < width {
                let each = max(ContinuousClock.now - start, .microseconds(1))
                width = max(2, Int(min(Double(width), job.limit / 2 / each)))
            }
            sent += part
        }
        withExtendedLifetime(session) {}
        return width
    }

    /// Sends one request and waits until it has ended.
    ///
    /// - Parameters:
    ///   - made: The request.
    ///   - kind: How it is sent.
    ///   - session: The session with the plugins.
    ///   - observer: The host's observer, which ends the request if it waits long for a retry.
    ///   - begun: Called before the request starts, with a closure that cancels it.
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
    /// The rule that the plugin violates.
    var rule: PluginRule {
        switch self {
        case .unreadable, .notAFile, .unsafe: .fileSafe
        case .invalidLibrary, .wrongMachine: .fileLibrary
        case .noEntryPoint, .wrongABI: .fileEntry
        case .hostTooOld, .refused: .entryMinor
        case .invalidManifest: .manifestAgrees
        case .notLoadable: .loadLinks
        case .invalidModule: .entryModule
        case .invalidSignature: .exportSignature
        case .creationFailed(_, _, _, _, nil): .createStarts
        case .creationFailed(_, _, _, _, .undefinedStatus): .valueKnown
        case .creationFailed: .createReason
        case .noInstance: .createInstance
        case .duplicate: .entryModule
        case .invalidSchema: .configSchema
        default: .createStarts
        }
    }

    /// Whether a configuration is for a plugin that is not there.
    var isOfID: Bool {
        if case .unknownPlugin = self { true } else { false }
    }

    /// How to correct it where the rule's advice does not fit; `nil` where it does.
    var advice: String? {
        switch self {
        case .unknownPlugin: "name a plugin of the file: --plugin-config ID=JSON"
        case .notAFile: "give the path of the plugin's library, which must be a regular file"
        case .unreadable: "give the path of a file that you can read (chmod u+r)"
        case .unsafe(_, _, .directory):
            "move it to a directory that only you and root can write to"
        case .unsafe(_, _, .owner):
            "chown it to root or to yourself, or copy it"
        default: nil
        }
    }

    /// The description without the path of the file.
    var fact: String {
        let text = "\(self)"
        return text.startsWithBytes(of: "\(path): ")
            ? String(text.droppingBytes(path.utf8.count + 2)) : text
    }
}
