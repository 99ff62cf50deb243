import FoundationEssentials
import OutletTestServer
import OutletTestSupport
import OutletTransport
import Testing

@testable import OutletCurl
@testable import OutletHTTP

@Suite struct `The results that a loop keeps` {
    @Test func `a loop that drives on the caller's thread keeps no result afterwards`() async throws
    {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let isReleased = try await offPool {
            let job = TransferJob(request: HTTPRequest(url: URL(string: "\(server.baseURL)/get")))
            weak let storage = transport.perform(job).response?.parts.storage
            return storage == nil
        }
        #expect(isReleased)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a loop that waits for new transfers keeps no result`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let job = TransferJob(request: HTTPRequest(url: URL(string: "\(server.baseURL)/get")))
        weak let storage = try #require(await transport.carry(job).response).parts.storage
        while storage != nil { await Task.yield() }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a loop that has ended keeps no result`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(.request, .wait(gate), .respond(body: "late"))
        let other = try ScriptedServer.start(.request, .respond(), .again)
        let transport = CurlTransport.test()
        let job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL)))
        let isReleased = Task {
            weak let storage = try await transport.carry(job).response?.parts.storage
            while storage != nil { await Task.yield() }
        }
        try await server.requests.values(1)
        let loops = transport.livingLoops
        async let report = transport.shutDown(deadline: .seconds(60))
        while try await transport.get(other.baseURL).error == nil {}
        gate.open()
        #expect(await report.finished >= 1)
        try await isReleased.value
        withExtendedLifetime(loops) {}
    }
}
