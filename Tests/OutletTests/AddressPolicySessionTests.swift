import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// The address policy of a session, for each hop and each kind of request.
@Suite struct AddressPolicySessionTests {
    private func session(
        _ policy: AddressPolicy, over transport: CurlTransport? = nil
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        configuration.urlCache = nil
        configuration.addressPolicy = policy
        guard let transport else { return Session(configuration: configuration) }
        return Session(transport: transport, configuration: configuration)
    }

    @Test func `a redirect to a refused address is an error`() async throws {
        let inner = try ScriptedServer.start(at: .everywhere(port: 0), .request, .respond())
        let name = ListedName("127.0.0.2")
        for host in ["127.0.0.2", "127.2", "0x7f000002", "[::ffff:127.0.0.2]", name.hostName] {
            let outer = try ScriptedServer.start(
                .request,
                .respond("302 Found", headers: ["Location: http://\(host):\(inner.port)/"]))
            let policy = try AddressPolicy(.publicOnly, allowing: ["127.0.0.1"])
            let session = session(policy)
            let error = await session.request(outer.baseURL).serializingData().response.error?
                .transferError
            #expect(error?.code == .addressNotAllowed)
            #expect(error?.reason.contains("127.0.0.2") == true)
            #expect(outer.requests.count == 1)
        }
        #expect(inner.connections.count == 0)
    }

    @Test func `a session with a policy does not reuse a connection that it refuses`() async throws
    {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        let transport = CurlTransport()
        let open = session(.any, over: transport)
        #expect(try await open.request(server.baseURL).serializingString().value == "x")
        let closed = session(.publicOnly, over: transport)
        let response = await closed.request(server.baseURL).serializingData().response
        #expect(response.error?.transferError?.code == .addressNotAllowed)
        #expect(server.requests.count == 1 && response.data == nil)
    }

    @Test func `the policy applies to downloads, streams, uploads and WebSockets`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        let session = session(.publicOnly)
        let url = server.baseURL
        let saved = await session.download(url).serializingDownloadedFileURL().response.error
        let sent = await session.upload(Data("x".utf8), to: url).serializingData().response.error
        var streamed: SessionError?
        for await stream in session.streamRequest(url).streamTask().streamingData() {
            if let completion = stream.completion { streamed = completion.error }
        }
        for error in [saved, sent, streamed] {
            #expect(error?.transferError?.code == .addressNotAllowed)
        }
        let socket = session.webSocketRequest(to: "ws://127.0.0.1:\(server.port)/")
        let ended = Once<SessionError?>()
        socket.streamMessageEvents { event in
            if case .completed(let completion) = event.kind { ended.set(completion.error) }
        }
        #expect(try await ended.value()?.transferError?.code == .addressNotAllowed)
        #expect(server.connections.count == 0)
    }
}
