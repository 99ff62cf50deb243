import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTesting
import Testing

/// Equal requests at the same time.
@Suite(.timeLimit(.minutes(1))) final class InflightTests: Sendable {
    private typealias Outcome = Result<Response, ProviderError>

    private let diary = Diary("a")
    private let sent = Lock(0)
    private let gate = DispatchSemaphore(value: 0)

    private func provider(tracks: Bool = true) -> Provider<Zoo> {
        let transport = StubTransport { [self] _ in
            sent.withLock { $0 += 1 }
            gate.wait()
            return .text("live")
        }
        return Provider(
            callbackQueue: DispatchQueue(label: "own"), session: Session(transport: transport),
            plugins: [diary], trackInflights: tracks)
    }

    private func outcomes(_ provider: Provider<Zoo>, _ targets: Zoo...) async -> [Outcome] {
        await withTaskGroup(of: (Int, Outcome).self) { group in
            for (index, target) in targets.enumerated() {
                let asked = DispatchSemaphore(value: 0)
                group.addTask {
                    await withUnsafeContinuation { continuation in
                        provider.request(target) { continuation.resume(returning: (index, $0)) }
                        asked.signal()
                    }
                }
                _ = asked
            }
            var all: [Int: Outcome] = [:]
            while provider.inflightRequests.values.map(\.count).reduce(0, +) < targets.count {
                await Task.yield()
            }
            for _ in targets { gate.signal() }
            for await (index, outcome) in group { all[index] = outcome }
            return targets.indices.compactMap { all[$0] }
        }
    }

    @Test func `who asks for the same waits for one answer, and processes it himself`() async throws
    {
        let provider = provider()
        let outcomes = await outcomes(provider, .closed, .closed, .closed)
        let responses = try outcomes.map { try $0.get() }
        #expect(responses.count == 3 && responses.allSatisfy { $0 === responses[0] })
        #expect(sent.withLock { $0 } == 1)
        let hooks = diary.entries.map { $0.prefix { $0 != "[" } }
        #expect(
            hooks == ["a.prepare", "a.willSend", "a.didReceive"]
                + Array(repeating: "a.process", count: 3))
        while !provider.inflightRequests.isEmpty { await Task.yield() }
    }

    @Test func `other requests are made, and those that change something each time`() async {
        let provider = provider()
        gate.signal()
        gate.signal()
        gate.signal()
        gate.signal()
        async let lion = provider.request(.animal(name: "lion"))
        async let bear = provider.request(.animal(name: "bear"))
        async let five = provider.request(.feed(grams: 5))
        async let again = provider.request(.feed(grams: 5))
        _ = try? await [lion, bear, five, again]
        #expect(sent.withLock { $0 } == 4)
    }

    @Test func `a request made from a completion is one of its own`() async throws {
        let provider = provider()
        gate.signal()
        gate.signal()
        let text = await withUnsafeContinuation { continuation in
            provider.request(.closed) { _ in
                #expect(provider.inflightRequests.count == 1)
                provider.request(.closed) { result in
                    continuation.resume(returning: (try? result.get().mapString()) ?? "failed")
                }
            }
        }
        #expect(text == "live" && sent.withLock { $0 } == 2)
    }

    @Test func `who cancels leaves the others waiting, and the last one ends the request`() async {
        let provider = provider()
        let ends = Lock<[String]>([])
        let over = DispatchSemaphore(value: 0)
        func ask(_ name: String) -> any Cancellable {
            provider.request(.closed) { result in
                let error = (try? result.get()) == nil ? "cancelled" : "answered"
                ends.withLock { $0.append("\(name) \(error)") }
                over.signal()
            }
        }
        let first = ask("first")
        let second = ask("second")
        first.cancel()
        #expect(ends.withLock { $0 } == ["first cancelled"])
        #expect(provider.inflightRequests.values.first?.count == 1)
        second.cancel()
        gate.signal()
        await withUnsafeContinuation { continuation in
            DispatchQueue.global().async {
                over.wait()
                over.wait()
                continuation.resume()
            }
        }
        #expect(ends.withLock { $0 } == ["first cancelled", "second cancelled"])
        while !provider.inflightRequests.isEmpty { await Task.yield() }
    }

    @Test func `a request that cannot be made leaves nothing behind`() async {
        let provider = Provider<Zoo>(
            requestClosure: { _, done in done(.failure(.requestMapping("no"))) },
            session: Session(transport: StubTransport { _ in .text("x") }), trackInflights: true)
        for _ in 0..<2 {
            await #expect(throws: ProviderError.self) { try await provider.request(.closed) }
        }
        while !provider.inflightRequests.isEmpty { await Task.yield() }
    }
}
