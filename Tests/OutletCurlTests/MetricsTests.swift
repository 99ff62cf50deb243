import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletTestSupport
import OutletTransport
import Testing

@Suite(.timeLimit(.minutes(patience))) struct MetricsTests {
    /// The kinds of bodies that libcurl sends in different ways.
    enum Kind: CaseIterable {
        case none, small, large, stream, chunks

        var body: HTTPBody {
            switch self {
            case .none: .none
            case .small: .data(Data("hello".utf8))
            case .large: .data(Data(count: 200_000))
            case .stream: .stream(Pieces(["hel", "lo"], length: 5))
            case .chunks: .stream(Pieces(["hel", "lo"], length: nil))
            }
        }
    }

    /// Sends a request, and opens the gate some time after the server has received it.
    ///
    /// - Returns: The metrics, and the longest time that the response can have taken.
    private func perform(
        _ request: HTTPRequest, by transport: CurlTransport, _ server: ScriptedServer, _ gate: Gate
    ) async throws -> (metrics: TransferMetrics, longest: Duration) {
        let probe = Probe()
        _ = transport.start(TransferJob(request: request), handler: probe)
        try await server.requests.values(1)
        try await Task.sleep(for: .milliseconds(30))
        let begin = ContinuousClock.now
        gate.open()
        let result = try await probe.end.value()
        #expect(result.error == nil, "\(result.error?.reason ?? "")")
        return (result.metrics, ContinuousClock.now - begin)
    }

    private func check(_ metrics: TransferMetrics, _ longest: Duration) {
        #expect(.microseconds(metrics.total - metrics.firstByte) <= longest, "\(metrics)")
        #expect(metrics.preTransfer > 0 && metrics.preTransfer <= metrics.firstByte)
        #expect(metrics.firstByte <= metrics.total)
    }

    @Test(arguments: Kind.allCases)
    func `the first byte is that of the response, whatever the body of the request`(kind: Kind)
        async throws
    {
        let gate = try Gate()
        let server = try ScriptedServer.start(.request, .wait(gate), .respond(body: "ok"))
        let request = HTTPRequest(
            url: URL(string: server.baseURL), method: .post, body: kind.body)
        let (metrics, longest) = try await perform(request, by: .test(), server, gate)
        check(metrics, longest)
        server.stop()
    }

    @Test(arguments: Kind.allCases)
    func `the first byte is that of the response over HTTP/2`(kind: Kind) async throws {
        let gate = try Gate()
        // SETTINGS, with a window of 1 MiB for each stream, and a WINDOW_UPDATE of the connection by
        // as much; then HEADERS with the status 200, which end the stream.
        let server = try ScriptedServer.start(
            .anything,
            .send(
                [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 16, 0, 0]
                    + [0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 16, 0, 0]),
            .wait(gate), .send([0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88]), .stall)
        let transport = CurlTransport.test { $0.httpVersion = .http2PriorKnowledge }
        let request = HTTPRequest(
            url: URL(string: server.baseURL), method: .post, body: kind.body)
        let (metrics, longest) = try await perform(request, by: transport, server, gate)
        check(metrics, longest)
        server.stop()
    }

    @Test func `an interim response before the body is not the first byte`() async throws {
        let gate = try Gate()
        let server = try ScriptedServer.start(
            .requestHead, .send("HTTP/1.1 100 Continue\r\n\r\n"), .wait(gate),
            .respond(body: "ok"))
        let request = HTTPRequest(
            url: URL(string: server.baseURL), method: .post, headers: ["Expect": "100-continue"],
            body: Kind.small.body)
        let (metrics, longest) = try await perform(request, by: .test(), server, gate)
        check(metrics, longest)
        server.stop()
    }
}
