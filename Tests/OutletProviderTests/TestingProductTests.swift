import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTesting
import Testing

/// Providers with stub, recording and replay transports; all hooks are called.
@Suite struct TestingProductTests {
    @Test func `stubs match a provider's requests, and the reason for a mismatch is reported`()
        async throws
    {
        let transport = StubTransport(stubs: [
            Stub(
                .post("http://zoo.test/api/feed*").header("X-Zoo", "yes").json(["grams": 5]),
                .text("fed"))
        ])
        let hookRecorder = HookRecorder("plugin")
        let provider = Provider<Zoo>(
            session: Session(transport: transport), plugins: [hookRecorder])
        let response = try await provider.request(.feed(grams: 5))
        #expect(response.data == Data("fed".utf8))
        try transport.verify()
        #expect(hookRecorder.entries.first == "plugin.prepare")
        await #expect(throws: ProviderError.self) {
            try await provider.request(.feed(grams: 6))
        }
        #expect("\(transport.unmatched)".contains("JSON body is another"))
    }

    @Test func `a provider's requests are recorded and replayed`() async throws {
        let file = FileManager.default.temporaryDirectory
            .appending(path: "outlet-\(UUID().uuidString).har")
        defer { try? FileManager.default.removeItem(at: file) }
        let recording = try RecordingTransport(
            wrapping: StubTransport { _ in .text("a lion") }, to: file)
        let live = Provider<Zoo>(session: Session(transport: recording))
        #expect(try await live.request(.animal(name: "leo")).data == Data("a lion".utf8))
        try await recording.finish()
        let replay = try ReplayTransport(from: file)
        let replayed = Provider<Zoo>(session: Session(transport: replay))
        #expect(try await replayed.request(.animal(name: "leo")).data == Data("a lion".utf8))
        await #expect(throws: ProviderError.self) {
            try await replayed.request(.animal(name: "bo"))
        }
        #expect(replay.unmatched.count == 1)
    }
}
