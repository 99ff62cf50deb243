import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

/// Concurrent equal requests, which share a transfer.
@Suite(.timeLimit(.minutes(3))) struct InflightTests {
    private typealias Outcome = Result<Response, ProviderError>

    private let hookRecorder = HookRecorder("a")
    private let gate = StubGate()
    private let ends = Recorder<(name: String, outcome: Outcome)>()

    /// A transport whose responses wait for the gate inside the body.
    private func transport() -> StubTransport {
        StubTransport { [gate] _ in .text("live").waiting(atByte: 2, for: gate) }
    }

    private func provider(_ transport: StubTransport, tracks: Bool = true) -> Provider<Zoo> {
        Provider(
            session: Session(transport: transport), plugins: [hookRecorder], trackInflights: tracks)
    }

    @discardableResult
    private func ask(
        _ provider: Provider<Zoo>, _ name: String = "", queue: DispatchQueue? = nil,
        progress: ProgressBlock? = nil
    ) -> any Cancellable {
        provider.request(.closed, callbackQueue: queue, progress: progress) { [ends] in
            ends.record((name, $0))
        }
    }

    /// Waits until all requests are adapted and have joined a transfer.
    private func settle(_ provider: Provider<Zoo>) async {
        await withCheckedContinuation { continuation in
            provider.session.requestQueue.async { continuation.resume() }
        }
    }

    private func isCancelled(_ outcome: Outcome) -> Bool {
        guard case .failure(.underlying(let error, _)) = outcome else { return false }
        return (error as? SessionError)?.isExplicitlyCancelledError == true
    }

    @Test func `equal requests share one transfer, and each call runs its own hooks`()
        async throws
    {
        let transport = transport()
        let provider = provider(transport)
        for name in ["1", "2", "3"] { ask(provider, name) }
        await settle(provider)
        #expect(provider.inflightRequests.mapValues(\.count).values.map { $0 } == [3])
        gate.open()
        let outcomes = try await ends.values(3)
        let responses = try outcomes.map { try $0.outcome.get() }
        #expect(try responses.allSatisfy { try $0.mapString() == "live" })
        #expect(transport.requests.count == 1)
        for hook in ["prepare", "willSend[a]", "didReceive", "process"] {
            #expect(hookRecorder.entries.count { $0 == "a.\(hook)" } == 3, "\(hook)")
        }
        while !provider.inflightRequests.isEmpty, !Task.isCancelled { await Task.yield() }
    }

    @Test func `concurrent POST requests are not coalesced`() async throws {
        let transport = transport()
        let provider = provider(transport)
        for name in ["1", "2"] {
            provider.request(.feed(grams: 1)) { [ends] in ends.record((name, $0)) }
        }
        await settle(provider)
        #expect(provider.inflightRequests.isEmpty)
        gate.open()
        _ = try await ends.values(2)
        #expect(transport.requests.count == 2)
    }

    @Test func `without tracking equal requests are not coalesced`() async throws {
        let transport = transport()
        let provider = provider(transport, tracks: false)
        for _ in 0..<2 { ask(provider) }
        await settle(provider)
        #expect(provider.inflightRequests.isEmpty)
        gate.open()
        try await ends.values(2)
        #expect(transport.requests.count == 2)
    }

    @Test func `different requests and POST requests are each sent`() async {
        let transport = transport()
        let provider = provider(transport)
        gate.open()
        async let lion = provider.request(.animal(name: "lion"))
        async let bear = provider.request(.animal(name: "bear"))
        async let five = provider.request(.feed(grams: 5))
        async let again = provider.request(.feed(grams: 5))
        _ = try? await [lion, bear, five, again]
        #expect(transport.requests.count == 4)
    }

    @Test func `each call has its own queue and its own progress`() async throws {
        let key = DispatchSpecificKey<String>()
        let provider = provider(transport())
        let told = Recorder<(name: String, queue: String?, isCompleted: Bool)>()
        let ended = Recorder<(name: String, queue: String?)>()
        for name in ["1", "2"] {
            let queue = DispatchQueue(label: name)
            queue.setSpecific(key: key, value: name)
            provider.request(
                .closed, callbackQueue: queue,
                progress: {
                    told.record((name, DispatchQueue.getSpecific(key: key), $0.completed))
                }
            ) { _ in ended.record((name, DispatchQueue.getSpecific(key: key))) }
        }
        await settle(provider)
        gate.open()
        #expect(try await ended.values(2).allSatisfy { $0.name == $0.queue })
        #expect(told.values.allSatisfy { $0.name == $0.queue })
        for name in ["1", "2"] {
            let own = told.values.filter { $0.name == name }
            #expect(own.count > 1 && own.map(\.isCompleted).last == true)
        }
    }

    @Test func `a request made in a completion is a new transfer`() async throws {
        let transport = transport()
        let provider = provider(transport)
        gate.open()
        let inside = Once<Int>()
        let texts = Once<String>()
        provider.request(.closed) { _ in
            inside.set(provider.inflightRequests.count)
            provider.request(.closed) { texts.set((try? $0.get().mapString()) ?? "failed") }
        }
        #expect(try await inside.value() == 1)
        #expect(try await texts.value() == "live")
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: [0, 1, 2])
    func `a cancelled call does not cancel the others on the same transfer`(index: Int) async throws
    {
        let transport = transport()
        let provider = provider(transport)
        let calls = (0..<3).map { ask(provider, "\($0)") }
        await gate.arrival()
        await settle(provider)
        calls[index].cancel()
        let first = try await ends.values(1)[0]
        #expect(first.name == "\(index)" && isCancelled(first.outcome))
        gate.open()
        let others = try await ends.values(3).dropFirst()
        #expect(others.allSatisfy { (try? $0.outcome.get().mapString()) == "live" })
        #expect(transport.requests.count == 1)
    }

    @Test func `the transfer is cancelled and released when all calls cancel`() async throws {
        let provider = provider(transport())
        let calls = (0..<3).map { ask(provider, "\($0)") }
        await gate.arrival()
        await settle(provider)
        for call in calls { call.cancel() }
        #expect(try await ends.values(3).allSatisfy { isCancelled($0.outcome) })
        while !provider.inflightRequests.isEmpty, !Task.isCancelled { await Task.yield() }
        ask(provider, "later")
        await gate.arrival(2)
        gate.open()
        #expect(try await ends.values(4)[3].outcome.get().mapString() == "live")
    }

    @Test func `a request that cannot be created is removed from the inflight requests`() async {
        let provider = Provider<Zoo>(
            requestClosure: { _, done in done(.failure(.requestMapping("no"))) },
            session: Session(transport: StubTransport { _ in .text("x") }), trackInflights: true)
        for _ in 0..<2 {
            await #expect(throws: ProviderError.self) { try await provider.request(.closed) }
        }
        while !provider.inflightRequests.isEmpty, !Task.isCancelled { await Task.yield() }
    }

    @Test func `of many concurrent calls only the cancelled fail, and each completes once`()
        async throws
    {
        let count = 4000
        let provider = provider(StubTransport { _ in StubAnswer.text("x").chunked(into: 1) })
        let ends = ExactlyOnce<String?>()
        let completions = (0..<count).map { _ in ends.completion() }
        try onOwnThread {
            DispatchQueue.concurrentPerform(iterations: count) { number in
                let call = provider.request(.closed) { result in
                    if case .failure(let error) = result {
                        completions[number]("\(error)")
                    } else {
                        completions[number](nil)
                    }
                }
                if number % 4 == 0 { call.cancel() }
            }
        }
        let failures = try await ends.values()
        #expect(ends.fault == nil)
        let innocent = failures.enumerated().filter { $0.offset % 4 != 0 }.compactMap(\.element)
        #expect(innocent.isEmpty, "\(innocent.count), such as \(innocent.first ?? "")")
        while !provider.inflightRequests.isEmpty, !Task.isCancelled { await Task.yield() }
    }
}
