import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

/// The order in which waiting requests get a connection, with a session and a server.
@Suite struct PriorityTests {
    let gate: Gate
    let order = Recorder<String>()

    init() throws { gate = try Gate() }

    private func server() throws -> ScriptedServer {
        let gate = gate
        return try ScriptedServer.start(.request, .wait(gate), .respond(body: "x"), .again)
    }

    private func session(
        _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) -> Session {
        let configuration = TransportConfiguration.test { configuration in
            configuration.httpMaximumConnectionsPerHost = 1
            change(&configuration)
        }
        return Session(transport: CurlTransport(configuration: configuration))
    }

    private func send(
        _ session: Session, _ url: String, _ name: String, _ priority: TransferPriority? = nil
    ) {
        let request = session.request("\(url)/\(name)")
        if let priority { request.priority(priority) }
        request.response { [order] _ in order.record(name) }
    }

    @Test func `a high-priority request overtakes waiting requests`() async throws {
        let server = try server()
        let session = session()
        send(session, server.baseURL, "first")
        try await server.requests.values(1)
        send(session, server.baseURL, "low", .low)
        send(session, server.baseURL, "normal")
        var request = HTTPRequest(url: URL(string: "\(server.baseURL)/high"))
        request.priority = .high
        session.request(request).response { [order] _ in order.record("high") }
        gate.open()
        #expect(try await order.values(4) == ["first", "high", "normal", "low"])
        #expect(
            server.requests.values.map { $0.head.split(separator: " ")[1] } == [
                "/first", "/high", "/normal", "/low",
            ])
    }

    @Test func `a low-priority request starts after 16 high-priority requests`() async throws {
        let server = try server()
        let session = session()
        send(session, server.baseURL, "first")
        try await server.requests.values(1)
        send(session, server.baseURL, "low", .low)
        for number in 0..<40 { send(session, server.baseURL, "high\(number)", .high) }
        gate.open()
        let names = try await order.values(42)
        #expect(names.firstIndex(of: "low") == 17)
        #expect(names.filter { $0 != "low" } == ["first"] + (0..<40).map { "high\($0)" })
    }

    @Test func `the waiting requests of two hosts start in turn`() async throws {
        let a = try server()
        let b = try server()
        let session = session { $0.maximumConnections = 1 }
        send(session, a.baseURL, "a0")
        try await a.requests.values(1)
        for number in 1...3 { send(session, a.baseURL, "a\(number)", .high) }
        for number in 1...3 { send(session, b.baseURL, "b\(number)") }
        gate.open()
        #expect(
            try await order.values(7) == ["a0", "b1", "a1", "b2", "a2", "b3", "a3"])
    }
}
