import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletReachability
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Synchronization
import Testing

/// Network paths that a test provides.
private final class Paths: Sendable {
    private let state = Lock<(DispatchQueue, PathMonitor.Handler)?>(nil)
    let starts = Atomic(0)
    let stops = Recorder<Int>()
    private let first: NetworkPath?

    init(first: NetworkPath? = nil) {
        self.first = first
    }

    func notify(_ status: NetworkPath.Status, _ types: NetworkPath.InterfaceType...) {
        let path = Self.path(status, types)
        let listener = state.withLock { $0 }
        listener?.0.async { listener?.1(path) }
    }

    static func path(
        _ status: NetworkPath.Status, _ types: [NetworkPath.InterfaceType]
    ) -> NetworkPath {
        NetworkPath(
            status: status,
            interfaces: types.map { .init(name: $0.rawValue, index: 1, type: $0) })
    }

    var monitor: PathMonitor {
        PathMonitor(
            start: { [self] queue, handler in
                starts.add(1, ordering: .relaxed)
                state.withLock { $0 = (queue, handler) }
                if let first { queue.async { handler(first) } }
            },
            stop: { [self] in
                state.withLock { $0 = nil }
                stops.record(1)
            })
    }
}

@Suite struct NetworkReachabilityTests {
    @Test func `the status is reported at once, then only when it changes`() async throws {
        let paths = Paths(first: Paths.path(.satisfied, [.wifi]))
        let manager = NetworkReachabilityManager(monitor: paths.monitor)
        let seen = Recorder<NetworkReachabilityManager.NetworkReachabilityStatus>()
        #expect(manager.startListening { seen.record($0) })
        #expect(try await seen.values(1) == [.reachable(.ethernetOrWiFi)])
        paths.notify(.satisfied, .wiredEthernet)
        paths.notify(.satisfied, .cellular)
        paths.notify(.unsatisfied)
        paths.notify(.unknown)
        let statuses = try await seen.values(4)
        #expect(
            statuses == [
                .reachable(.ethernetOrWiFi), .reachable(.cellular), .notReachable, .unknown,
            ])
        #expect(manager.status == .unknown)
        #expect(!manager.isReachable)
        manager.stopListening()
        manager.stopListening()
        #expect(paths.stops.values.count == 1)
    }

    @Test func `an IP address or a name is reachable, and an empty name is refused`() {
        #expect(NetworkReachabilityManager(host: "127.0.0.1")?.isReachable == true)
        #expect(NetworkReachabilityManager(host: "localhost")?.isReachable == true)
        #expect(NetworkReachabilityManager(host: "") == nil)
    }

    @Test func `the machine's own status is reported`() async throws {
        let manager = try #require(NetworkReachabilityManager())
        let seen = Recorder<NetworkReachabilityManager.NetworkReachabilityStatus>()
        manager.startListening { seen.record($0) }
        let status = try await seen.values(1)[0]
        #expect(status != .unknown)
        #expect((status != .notReachable) == manager.isReachable)
    }
}

