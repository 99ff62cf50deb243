import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

@Suite(.timeLimit(.minutes(patience))) struct `The shutdown of a session with a deadline` {
    /// Waits until a session refuses requests, and returns the error of the refused one.
    private func refusal(of session: Session, _ url: String) async -> SessionError {
        while true {
            if let error = await session.request(url).serializingData().response.error {
                return error
            }
        }
    }

    @Test func `running requests finish with redirects and retries, and new ones are refused`()
        async throws
    {
        let gate = try Gate()
        let server = try ScriptedServer.start(
            .request, .wait(gate), .respond("302 Found", headers: ["Location: /busy"]),
            .request, .respond("503 Service Unavailable", headers: ["Retry-After: 0"]),
            .request, .respond("302 Found", headers: ["Location: /end"]),
            .request, .respond(body: "the end"), .stall)
        let other = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        let session = Session.isolated(interceptor: RetryPolicy(retryLimit: 2))
        let completed = Once<DataResponse<Data, SessionError>>()
        session.request(server.baseURL).validate().responseData { completed.set($0) }
        try await server.requests.values(1)
        async let report = session.shutDown(deadline: .seconds(60))
        let refusal = await refusal(of: session, other.baseURL)
        #expect(refusal.isSessionInvalidatedError)
        #expect(
            "\(refusal)"
                == "Session was invalidated: the session is shut down: it takes no more requests")
        gate.open()
        // The last request to the other server may have been running.
        let ended = await report
        #expect(ended.finished >= 1 && ended.cut == 0)
        // The completion handler has already run.
        #expect(completed.callCount == 1)
        let response = try await completed.value()
        #expect(response.value.map { String(decoding: $0, as: UTF8.self) } == "the end")
        try await server.endings.values(1)
        #expect(await session.shutDown(deadline: .seconds(60)) == ShutdownReport())
        withExtendedLifetime(session) {}
    }

    @Test func `requests that have not ended at the deadline fail with an error that names it`()
        async throws
    {
        let server = try ScriptedServer.start(.request, .stall)
        let session = Session.isolated()
        let completed = Recorder<SessionError?>()
        for _ in 0..<2 {
            session.request(server.baseURL).responseData { completed.record($0.error) }
        }
        try await server.requests.values(2)
        #expect(
            await session.shutDown(deadline: .milliseconds(50))
                == ShutdownReport(finished: 0, cut: 2))
        for error in try await completed.values(2) {
            #expect(
                error.map { "\($0)" }
                    == "Session was invalidated: the session was shut down, and the request had not "
                    + "ended within 0.05 seconds")
        }
        withExtendedLifetime(session) {}
    }

    @Test func `invalidate ends a shutdown at once`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        let other = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        let session = Session.isolated()
        let completed = Once<SessionError?>()
        session.request(server.baseURL).responseData { completed.set($0.error) }
        try await server.requests.values(1)
        async let report = session.shutDown(deadline: .seconds(3600))
        _ = await refusal(of: session, other.baseURL)
        session.invalidate()
        #expect(await report.cut == 1)
        #expect(try await completed.value() == .sessionInvalidated(error: nil))
        withExtendedLifetime(session) {}
    }

    @Test func `a session without requests shuts down at once`() async throws {
        let session = Session.isolated()
        #expect(await session.shutDown(deadline: .seconds(60)) == ShutdownReport())
        withExtendedLifetime(session) {}
    }

    @Test func `statistics and reloadCertificates are forwarded to the transport`()
        async throws
    {
        let server = try ScriptedServer.start(.request, .respond(), .stall)
        let session = Session.isolated()
        _ = try await session.request(server.baseURL).serializingData(emptyResponseCodes: [200])
            .value
        let origin = try Origin(#require(URL(string: server.baseURL)))
        var idle = TransportStatistics.Figures()
        idle.openConnections = 1
        idle.idleConnections = 1
        #expect(session.statistics().total == idle)
        #expect(session.statistics(perOrigin: true).origins == [origin: idle])
        session.reloadCertificates()
        try await server.endings.values(1)
        while session.statistics() != TransportStatistics(), !Task.isCancelled {
            await Task.yield()
        }
        withExtendedLifetime(session) {}
    }
}
