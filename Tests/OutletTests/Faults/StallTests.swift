import FoundationEssentials
import Outlet
import OutletTestSupport
import Testing

/// Servers, networks and name services that stall or are slow.
@Suite(.timeLimit(.minutes(patience))) struct StallTests {
    private let names: SlowNameService

    init() throws { names = try SlowNameService() }

    private func expectTimeout(
        _ outcome: RequestKind.Outcome, _ stage: TransferError.Stage, _ what: Comment
    ) {
        #expect(outcome.transfer?.code == .timedOut, what)
        #expect(outcome.transfer?.stage == stage, what)
        #expect(outcome.transfer?.reason.hasPrefix("timed out while ") == true, what)
    }

    /// Expects a timeout at this stage; uses longer timeouts if the machine is too slow.
    private func expectTimeout(
        at stage: TransferError.Stage, _ what: Comment,
        of outcome: (_ patience: TimeInterval) async throws -> RequestKind.Outcome
    ) async throws {
        var last = try await outcome(0.1)
        for patience in [1.0, 5.0] where last.transfer?.stage != stage {
            last = try await outcome(patience)
        }
        expectTimeout(last, stage, what)
    }

    /// A server that sends the beginning of a response and then stalls.
    private func stalled(_ beginning: String) throws -> ScriptedServer {
        try ScriptedServer.start(.request, .send(beginning), .stall)
    }

    @Test(arguments: RequestKind.allCases)
    func `a server that stalls at any point of its response times out`(
        kind: RequestKind
    ) async throws {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for (beginning, stage) in [
            ("", TransferError.Stage.waiting), ("HTTP/1.1 200 OK\r\nX-A", .receiving),
            ("HTTP/1.1 100 Continue\r\n\r\n", .waiting),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", .receiving),
            (chunked + "3\r\nab", .receiving),
            (chunked + "3\r\nabc\r\n0\r\nX-A: b\r\n", .receiving),
            ("HTTP/1.1 200 OK\r\n\r\nabc", .receiving),
        ] {
            let server = try stalled(beginning)
            try await expectTimeout(at: stage, "\(beginning)") { patience in
                try await kind.outcome(
                    server.baseURL, by: .isolated { $0.timeoutIntervalForRequest = patience })
            }
        }
    }

    @Test(arguments: RequestKind.allCases)
    func `a server that does not read times out while the body is sent`(
        kind: RequestKind
    ) async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(.requestHead, .wait(gate))
        try await expectTimeout(at: .sending, "") { patience in
            try await kind.outcome(
                server.baseURL, by: .isolated { $0.timeoutIntervalForRequest = patience },
                body: Data(count: 16 << 20))
        }
    }

    /// libcurl does not report that it sends a body, so that the loop has to look for progress.
    @Test(arguments: RequestKind.allCases)
    func `an upload that stalls ends soon after its time limit`(kind: RequestKind) async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(.requestHead, .wait(gate))
        let session = Session.isolated {
            $0.timeoutIntervalForRequest = 3
            // Less than twice as long.
            $0.timeoutIntervalForResource = 5.5
        }
        let outcome = try await kind.outcome(
            server.baseURL, by: session, body: Data(count: 16 << 20))
        #expect(
            outcome.transfer?.reason
                == "timed out while sending the request: no progress for 3.0 s")
    }

    @Test(arguments: RequestKind.allCases)
    func `a host that does not accept and one that stalls the TLS handshake time out`(
        kind: RequestKind
    ) async throws {
        let port = try FullPort()
        try await expectTimeout(at: .connecting, "") { patience in
            try await kind.outcome(
                "http://127.0.0.1:\(port.port)/", by: .isolated { $0.connectTimeout = patience })
        }
        let server = try ScriptedServer.start(.anything, .stall)
        try await expectTimeout(at: .securing, "") { patience in
            try await kind.outcome(
                "https://127.0.0.1:\(server.port)/", by: .isolated { $0.connectTimeout = patience })
        }
    }

    /// Slow bytes are progress, so only the resource timeout ends the request.
    @Test(arguments: RequestKind.allCases)
    func `the resource timeout ends a request to a slow server`(
        kind: RequestKind
    ) async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
        let body = [UInt8](repeating: 0x61, count: 100_000)
        let server = try ScriptedServer.start(
            .request, .send(answer), .trickle(body, size: 1, interval: .milliseconds(10)))
        try await expectTimeout(at: .receiving, "") { patience in
            let session = Session.isolated {
                $0.timeoutIntervalForRequest = 20
                $0.timeoutIntervalForResource = 3 * patience
            }
            return try await kind.outcome(server.baseURL, by: session)
        }
    }

    @Test(arguments: RequestKind.allCases)
    func `a slow response that ends in time is complete`(kind: RequestKind) async throws {
        let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789".utf8)
        let server = try ScriptedServer.start(
            .request, .trickle(answer, size: 1, interval: .milliseconds(1)))
        let outcome = try await kind.outcome(server.baseURL, by: .isolated())
        #expect(outcome.error == nil && outcome.text == "0123456789")
    }

    // MARK: The name service

    @Test(arguments: RequestKind.allCases)
    func `a slow name lookup does not delay a timeout, a cancel or other requests`(
        kind: RequestKind
    ) async throws {
        defer { names.answer() }
        let quick = try ScriptedServer.start(.request, .respond(body: "quick"), .again)
        let session = Session.isolated()
        let ended = ExactlyOnce<RequestKind.Outcome>()
        let url = "http://\(names.hostName)/"
        let slow = kind.request(url, by: session)
        RequestKind.handle(slow, ended.completion())
        let limited = kind.request(url, by: session) { $0.timeoutInterval = 0.1 }
        RequestKind.handle(limited, ended.completion())
        try await names.lookups.values(2)
        // Other requests of the session succeed before, during and after.
        for _ in 0..<20 {
            #expect(try await kind.outcome(quick.baseURL, by: session).text == "quick")
        }
        slow.cancel()
        let outcomes = try await ended.values()
        #expect(names.answers.count == 0)
        #expect(outcomes[0].error?.isExplicitlyCancelledError == true)
        expectTimeout(outcomes[1], .resolving, "")
        #expect(try await kind.outcome(quick.baseURL, by: session).text == "quick")
        #expect(ended.fault == nil)
    }

    /// Ends during a name lookup: connect timeout, resource timeout, the cancel of a task, and
    /// the end of the session.
    @Test(arguments: RequestKind.allCases)
    func `timeouts, cancels and the session's end do not wait for the name lookup`(
        kind: RequestKind
    ) async throws {
        defer { names.answer() }
        let url = "http://\(names.hostName)/"
        for change in [
            { $0.connectTimeout = 0.1 }, { $0.timeoutIntervalForResource = 0.1 },
        ] as [(inout SessionConfiguration) -> Void] {
            let outcome = try await kind.outcome(url, by: .isolated(change))
            expectTimeout(outcome, .resolving, "")
        }
        let patient = Session.isolated()
        let cancelled = Task {
            await patient.request(url).serializingData(automaticallyCancelling: true).response
                .error
        }
        try await names.lookups.values(3)
        cancelled.cancel()
        #expect(await cancelled.value?.isExplicitlyCancelledError == true)
        let ended = ExactlyOnce<RequestKind.Outcome>()
        var session: Session? = .isolated()
        if let session { RequestKind.handle(kind.request(url, by: session), ended.completion()) }
        try await names.lookups.values(4)
        session = nil
        #expect(try await ended.values()[0].error?.isSessionDeinitializedError == true)
        #expect(names.answers.count == 0)
        #expect(ended.fault == nil)
    }

    @Test(arguments: RequestKind.allCases)
    func `a slow lookup of a missing name is an error that names the host`(
        kind: RequestKind
    ) async throws {
        let ended = ExactlyOnce<RequestKind.Outcome>()
        let session = Session.isolated()
        defer { withExtendedLifetime(session) {} }
        RequestKind.handle(
            kind.request("http://\(names.hostName)/", by: session), ended.completion())
        try await names.lookups.values(1)
        names.answer()
        let error = try await ended.values()[0].transfer
        #expect(error?.code == .cannotFindHost && error?.stage == .resolving)
        #expect(error?.host == names.hostName)
    }
}
