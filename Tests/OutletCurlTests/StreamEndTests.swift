import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletTestSupport
import OutletTransport
import Testing

/// Streams of HTTP/2 that the server ends before the response is complete, or before the whole
/// request was sent.
@Suite(.timeLimit(.minutes(patience))) struct StreamEndTests {
    /// The error codes of RFC 9113 §7.
    enum Reset {
        static let none = 0
        static let internalError = 2
        static let refused = 7
        static let wantsHTTP1 = 13
    }

    private func transport(_ server: FramePeer) -> CurlTransport {
        CurlTransport.test { $0.certificateAuthorities = .file(path: server.authority) }
    }

    private func request(
        _ server: FramePeer, _ method: HTTPMethod = .post,
        _ body: HTTPBody = .data(Data("hello".utf8))
    ) -> HTTPRequest {
        HTTPRequest(
            url: URL(string: "\(server.baseURL)/"), method: method,
            body: method == .get ? .none : body)
    }

    /// Sends a GET, which makes the connection, and then a request on that connection.
    private func second(
        _ server: FramePeer, by transport: CurlTransport, _ method: HTTPMethod = .post,
        _ body: HTTPBody = .data(Data("hello".utf8))
    ) async throws -> TransferResult {
        #expect(try await transport.perform(request(server, .get)).text == "1 on 0")
        return try await transport.perform(request(server, method, body))
    }

    @Test(arguments: [
        [FramePeer.Frame.reset(Reset.refused)], [.goAwayFrom(request: 1)],
        [.goAwayFrom(request: 1), .reset(Reset.refused)],
    ])
    func `a POST on a kept connection is sent again if the server says that it was not processed`(
        frames: [FramePeer.Frame]
    ) async throws {
        let server = try await FramePeer.start(.init(request: 1, frames))
        let result = try await second(server, by: transport(server))
        #expect(result.text == "3 on 1", "\(result.error?.reason ?? "")")
        await server.stop()
    }

    @Test func `the error of a request that each connection excludes says that it was refused`()
        async throws
    {
        let replies = (0..<40).map {
            FramePeer.Reply(connection: $0, request: 0, [.goAwayFrom(request: 0)])
        }
        let server = try await FramePeer.start(replies)
        let error = try await transport(server).perform(request(server)).error
        #expect(error?.code == .networkConnectionLost)
        #expect(
            error?.reason.hasSuffix("sent 6 times (REFUSED_STREAM or GOAWAY)") == true,
            "\(error?.reason ?? "")")
        await server.stop()
    }

    @Test func `a stream of a POST starts again when the server has refused it`() async throws {
        let server = try await FramePeer.start(.init(request: 1, [.reset(Reset.refused)]))
        let transport = transport(server)
        // Streams have connections of their own.
        for text in ["1 on 0", "3 on 1"] {
            let body = HTTPBody.stream(Pieces(["hel", "lo"], length: nil))
            let result = try await transport.perform(request(server, .post, body))
            #expect(result.text == text, "\(result.error?.reason ?? "")")
        }
        await server.stop()
    }

    @Test(arguments: [
        [FramePeer.Frame.close], [.reset(Reset.internalError), .close], [.forbidden],
    ])
    func `a POST on a kept connection is not sent again if it may have been processed`(
        frames: [FramePeer.Frame]
    ) async throws {
        let server = try await FramePeer.start(.init(request: 1, frames))
        let transport = transport(server)
        let result = try await second(server, by: transport)
        #expect(result.error?.code == .networkConnectionLost)
        #expect(
            result.error?.reason.contains("kept connection") == false,
            "\(result.error?.reason ?? "")")
        // The former connection may still be open.
        let next = try await self.transport(server).perform(request(server, .get))
        #expect(next.text == "3 on 1")
        await server.stop()
    }

    @Test(arguments: [Reset.wantsHTTP1, Reset.refused], [false, true])
    func `a POST whose response has begun is not sent again`(code: Int, isKept: Bool) async throws {
        let server = try await FramePeer.start(
            .init(request: isKept ? 1 : 0, [.head(200), .reset(code)]))
        let transport = transport(server)
        let result =
            isKept
            ? try await second(server, by: transport)
            : try await transport.perform(request(server))
        #expect(
            result.error?.reason.contains("with its response (status 200)") == true,
            "\(result.error?.reason ?? "")")
        let next = try await self.transport(server).perform(request(server, .get))
        #expect(next.text.utf8.starts(with: (isKept ? "3 on " : "2 on ").utf8), "\(next.text)")
        await server.stop()
    }

    @Test func `a POST that the server wants over HTTP/1.1 is sent so`() async throws {
        let server = try await FramePeer.start(.init(request: 1, [.reset(Reset.wantsHTTP1)]))
        let result = try await second(server, by: transport(server))
        #expect(result.response?.httpVersion == "HTTP/1.1" && result.text == "3 on 1")
        await server.stop()
    }

    @Test(arguments: [5, 200_000], [false, true])
    func `a file or stream that the server wants over HTTP/1.1 is sent from its start`(
        length: Int, isFile: Bool
    ) async throws {
        let server = try await FramePeer.start(
            // The larger one does not fit into the window of the stream.
            .init(request: 0, isEarly: length > 5, [.reset(Reset.wantsHTTP1)]))
        let directory = try TemporaryDirectory()
        let text = String(repeating: "x", count: length)
        let stream = Pieces([text], length: Int64(length))
        let body: HTTPBody =
            isFile ? .file(path: try directory.write(text, to: "body")) : .stream(stream)
        let request = HTTPRequest(
            url: URL(string: "\(server.baseURL)/body"), method: .post, body: body)
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: server.authority)
            $0.timeoutIntervalForRequest = 10
        }
        let result = try await transport.perform(request)
        #expect(result.response?.httpVersion == "HTTP/1.1", "\(result.error?.reason ?? "")")
        let isWhole = result.text == text
        #expect(isWhole)
        #expect(stream.rewinds == (isFile ? 0 : 1))
        await server.stop()
    }

    @Test(arguments: [HTTPMethod.get, .put])
    func `the metrics of a request that was sent again are those of the last time`(
        method: HTTPMethod
    ) async throws {
        let server = try await FramePeer.start(
            .init(request: 0, [.goAwayFrom(request: 0)]),
            .init(connection: 1, request: 0, [.reset(Reset.refused)]))
        let transport = transport(server)
        let again = try await transport.perform(request(server, method))
        let once = try await transport.perform(request(server, method))
        #expect(again.text == "3 on 2" && once.text == "4 on 2", "\(again.text) \(once.text)")
        for metrics in [again.metrics, once.metrics] {
            let times = [
                metrics.nameLookup, metrics.connect, metrics.secureConnect, metrics.preTransfer,
                metrics.firstByte, metrics.total,
            ]
            #expect(times == times.sorted(), "\(times)")
        }
        #expect(again.metrics.requestHeaderBytes == once.metrics.requestHeaderBytes)
        #expect(again.metrics.requestBodyBytes == once.metrics.requestBodyBytes)
        await server.stop()
    }

    @Test func `requests that GOAWAY excludes are sent again as long as others are answered`()
        async throws
    {
        // Each connection answers one request.
        let replies = (0..<40).map {
            FramePeer.Reply(
                connection: $0, request: 0,
                [.head(200, length: 2), .data("ok", ends: true), .goAwayFrom(request: 1)])
        }
        let server = try await FramePeer.start(replies)
        let transport = transport(server)
        let probes = (0..<20).map { _ in Probe() }
        for probe in probes {
            _ = transport.start(TransferJob(request: request(server, .get)), handler: probe)
        }
        for probe in probes {
            let result = try await probe.end.value()
            #expect(result.text == "ok", "\(result.error?.reason ?? "")")
        }
        await server.stop()
    }

    /// A body that is larger than the window of a stream, so that it is never sent completely.
    private static let large = HTTPBody.data(Data(count: 200_000))

    @Test(arguments: [400, 413, 500])
    func `a complete response ends an upload that the server does not want any more`(status: Int)
        async throws
    {
        let server = try await FramePeer.start(
            .init(
                request: 0, isEarly: true, [.head(status, length: 5), .data("large", ends: true)],
                [.reset(Reset.none)]),
            .init(request: 1, isEarly: true, [.head(204, ends: true)], [.reset(Reset.none)]))
        let transport = transport(server)
        let result = try await transport.perform(request(server, .post, Self.large))
        #expect(result.error == nil, "\(result.error?.reason ?? "")")
        #expect(result.response?.statusCode == status && result.text == "large")
        let empty = try await transport.perform(request(server, .post, Self.large))
        #expect(empty.error == nil, "\(empty.error?.reason ?? "")")
        await server.stop()
    }

    @Test(
        arguments: [
            [[.head(413), .data("large", ends: true)], [.reset(Reset.none)]],
            [[.head(413)], [.data("lar")], [.data("ge", ends: true)], [.reset(Reset.none)]],
            [[.head(413)], [.data("large")], [.data("", ends: true), .reset(Reset.none)]],
        ] as [[[FramePeer.Frame]]])
    func `a complete response without a length ends an upload, too`(
        groups: [[FramePeer.Frame]]
    ) async throws {
        let server = try await FramePeer.start(.init(request: 0, isEarly: true, groups))
        let result = try await transport(server).perform(request(server, .post, Self.large))
        #expect(result.error == nil, "\(result.error?.reason ?? "")")
        #expect(result.response?.statusCode == 413 && result.text == "large")
        await server.stop()
    }

    @Test(arguments: [5, nil] as [Int?])
    func `an upload that the server neither reads nor resets ends with the response or the timeout`(
        length: Int?
    ) async throws {
        let frames: [FramePeer.Frame] = [.head(413, length: length), .data("large", ends: true)]
        let server = try await FramePeer.start(.init(request: 0, isEarly: true, frames))
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: server.authority)
            if length == nil { $0.timeoutIntervalForRequest = 1 }
        }
        let result = try await transport.perform(request(server, .post, Self.large))
        // Without a length, libcurl tells that the last frame ends the response only if it has not sent
        // any of the body.
        let isTimeout = length == nil && result.error?.code == .timedOut
        #expect(result.error == nil || isTimeout, "\(result.error?.reason ?? "")")
        #expect(result.text == "large")
        await server.stop()
    }

    @Test func `a complete response counts at the time limit, though the body was not taken`()
        async throws
    {
        let server = try await FramePeer.start(
            .init(
                request: 0, isEarly: true,
                [.head(200, length: 5), .data("early", ends: true)]))
        let transport = CurlTransport.test {
            $0.certificateAuthorities = .file(path: server.authority)
            $0.timeoutIntervalForRequest = 3
        }
        let result = try await transport.perform(request(server, .post, Self.large))
        #expect(result.error == nil, "\(result.error?.reason ?? "")")
        #expect(result.text == "early")
        await server.stop()
    }

    @Test(arguments: [10, nil] as [Int?])
    func
        `a response that may be incomplete fails when the server does not want the upload any more`(
            length: Int?
        ) async throws
    {
        let server = try await FramePeer.start(
            .init(
                request: 0, isEarly: true, [.head(200, length: length), .data("large")],
                [.reset(Reset.none)]))
        let result = try await transport(server).perform(request(server, .post, Self.large))
        #expect(result.error?.code == .networkConnectionLost)
        await server.stop()
    }

    @Test(arguments: [FramePeer.Frame.forbidden, .strayData])
    func `a response without a length fails if the server breaks the protocol before its end`(
        fault: FramePeer.Frame
    ) async throws {
        let server = try await FramePeer.start(
            .init(request: 0, [.head(200), .data("large")], [fault]))
        let result = try await transport(server).perform(request(server, .get))
        #expect(result.error?.code == .networkConnectionLost, "\(result.text)")
        await server.stop()
    }

    @Test(arguments: [
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256",
        "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384",
        "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305",
    ])
    func `with TLS 1.2 a broken protocol is noticed, and the usual end is none`(
        ciphers: String
    ) async throws {
        let begin: [FramePeer.Frame] = [.head(200), .data("large")]
        let server = try await FramePeer.start(
            [
                .init(
                    request: 0,
                    begin + [.ping, .ping, .data("", ends: true), .goAwayFrom(request: 1)]),
                .init(connection: 1, request: 0, begin, [.strayData]),
            ], ciphers: ciphers)
        let transport = transport(server)
        let whole = try await transport.perform(request(server, .get))
        #expect(whole.error == nil, "\(whole.error?.reason ?? "")")
        let broken = try await transport.perform(request(server, .get))
        #expect(broken.error?.code == .networkConnectionLost, "\(broken.text)")
        await server.stop()
    }

    @Test func `a response is complete though other streams were cancelled before its end`()
        async throws
    {
        let end: [FramePeer.Frame] = [.endOf(request: 0), .goAwayFrom(request: 4)]
        let server = try await FramePeer.start(
            .init(request: 0, [.head(200), .data("large")]), .init(request: 1, [.head(200)]),
            .init(request: 2, [.head(200)]),
            .init(request: 3, [.head(200)], [.connections(moreThan: 1)], end))
        let transport = transport(server)
        func start() async throws -> (any TransferTask, Probe) {
            let head = Once<Void>()
            let probe = Probe(onHead: { _ in
                head.set(())
                return .proceed
            })
            let task = transport.start(
                TransferJob(request: request(server, .get)), handler: probe)
            _ = try await head.value()
            return (task, probe)
        }
        let (_, first) = try await start()
        var others: [(any TransferTask, Probe)] = []
        for _ in 1...3 { others.append(try await start()) }
        for (task, probe) in others {
            task.cancel()
            #expect(try await probe.end.value().error?.code == .cancelled)
        }
        // The server continues when there is a second connection.
        _ = try await self.transport(server).perform(request(server, .get))
        let result = try await first.end.value()
        #expect(result.error == nil, "\(result.error?.reason ?? "")")
        #expect(result.text == "large")
        await server.stop()
    }

    @Test func `a complete response stays complete while its body observer decides`() async throws {
        let server = try await FramePeer.start(
            .init(request: 0, [.head(200), .data("large", ends: true)]), .init(request: 1, [.close])
        )
        let transport = transport(server)
        let observer = EndObserver()
        var job = TransferJob(request: request(server, .get))
        job.bodyObserver = observer
        let first = Probe()
        _ = transport.start(job, handler: first)
        let decide = try await observer.asked.value()
        // The server closes the connection after this request, which is sent in a long record.
        _ = try await transport.get("\(server.baseURL)/\(String(repeating: "long", count: 20))")
        decide(nil)
        let result = try await first.end.value()
        #expect(result.error == nil, "\(result.error?.reason ?? "")")
        await server.stop()
    }

    /// Lets the test decide about the end of a body.
    private final class EndObserver: BodyObserver {
        let asked = Once<@Sendable (TransferError?) -> Void>()

        func transfer(
            _ task: any TransferTask, isAboutToDeliver bytes: UnsafeRawBufferPointer,
            of head: HTTPResponse, goOn: @escaping @Sendable (TransferError?) -> Void
        ) -> BodyDecision {
            guard bytes.isEmpty else { return .proceed }
            asked.set(goOn)
            return .wait
        }
    }

    @Test(arguments: [[], [.ping], [.ping, .ping], [.ping, .ping, .ping]] as [[FramePeer.Frame]])
    func `a response without a length that ends with GOAWAY is complete`(
        before: [FramePeer.Frame]
    ) async throws {
        let end: [FramePeer.Frame] = [.data("large", ends: true), .goAwayFrom(request: 2)]
        let server = try await FramePeer.start(.init(request: 1, [.head(200)], before + end))
        let result = try await second(server, by: transport(server), .get)
        #expect(result.error == nil, "\(result.error?.reason ?? "")")
        #expect(result.text == "large")
        await server.stop()
    }

    @Test(arguments: [HTTPMethod.get, .post])
    func `a request whose response libcurl loses while it is suspended is sent again or fails`(
        method: HTTPMethod
    ) async throws {
        let frames: [FramePeer.Frame] = [
            .head(103), .head(103), .head(200), .data("late", ends: true),
        ]
        let server = try await FramePeer.start(.init(request: 0, frames))
        let probe = Probe(onHead: { $0.statusCode == 103 ? .pause : .proceed })
        let task = transport(server).start(
            TransferJob(request: request(server, method)), handler: probe)
        while probe.heads.isEmpty, !Task.isCancelled { await Task.yield() }
        task.resume()
        let result = try await probe.end.value()
        if method == .get {
            #expect(result.text == "2 on 0", "\(result.error?.reason ?? "")")
        } else {
            #expect(
                result.error?.reason.contains("while the request was suspended") == true,
                "\(result.error?.reason ?? "")")
        }
        await server.stop()
    }

    @Test func `the error of a response that libcurl discards has its status`() async throws {
        let frames: [FramePeer.Frame] = [
            .head(200, length: 10), .data("large"), .reset(Reset.none),
        ]
        let server = try await FramePeer.start(.init(request: 0, frames))
        let result = try await transport(server).perform(request(server, .get))
        #expect(result.error?.code == .networkConnectionLost)
        #expect(
            result.error?.reason.contains("with its response (status 200)") == true,
            "\(result.error?.reason ?? "")")
        await server.stop()
    }
}
