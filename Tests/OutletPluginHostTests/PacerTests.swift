import OutletHTTP
import OutletPluginHost
import OutletProvider
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct PacerTests {
    private func load(
        _ configuration: String = #"{"baseDelayMs": 0}"#, observer: (any PluginObserver)? = nil
    ) throws -> PluginHost {
        try PluginFolder(samples: ["libpacer.so"]).load(
            configuration: ["dev.outlet.pacer": configuration], observer: observer)
    }

    @Test func `a failed request is retried until it succeeds`() async throws {
        let recorder = ActivityRecorder()
        let host = try load(observer: recorder)
        let stub = StubTransport(answers: [
            .status(503), .failure(TransferError(code: .networkConnectionLost, reason: "gone")),
            .text("at last"),
        ])
        let response = try await host.provider(over: stub).request(.page)
        #expect(try response.mapString() == "at last")
        #expect(stub.requests.count == 3)
        #expect(recorder.activities.values.map(\.hook) == [.retry, .retry])
        #expect(
            recorder.activities.values.map(\.effects) == [["retry at once"], ["retry at once"]])
    }

    @Test func `retries stop at maxAttempts`() async throws {
        let host = try load(#"{"baseDelayMs": 0, "maxAttempts": 2}"#)
        let stub = StubTransport(answers: [.status(500)])
        let provider = host.provider(over: stub)
        await #expect(throws: ProviderError.self) { try await provider.request(.page) }
        #expect(stub.requests.count == 2)
    }

    @Test(arguments: [400, 404, 499])
    func `a request with a 4xx status is not retried`(status: Int) async throws {
        let host = try load()
        let stub = StubTransport(answers: [.status(status)])
        let provider = host.provider(over: stub)
        await #expect(throws: ProviderError.self) { try await provider.request(.page) }
        #expect(stub.requests.count == 1)
    }

    @Test func `Retry-After replaces the exponential delay`() async throws {
        let recorder = ActivityRecorder()
        let host = try load(#"{"baseDelayMs": 60000, "maxDelayMs": 60000}"#, observer: recorder)
        let stub = StubTransport(answers: [
            .status(503, headers: ["Retry-After": "0"]), .status(200),
        ])
        _ = try await host.provider(over: stub).request(.page)
        #expect(recorder.activities.values.map(\.effects) == [["retry at once"]])
    }

    @Test func `a Retry-After above maxDelayMs ends the retries`() async throws {
        let host = try load(#"{"baseDelayMs": 0, "maxDelayMs": 1000}"#)
        let stub = StubTransport(answers: [.status(503, headers: ["Retry-After": "3600"])])
        let provider = host.provider(over: stub)
        await #expect(throws: ProviderError.self) { try await provider.request(.page) }
        #expect(stub.requests.count == 1)
    }

    @Test(arguments: [(1, 100), (2, 200), (3, 400), (4, 500), (5, -1)])
    func `the delay doubles up to its limit`(attempt: Int64, milliseconds: Int64) throws {
        let host = try load(#"{"baseDelayMs": 100, "maxDelayMs": 500, "maxAttempts": 5}"#)
        #expect(
            try host.call("dev.outlet.pacer.delay_ms", [.int(attempt)]) == .int(milliseconds))
    }
}
