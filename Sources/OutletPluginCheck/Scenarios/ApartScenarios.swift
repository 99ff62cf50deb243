import FoundationEssentials
import OutletHTTP
import OutletPluginHost
import OutletSession
import OutletTesting
import OutletTransport

/// The test that runs several instances of the plugins.
extension CheckSubject {
    /// Runs two instances at the same time, creates and destroys others meanwhile, and compares what
    /// an instance does alone and beside one with another configuration.
    func checkInstances() async throws {
        let observer = CheckObserver(report)
        let first = try load(observer)
        let plugins = first.plugins
        guard !plugins.contains(where: \.isPerProcess) else {
            await end(first)
            return report.skip("OUTLET_F_PER_PROCESS")
        }
        let second = try load(observer)
        if second.plugins.count < plugins.count {
            report.find(.createApart, "there cannot be a second instance")
        }
        let requests = requests
        await send(10, through: first, watchedBy: observer, requests: requests)
        await send(10, through: second, watchedBy: observer, requests: requests)
        try await compareAfterEnd(of: first, second, observer)
        await send(10, through: second, watchedBy: observer, requests: requests)
        async let rest = send(
            32, through: second, watchedBy: observer, width: 8, requests: requests)
        for number in 0..<8 where hasTime {
            report.step("create instance \(number + 3) during requests of another one")
            let other = try load(observer)
            await send(1, through: other, watchedBy: observer, requests: requests)
            _ = await other.shutDown(deadline: deadline)
        }
        _ = await rest
        await end(second)
        for plugin in plugins {
            let others = plugins.map(\.id).filter { !$0.hasSameBytes(as: plugin.id) }
            try await compareConfigurations(of: plugin, without: others)
        }
    }

    /// Ends one of two instances, and reports when requests of the other fail from then on.
    ///
    /// Both get the same number of requests before, so that a plugin that allows only some requests
    /// is not reported.
    private func compareAfterEnd(
        of first: PluginHost, _ second: PluginHost, _ observer: CheckObserver
    ) async throws {
        var before = CheckTrace()
        for _ in 0..<2 where !isLate { await add(to: &before, through: first, observer) }
        if !isLate { await add(to: &before, through: second, observer) }
        await end(first)
        guard !isLate else { return }
        var after = CheckTrace()
        await add(to: &after, through: second, observer)
        guard before.failures.isEmpty, after.failures.count == CheckTrace.requests.count,
            let failure = after.failures.first
        else { return }
        report.find(
            .createApart,
            "\(second.plugins.map(\.id).joined(separator: ", ")): all requests of an instance fail "
                + "after another one has ended: \(failure)")
    }

    /// Reports what an instance does in another way beside one with another configuration.
    ///
    /// Only what is certain: it must be the same in all instances that are alone, and the difference
    /// must come back each time. Values that depend on the time, on chance or on what was done before
    /// are not compared.
    ///
    /// - Parameters:
    ///   - plugin: The plugin.
    ///   - others: The other plugins of the file, which are not loaded.
    private func compareConfigurations(
        of plugin: LoadedPlugin, without others: [String]
    ) async throws {
        let given = job.configuration[plugin.id] ?? "{}"
        // Plugins with slow hooks are not compared.
        let latest = ContinuousClock.now + job.limit / 2
        let variants = MadeConfigurations.variants(
            schema: plugin.configurationSchema, given: given, seed: job.seed)
        for (number, made) in variants.enumerated() {
            var pair = CheckedPair(subject: self, others: others, latest: latest)
            pair.configurations[0][plugin.id] = given
            pair.configurations[1][plugin.id] = made.text
            var difference: CheckedPair.Difference?
            for _ in 0..<Self.comparisons {
                guard !report.hasFailed else { return }
                guard ContinuousClock.now < latest, !isLate else {
                    return report.note(
                        "\(plugin.id): there was time to compare instances with \(number) of "
                            + "\(variants.count) other values of settings only")
                }
                let next = try await pair.compare()
                difference = difference.map { $0.common(with: next) } ?? next
                if difference?.facts.isEmpty != false { break }
            }
            guard let fact = difference?.facts.min(by: { $0.key < $1.key }) else { continue }
            report.find(
                .createApart,
                "\(plugin.id): \(fact.key) \(fact.value.text) beside an instance with another "
                    + "value of '\(made.name)'")
            return
        }
    }

    /// How often a difference must come back.
    private static let comparisons = 5

    /// Sends the requests of a trace through a host, and adds what happens to the trace.
    fileprivate func add(
        to trace: inout CheckTrace, through host: PluginHost, _ observer: CheckObserver
    ) async {
        for made in CheckTrace.requests {
            report.step("compare instances: \(made.method)")
            let sent = Lock([HTTPRequest]())
            let transport = StubTransport { job in
                sent.withLock { $0.append(job.request) }
                return .text("x")
            }
            let session = Session(transport: transport, plugins: host)
            let request = session.request(made)
            observer.watch(request.id.uuidString) { request.cancel() }
            let response = await request.serializingData().response
            observer.watch(request.id.uuidString, end: nil)
            withExtendedLifetime(session) {}
            trace.add(sent.withLock { $0 }, response)
        }
    }
}

/// What happened to the requests that an instance got: the requests as they were sent, and the
/// responses as they were delivered.
struct CheckTrace {
    /// The values by name, such as that of a header field in one of the requests.
    private(set) var facts: [String: String] = [:]
    /// The errors of requests that failed.
    private(set) var failures: [String] = []
    private var number = 0

