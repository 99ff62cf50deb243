import Dispatch
import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Plugins evaluate servers during the TLS handshake, after the session's own checks.
@Suite(.timeLimit(.minutes(patience))) struct PluginTrustTests {
    private func host(refusing name: String) throws -> PluginHost {
        var options = PluginHost.Options()
        options.configuration = ["faulty.judging": #"{"trust": "\#(name)"}"#]
        options.loadPolicy = .usable
        return try PluginHost.load(
            [.file(Products.path("libFaultyExtras.so"))], options: options)
    }

    private func session(
        refusing name: String, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> (Session, PluginHost) {
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(
            path: try await TestCA.shared().certificatePath)
        change(&configuration)
        let host = try host(refusing: name)
        return (Session(configuration: configuration, plugins: host), host)
    }

    @Test func `a plugin evaluates a server once per connection`()
        async throws
    {
        let nginx = try await Nginx.shared()
        let (session, host) = try await session(refusing: "")
        for _ in 0..<3 {
            let response = await session.request("\(nginx.baseURL(.tls))/small.txt")
                .serializingString().response
            #expect(response.value == "small\n")
        }
        #expect(try host.call("faulty.judging.asked") == 1)
    }

    @Test func `a request to a server that a plugin refuses is not sent`() async throws {
        let nginx = try await Nginx.shared()
        let (session, host) = try await session(refusing: "localhost")
        let response = await session.request("\(nginx.baseURL(.tls))/small.txt")
            .serializingString().response
        #expect(response.response == nil)
        #expect(
            response.error?.description.contains(
                "plugin faulty.judging: trust failed (not-pinned): it is not pinned") == true,
            "\(String(describing: response.error))")
        #expect(try host.call("faulty.judging.asked") == 1)
    }

    @Test func `a plugin is not called for a server that the session refuses`() async throws {
        let nginx = try await Nginx.shared()
        let (session, host) = try await session(refusing: "")
        for port in [Nginx.Listener.expired, .wrongHost] {
            let response = await session.request("\(nginx.baseURL(port))/small.txt")
                .serializingString().response
            #expect(response.response == nil)
        }
        #expect(try host.call("faulty.judging.asked") == 0)
    }

    @Test func `a function that takes long makes trust fail, and does not stop other requests`()
        async throws
    {
        let nginx = try await Nginx.shared()
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(
            path: try await TestCA.shared().certificatePath)
        let host = try PluginHost.load([.file(Products.path("libFaultyJudgesInTurn.so"))])
        let session = Session(configuration: configuration, plugins: host)
        let (isHeld, isOver) = (Once<Void>(), DispatchSemaphore(value: 0))
        let wait = PluginCallback { _ in
            isHeld.set(())
            isOver.wait()
            return .bool(true)
        }
        async let held = offPool {
            try host.call("faulty.judges-in-turn.hold", [.function(wait)])
        }
        try await isHeld.value()
        for _ in 0..<3 {
            let refused = await session.request("\(nginx.baseURL(.tls))/small.txt")
                .serializingString().response
            let text =
                "trust did not answer in time: it could not begin within 1.0 s, because it waits for other "
                + "calls of the plugin, now in call"
            #expect(refused.error?.description.contains(text) == true, "\(refused)")
            let plain = await session.request("\(nginx.baseURL(.plain))/small.txt")
                .serializingString().response
            #expect(plain.value == "small\n")
        }
        isOver.signal()
        #expect(try await held == true)
        let response = await session.request("\(nginx.baseURL(.tls))/small.txt")
            .serializingString().response
        #expect(response.value == "small\n", "\(String(describing: response.error))")
    }

    @Test func `a plugin is called even if certificates are not verified`() async throws {
        let nginx = try await Nginx.shared()
        let url = "\(nginx.baseURL(.expired))/small.txt"
        let (session, host) = try await session(refusing: "") { $0.verifiesCertificates = false }
        let response = await session.request(url).serializingString().response
        #expect(response.value == "small\n", "\(String(describing: response.error))")
        #expect(try host.call("faulty.judging.asked") == 1)
        let (other, _) = try await self.session(refusing: "localhost") {
            $0.verifiesCertificates = false
        }
        let refused = await other.request(url).serializingString().response
        #expect(
            refused.error?.description.contains("not-pinned") == true,
            "\(String(describing: refused.error))")
    }
}