@Suite(.timeLimit(.minutes(patience))) struct OfflineRetrierTests {
    let address = "http://example.test/get"
    private let offline = TransferError(code: .notConnectedToInternet, reason: "no network")

    /// Fails `count` times, then returns a response.
    private func transport(failing count: Int, _ error: TransferError) -> StubTransport {
        StubTransport(
            answers: Array(repeating: StubAnswer.failure(error), count: count) + [.text("x")])
    }

    @Test func `a retrier that is released ends the waits`() async throws {
        let paths = Paths(first: Paths.path(.unsatisfied, []))
        let session = Session(transport: StubTransport(answers: []))
        let request = session.request(address)
        let ends = Recorder<Bool>()
        do {
            let retrier = OfflineRetrier(monitor: paths.monitor, maximumWait: .never)
            retrier.retry(request, for: session, dueTo: offline) { result in
                if case .doNotRetry = result { ends.record(true) } else { ends.record(false) }
            }
            while paths.starts.load(ordering: .relaxed) == 0, !Task.isCancelled {
                await Task.yield()
            }
        }
        #expect(try await ends.values(1) == [true])
        #expect(try await paths.stops.values(1) == [1])
        withExtendedLifetime(session) {}
    }

    @Test func `all requests that wait for a network are retried together`() async throws {
        let isOffline = Atomic(true)
        let transport = StubTransport { [offline] _ in
            isOffline.load(ordering: .relaxed) ? .failure(offline) : .text("x")
        }
        let paths = Paths(first: Paths.path(.unsatisfied, []))
        let session = Session(
            transport: transport,
            interceptor: OfflineRetrier(monitor: paths.monitor, maximumWait: .seconds(3600)))
        let seen = Recorder<String?>()
        for _ in 0..<10 { session.request(address).responseString { seen.record($0.value) } }
        while transport.requests.count < 10, !Task.isCancelled { await Task.yield() }
        isOffline.store(false, ordering: .relaxed)
        paths.notify(.satisfied, .wifi)
        // Requests that wait only now find the path satisfied.
        while seen.values.count < 10, !Task.isCancelled {
            await Task.yield()
            paths.notify(.satisfied, .wifi)
        }
        #expect(seen.values.allSatisfy { $0 == "x" })
        #expect(paths.starts.load(ordering: .relaxed) == paths.stops.values.count)
    }

    @Test func `without a network the failure is reported after the maximum wait`() async throws {
        let paths = Paths(first: Paths.path(.unsatisfied, []))
        let session = Session(
            transport: transport(failing: 9, offline),
            interceptor: OfflineRetrier(monitor: paths.monitor, maximumWait: .milliseconds(20)))
        let request = session.request(address)
        let response = await request.serializingUnserialized().response
        #expect(response.error?.transferError?.code == .notConnectedToInternet)
        #expect(request.retryCount == 0)
        try await paths.stops.values(1)
    }

    @Test func `a request with a network is retried at most retryLimit times`() async throws {
        let paths = Paths(first: Paths.path(.satisfied, [.wifi]))
        let transport = transport(failing: 99, offline)
        let session = Session(
            transport: transport,
            interceptor: OfflineRetrier(monitor: paths.monitor, retryLimit: 1))
        let request = session.request(address)
        let response = await request.serializingUnserialized().response
        #expect(response.error?.transferError?.code == .notConnectedToInternet)
        #expect(request.retryCount == 1)
    }

    @Test func `a name that does not resolve waits only while there is no network`() async throws {
        let error = TransferError(code: .cannotFindHost, reason: "no such host")
        let there = Paths(first: Paths.path(.satisfied, [.wifi]))
        let online = Session(
            transport: transport(failing: 1, error),
            interceptor: OfflineRetrier(monitor: there.monitor))
        let failed = await online.request(address).serializingUnserialized().response
        #expect(failed.error?.transferError?.code == .cannotFindHost)
        let missing = Paths(first: Paths.path(.unsatisfied, []))
        let session = Session(
            transport: transport(failing: 1, error),
            interceptor: OfflineRetrier(monitor: missing.monitor, maximumWait: .seconds(3600)))
        let seen = Recorder<String?>()
        session.request(address).responseString { seen.record($0.value) }
        while missing.starts.load(ordering: .relaxed) == 0, !Task.isCancelled { await Task.yield() }
        missing.notify(.satisfied, .wifi)
        #expect(try await seen.values(1) == ["x"])
    }

    @Test func `other failures do not wait for a network`() async {
        let paths = Paths()
        let session = Session(
            transport: transport(
                failing: 1, TransferError(code: .serverCertificateUntrusted, reason: "no")),
            interceptor: OfflineRetrier(monitor: paths.monitor))
        let response = await session.request(address).serializingUnserialized().response
        #expect(response.error?.transferError?.code == .serverCertificateUntrusted)
        #expect(paths.starts.load(ordering: .relaxed) == 0)
    }

    @Test func `a cancel ends the wait for a network`() async throws {
        let paths = Paths(first: Paths.path(.unsatisfied, []))
        let session = Session(
            transport: transport(failing: 1, offline),
            interceptor: OfflineRetrier(monitor: paths.monitor, maximumWait: .seconds(3600)))
        let seen = Recorder<SessionError?>()
        let request = session.request(address).response { seen.record($0.error) }
        while paths.starts.load(ordering: .relaxed) == 0, !Task.isCancelled { await Task.yield() }
        request.cancel()
        // The failure came first; the cancel ends only the wait.
        let errors = try await seen.values(1)
        #expect(errors.first??.transferError?.code == .notConnectedToInternet)
        #expect(request.isCancelled)
    }
}