    /// The requests of a trace.
    static let requests: [HTTPRequest] = [
        HTTPRequest(url: URL(string: "http://check.example/a?q=1")),
        HTTPRequest(
            url: URL(string: "http://check.example/b"), method: .post,
            headers: ["Content-Type": "application/json"],
            body: .data(Data(#"{"a": [1]}"#.utf8))),
        HTTPRequest(url: URL(string: "http://other.example/"), headers: ["X-Check": "1"]),
    ]

    /// Adds what happened to a request.
    mutating func add(_ sent: [HTTPRequest], _ response: DataResponse<Data, some Error>) {
        number += 1
        let name = "request \(number)"
        facts["how often \(name) is sent"] = "\(sent.count)"
        if let request = sent.last {
            facts["the method of \(name)"] = "\(request.method)"
            facts["the URL of \(name)"] = request.url.map { "\($0)" }
            facts["the body of \(name)"] = request.body.data.map { Self.text($0) }
            add(request.headers, of: name)
        }
        if let head = response.response {
            facts["the status of the response to \(name)"] = "\(head.statusCode)"
            add(head.headers, of: "the response to \(name)")
        }
        facts["the body of the response to \(name)"] = response.data.map { Self.text($0) }
        if let error = response.error {
            facts["the error of \(name)"] = "\(error)"
            failures.append("\(error)")
        }
    }

    private mutating func add(_ headers: HTTPHeaders, of name: String) {
        for field in headers {
            // Also compared where the value is another one each time.
            facts["the field '\(field.name)' in \(name)"] = "present"
            let fact = "the value of the field '\(field.name)' in \(name)"
            facts[fact] = (facts[fact].map { "\($0), " } ?? "") + field.value
        }
    }

    private static func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }
}

/// Two configurations of a plugin, of which instances are compared.
private struct CheckedPair {
    let subject: CheckSubject
    /// The other plugins of the file, which are not loaded.
    let others: [String]
    /// When the last instance may be created.
    let latest: ContinuousClock.Instant
    var configurations: [[String: String]]

    init(subject: CheckSubject, others: [String], latest: ContinuousClock.Instant) {
        self.subject = subject
        self.others = others
        self.latest = latest
        configurations = [subject.job.configuration, subject.job.configuration]
    }

    /// What differs beside another instance, by the names of facts.
    struct Difference {
        var facts: [String: Change] = [:]

        /// The differences that are the same in both.
        func common(with other: Difference) -> Difference {
            Difference(facts: facts.filter { other.facts[$0.key] == $0.value })
        }
    }

    /// A value that an instance has alone, and the one that it has beside another instance.
    struct Change: Equatable {
        let alone: String?
        let beside: String?

        /// Without the values, which may be secret.
        var text: String {
            if beside == nil { return "is missing" }
            return alone == nil ? "is there only" : "is another one"
        }
    }

    /// Traces instances alone, then two beside each other, then alone again.
    ///
    /// Alone, they alternate: a value that depends on the time cannot be the same in all instances of
    /// one configuration and another one in all of the other.
    func compare() async throws -> Difference {
        var alone: [[CheckTrace]] = [[], []]
        func addAlone() async throws -> Bool {
            for index in 0...1 {
                guard let trace = try await traceAlone(index) else { return false }
                alone[index].append(trace)
            }
            return true
        }
        guard try await addAlone(), alone[0][0].facts != alone[1][0].facts,
            try await addAlone(), let beside = try await traceBeside(), try await addAlone()
        else { return Difference() }
        var difference = Difference()
        for index in 0...1 {
            for name in Set(alone[index].flatMap(\.facts.keys) + beside[index].facts.keys) {
                let values = Set(alone[index].map { $0.facts[name] })
                guard values.count == 1, let value = values.first else { continue }
                let other = beside[index].facts[name]
                guard other != value else { continue }
                difference.facts[name] = Change(alone: value, beside: other)
            }
        }
        return difference
    }

    private func load(
        _ index: Int
    ) async throws -> (host: PluginHost, observer: CheckObserver)? {
        guard ContinuousClock.now < latest else { return nil }
        subject.report.step("create an instance to compare")
        let observer = CheckObserver(subject.report)
        let host = try subject.load(
            observer, configuration: configurations[index], without: others)
        guard host.failures.isEmpty else {
            _ = await host.shutDown(deadline: subject.deadline)
            return nil
        }
        return (host, observer)
    }

    /// The trace of an instance that is alone; `nil` if it cannot be created, or it is too late.
    private func traceAlone(_ index: Int) async throws -> CheckTrace? {
        guard let (host, observer) = try await load(index) else { return nil }
        var trace = CheckTrace()
        for _ in 0..<2 { await subject.add(to: &trace, through: host, observer) }
        _ = await host.shutDown(deadline: subject.deadline)
        return trace
    }

    /// The traces of two instances, of which the first one ends before the other.
    private func traceBeside() async throws -> [CheckTrace]? {
        guard let first = try await load(0) else { return nil }
        guard let second = try await load(1) else {
            _ = await first.host.shutDown(deadline: subject.deadline)
            return nil
        }
        var traces = [CheckTrace(), CheckTrace()]
        await subject.add(to: &traces[0], through: first.host, first.observer)
        await subject.add(to: &traces[1], through: second.host, second.observer)
        await subject.add(to: &traces[0], through: first.host, first.observer)
        _ = await first.host.shutDown(deadline: subject.deadline)
        await subject.add(to: &traces[1], through: second.host, second.observer)
        _ = await second.host.shutDown(deadline: subject.deadline)
        return traces
    }
}
