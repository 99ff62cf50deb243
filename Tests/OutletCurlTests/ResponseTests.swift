import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct `A response` {
    @Test func `a response has head, body and metrics`() async throws {
        let server = try LoopbackServer.start()
        let result = try await CurlTransport.test().get("\(server.baseURL)/bytes/1024")
        #expect(result.error == nil)
        #expect(result.response?.statusCode == 200)
        #expect(result.response?.httpVersion == "HTTP/1.1")
        #expect(result.response?.headers["content-length"] == "1024")
        #expect(result.body.map { Array($0) } == LoopbackServer.bytes(1024))
        #expect(result.metrics.total > 0)
        #expect(result.metrics.responseBodyBytes == 1024)
        #expect(result.metrics.remoteAddress == "127.0.0.1:\(server.port)")
        #expect(result.metrics.localAddress.hasPrefix("127.0.0.1:"))
        #expect(result.metrics.httpVersion == "HTTP/1.1")
        #expect(!result.metrics.isReusedConnection)
    }

    @Test func `the second request reuses the connection`() async throws {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        _ = try await transport.get("\(server.baseURL)/get")
        let second = try await transport.get("\(server.baseURL)/get")
        #expect(second.metrics.isReusedConnection)
    }

    @Test func `response fields keep order, case and repetitions`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond(headers: ["x-B: 1", "Set-Cookie: a=1", "X-a: 2", "Set-Cookie: b=2"]))
        let headers = try await CurlTransport.test().get(server.baseURL).response?.headers
        #expect(
            headers?.map(\.description)
                == [
                    "Content-Length: 0", "x-B: 1", "Set-Cookie: a=1", "X-a: 2", "Set-Cookie: b=2",
                    "Connection: close",
                ])
        #expect(headers?.values(for: "set-cookie") == ["a=1", "b=2"])
    }

    @Test func `interim responses are reported before the final one`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), .respond(body: "x"))
        let probe = Probe()
        let job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL)))
        let result = try await CurlTransport.test().carry(job, probe: probe)
        #expect(probe.heads.map(\.statusCode) == [103, 200])
        #expect(try probe.heads.at(0).headers["link"] == "</a>")
        #expect(result.response?.statusCode == 200)
        #expect(result.response?.headers["link"] == nil)
    }

    @Test func `trailers are separate from the fields of the head`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                    + "3\r\nabc\r\n0\r\nX-Sum: 42\r\n\r\n"))
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect(result.text == "abc")
        #expect(result.trailers?["x-sum"] == "42")
        #expect(result.response?.headers["x-sum"] == nil)
    }

    @Test func `a requested content coding is decoded`() async throws {
        let server = try LoopbackServer.start()
        let result = try await CurlTransport.test().get(
            "\(server.baseURL)/gzip", headers: ["Accept-Encoding": "br;q=1.0, gzip;q=0.9"])
        #expect(result.error == nil)
        #expect(result.response?.headers["content-encoding"] == "gzip")
        #expect(result.text.contains("\"gzipped\""))
    }

    @Test func `a content coding that was not requested is not decoded`() async throws {
        let server = try LoopbackServer.start()
        let result = try await CurlTransport.test().get("\(server.baseURL)/gzip")
        #expect(result.body?.prefix(2) == Data([0x1F, 0x8B]))
    }

    @Test func `the handler receives the chunks in order`() async throws {
        let server = try LoopbackServer.start()
        var job = TransferJob(
            request: HTTPRequest(url: URL(string: "\(server.baseURL)/bytes/100000")),
            delivery: .chunks)
        job.reportsProgress = true
        let probe = Probe()
        let result = try await CurlTransport.test().carry(job, probe: probe)
        #expect(result.error == nil)
        #expect(result.body == nil)
        #expect(probe.received(LoopbackServer.bytes(100_000)))
        #expect(probe.progress.last?.received == 100_000)
        #expect(probe.progress.last?.expectedToReceive == 100_000)
    }

    @Test func `the body replaces the content of the file`() async throws {
        let server = try LoopbackServer.start()
        let directory = try TemporaryDirectory()
        try directory.write("an older and longer content", to: "out")
        let job = TransferJob(
            request: HTTPRequest(url: URL(string: "\(server.baseURL)/bytes/20")),
            delivery: .file(path: directory.path("out"), offset: 0))
        let result = try await CurlTransport.test().carry(job)
        #expect(result.error == nil)
        #expect(try directory.read("out") == LoopbackServer.bytes(20))
    }

    @Test func `a 206 response continues the file, and any other response replaces it`()
        async throws
    {
        let server = try ScriptedServer.start { connection in
            [.request, .respond(connection == 0 ? "206 Partial Content" : "200 OK", body: "new")]
        }
        let directory = try TemporaryDirectory()
        try directory.write("0123 and more than comes", to: "out")
        let job = TransferJob(
            request: HTTPRequest(
                url: URL(string: server.baseURL), headers: ["Range": "bytes=4-"]),
            delivery: .file(path: directory.path("out"), offset: 4))
        _ = try await CurlTransport.test().carry(job)
        #expect(try directory.read("out") == Array("0123new".utf8))
        _ = try await CurlTransport.test().carry(job)
        #expect(try directory.read("out") == Array("new".utf8))
    }

    @Test func `an empty body creates an empty file`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        let directory = try TemporaryDirectory()
        let job = TransferJob(
            request: HTTPRequest(url: URL(string: server.baseURL)),
            delivery: .file(path: directory.path("out"), offset: 0))
        #expect(try await CurlTransport.test().carry(job).error == nil)
        #expect(try directory.read("out").isEmpty)
    }

    @Test func `the error of a file that cannot be created or written names the file`() async throws
    {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        let directory = try TemporaryDirectory()
        let pipe = directory.path("pipe without a reader")
        #expect(mkfifo(pipe, 0o600) == 0)
        for (path, code) in [
            ("/nonexistent/out", TransferError.Code.cannotCreateFile),
            ("/dev/full", .cannotWriteToFile), (pipe, .cannotCreateFile),
        ] {
            let job = TransferJob(
                request: HTTPRequest(url: URL(string: server.baseURL)),
                delivery: .file(path: path, offset: 0))
            let error = try await CurlTransport.test().carry(job).error
            #expect(error?.code == code)
            #expect(error?.reason.contains(path) == true)
        }
    }

    @Test func `the response to HEAD has no body`() async throws {
        let server = try LoopbackServer.start()
        let result = try await CurlTransport.test().perform(
            HTTPRequest(url: URL(string: "\(server.baseURL)/bytes/10"), method: .head))
        #expect(result.error == nil)
        #expect(result.response?.statusCode == 200)
        #expect(result.body == nil)
    }
}
