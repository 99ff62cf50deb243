import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

/// Request closures that give their result late, never or twice, also with a cancel.
@Suite(.timeLimit(.minutes(3))) struct RequestClosureTests {
    private typealias Answer = Provider<Zoo>.RequestResultClosure
    private typealias Outcome = Result<Response, ProviderError>

    private let transport = StubTransport { _ in .text("live") }
    private let hookRecorder = HookRecorder("a")
    private let asked = Recorder<(endpoint: Endpoint, answer: Answer)>()
    private let ends = Recorder<Outcome>()

    /// A provider whose request closure stores its callback and does not call it.
    private func provider(
        stub: StubBehavior = .never, tracks: Bool = false
    ) -> Provider<Zoo> {
        Provider(
            requestClosure: { [asked] in asked.record(($0, $1)) }, stubClosure: { _ in stub },
            session: Session(transport: transport), plugins: [hookRecorder], trackInflights: tracks)
    }

    private func isCancelled(_ outcome: Outcome) -> Bool {
        guard case .failure(.underlying(let error, _)) = outcome else { return false }
        return (error as? SessionError)?.isExplicitlyCancelledError == true
    }

    @Test(arguments: [StubBehavior.never, .immediate, .delayed(seconds: 3600)], [true, false])
    func `a cancel before the closure's result completes the call at once and only once`(
        stub: StubBehavior, tracks: Bool
    ) async throws {
        let provider = provider(stub: stub, tracks: tracks)
        let call = provider.request(.closed) { ends.record($0) }
        call.cancel()
        call.cancel()
        #expect(isCancelled(try await ends.values(1)[0]))
        #expect(hookRecorder.entries == ["a.didReceive", "a.process"])
        // Later results are ignored.
        let (endpoint, answer) = try #require(asked.values.first)
        defer { asked.removeAll() }
        for _ in 0..<2 { Provider<Zoo>.defaultRequestMapping(for: endpoint, closure: answer) }
        answer(.failure(.requestMapping("late")))
        await withCheckedContinuation { continuation in
            provider.session.callbackQueue.async { continuation.resume() }
        }
        #expect(ends.count == 1 && transport.requests.isEmpty)
        while !provider.inflightRequests.isEmpty, !Task.isCancelled { await Task.yield() }
    }

    @Test func `cancelling a task ends the wait for a closure without a result`() async throws {
        let provider = provider()
        let task = Task { try await provider.request(.closed) }
        try await asked.values(1)
        defer { asked.removeAll() }
        task.cancel()
        guard case .failure(let error as ProviderError) = await task.result else {
            Issue.record("the request went through")
            return
        }
        #expect(isCancelled(.failure(error)))
    }

    @Test func `a closure may give its result later, on another thread`() async throws {
        let provider = provider()
        provider.request(.closed) { ends.record($0) }
        let (endpoint, answer) = try await asked.values(1)[0]
        defer { asked.removeAll() }
        try onOwnThread {
            Provider<Zoo>.defaultRequestMapping(for: endpoint, closure: answer)
            answer(.failure(.requestMapping("second")))
        }
        #expect(try await ends.values(1)[0].get().mapString() == "live")
        #expect(ends.count == 1 && transport.requests.count == 1)
    }

    @Test(arguments: [true, false])
    func `a closure that releases its callback fails the call`(tracks: Bool) async throws {
        let provider = Provider<Zoo>(
            requestClosure: { _, _ in }, session: Session(transport: transport),
            plugins: [hookRecorder], trackInflights: tracks)
        do {
            _ = try await provider.request(.closed)
            Issue.record("the request went through")
        } catch {
            let error = error as? ProviderError
            #expect(error?.underlyingError is UnansweredRequestClosure)
        }
        #expect(hookRecorder.entries == ["a.didReceive", "a.process"])
        #expect(transport.requests.isEmpty)
    }

    @Test func `each call completes once with many concurrent cancels and results`() async throws {
        let count = 1000
        let provider = Provider<Zoo>(
            requestClosure: { endpoint, answer in
                DispatchQueue.global().async {
                    Provider<Zoo>.defaultRequestMapping(for: endpoint, closure: answer)
                }
            }, session: Session(transport: transport), trackInflights: true)
        let ends = ExactlyOnce<Bool>()
        let completions = (0..<count).map { _ in ends.completion() }
        try onOwnThread {
            DispatchQueue.concurrentPerform(iterations: count) { number in
                let call = provider.request(.closed) {
                    completions[number]((try? $0.get()) != nil)
                }
                if number % 2 == 0 { call.cancel() }
            }
        }
        let succeeded = try await ends.values()
        #expect(ends.fault == nil)
        #expect(succeeded.enumerated().allSatisfy { $0.offset % 2 == 0 || $0.element })
    }
}
