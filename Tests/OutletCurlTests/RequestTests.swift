import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct `A request on the wire` {
    /// Sends a request to a server and returns the request that the server received.
    private func seen(_ request: (String) -> HTTPRequest) async throws -> ScriptedServer.Request {
        let server = try ScriptedServer.start(.request, .respond())
        let result = try await CurlTransport.test().perform(request(server.baseURL))
        #expect(result.error == nil)
        return try await server.requests.values(1)[0]
    }

    @Test func `only the Host field is added to the request's fields`() async throws {
        let request = try await seen {
            HTTPRequest(
                url: URL(string: "\($0)/a/b?c=d#e"),
                headers: ["X-One": "1", "x-tWo": "2", "Accept-Encoding": "br;q=1.0, gzip;q=0.9"])
        }
        let lines = request.head.split(separator: "\r\n").map(String.init)
        #expect(try lines.at(0) == "GET /a/b?c=d HTTP/1.1")
        #expect(try lines.at(1).hasPrefix("Host: 127.0.0.1:"))
        #expect(
            Array(lines.dropFirst(2))
                == ["X-One: 1", "x-tWo: 2", "Accept-Encoding: br;q=1.0, gzip;q=0.9"])
    }

    @Test(arguments: [
        HTTPBody.none, .data(Data("body".utf8)),
        .data(Data(repeating: 0x61, count: 300_000)),
        .stream(TestStream("ab")),
    ])
    func `the recorder in the context has the head that was sent`(body: HTTPBody) async throws {
        let server = try ScriptedServer.start(.request, .respond(), .again)
        var request = HTTPRequest(
            url: URL(string: "\(server.baseURL)/p?q=1"), method: .post, headers: ["X-One": "1"],
            body: body)
        let recorder = SentHeadRecorder()
        request.context[SentHeadRecorder.Key.self] = recorder
        let transport = CurlTransport.test { $0.recordsSentHeads = true }
        #expect(try await transport.perform(request).error == nil)
        let received = try await server.requests.values(1)[0].head
        let sent = try #require(recorder.head(sentTo: request.url))
        let fields = sent.headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        #expect("\(sent.method) \(sent.target) \(sent.httpVersion)\r\n\(fields)\r\n" == received)
        #expect(recorder.head(sentTo: URL(string: server.baseURL)) == nil)
    }

    @Test func `no head is recorded without the setting`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        var request = HTTPRequest(url: URL(string: server.baseURL))
        let recorder = SentHeadRecorder()
        request.context[SentHeadRecorder.Key.self] = recorder
        #expect(try await CurlTransport.test().perform(request).error == nil)
        #expect(recorder.head(sentTo: request.url) == nil)
    }

    @Test func `a HEAD with a body is refused before anything is sent`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        let result = try await CurlTransport.test().perform(
            HTTPRequest(
                url: URL(string: server.baseURL), method: .head, body: .data(Data("x".utf8))))
        #expect(result.error?.code == .badRequest)
        #expect(server.requests.values.isEmpty)
    }

    @Test func `repeated and empty fields are sent as they are`() async throws {
        var headers = HTTPHeaders()
        headers.append(name: "X-Twice", value: "a")
        headers.append(name: "X-Empty", value: "")
        headers.append(name: "X-Twice", value: "b")
        let request = try await seen { HTTPRequest(url: URL(string: $0), headers: headers) }
        let lines = request.head.split(separator: "\r\n").dropFirst(2).map(String.init)
        #expect(lines == ["X-Twice: a", "X-Empty:", "X-Twice: b"])
    }

    @Test func `the request's own Authorization field takes precedence over the credential`()
        async throws
    {
        let server = try ScriptedServer.start(.request, .respond())
        var job = TransferJob(
            request: HTTPRequest(
                url: URL(string: server.baseURL), headers: ["Authorization": "Bearer t"]))
        var credential = Credential(user: "ada", password: "pw")
        credential.scheme = .digest
        job.credential = credential
        job.credentialUse = .atOnce
        job.challenge = AuthenticationChallenge(
            protectionSpace: ProtectionSpace(
                host: "127.0.0.1", port: Int(server.port), protocol: "http", realm: "x",
                authenticationMethod: "digest"),
            parameters: ["nonce": "n"])
        #expect(try await CurlTransport.test().carry(job).error == nil)
        let lines = try await server.requests.values(1)[0].head.split(separator: "\r\n")
        #expect(lines.filter { $0.hasPrefix("Authorization:") } == ["Authorization: Bearer t"])
    }

    @Test func `fields are sent in their order, including those that libcurl handles itself`()
        async throws
    {
        var headers = HTTPHeaders()
        for (name, value) in [
            ("X-First", "1"), ("Content-Type", "text/plain"), ("X-A", "2"), ("Accept", "*/*"),
            ("X-B", ""), ("X-C", "3"), ("Other", "4"), ("Accept-Language", "en"),
            ("User-Agent", ""), ("X-D", " "), ("Authorization", "Bearer t"), ("X-E", "5"),
            ("Host", "[::1]:80"), ("X-F", "6"), ("X-F", "7"), ("Accept-Encoding", "br"),
            ("Accept-Language", "de"), ("Content-Length", "0"), ("X-G", "8"),
        ] {
            headers.append(name: name, value: value)
        }
        let request = try await seen { HTTPRequest(url: URL(string: $0), headers: headers) }
        let lines = request.head.split(separator: "\r\n").dropFirst(1).map(String.init)
        #expect(
            lines == [
                "Host: [::1]:80", "X-First: 1", "Content-Type: text/plain", "X-A: 2", "Accept: */*",
                "X-B:", "X-C: 3",
                "Other: 4", "Accept-Language: en", "User-Agent:", "X-D:", "Authorization: Bearer t",
                "X-E: 5", "X-F: 6", "X-F: 7", "Accept-Encoding: br", "Accept-Language: de",
                "Content-Length: 0", "X-G: 8",
            ])
    }

    @Test func `fields are sent in their order over HTTP/2`() async throws {
        let server = try Node()
        var headers = HTTPHeaders()
        let fields = [
            ("x-first", "1"), ("accept", "*/*"), ("x-b", ""), ("x-c", "3"), ("authorization", "t"),
            ("x-d", ""), ("user-agent", "u"), ("cookie", "a=b"), ("x-e", "5"), ("x-e", "6"),
        ]
        for (name, value) in fields { headers.append(name: name, value: value) }
        let result = try await CurlTransport.test { $0.httpVersion = .http2PriorKnowledge }
            .get("\(server.baseURL)/fields", headers: headers)
        let sent = try JSONDecoder().decode([String].self, from: Data(result.text.utf8))
        #expect(sent.dropFirst(8) == ArraySlice(fields.flatMap { [$0.0, $0.1] }))
        await server.stop()
    }

    @Test func `a POST that the server has refused unprocessed is sent again`() async throws {
        let server = try Node()
        func send(_ path: String) async throws -> TransferResult {
            let transport = CurlTransport.test { $0.httpVersion = .http2PriorKnowledge }
            let request = HTTPRequest(
                url: URL(string: server.baseURL + path), method: .post,
                body: .data(Data("hello".utf8)))
            return try await transport.perform(request)
        }
        let sent = try await send("/refused/2")
        #expect(sent.error == nil && sent.text == "hello", "\(sent.error?.reason ?? "")")
        // That was the third one; libcurl tries five times.
        let refused = try await send("/refused/100")
        #expect(refused.error?.code == .networkConnectionLost)
        #expect(
            refused.error?.reason.contains("sent 6 times (REFUSED_STREAM or GOAWAY)") == true,
            "\(refused.error?.reason ?? "")")
        await server.stop()
    }

    @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "GET", "PURGE"])
    func `a body in memory is sent with its length and without a Content-Type`(method: String)
        async throws
    {
        let request = try await seen {
            HTTPRequest(
                url: URL(string: $0), method: HTTPMethod(rawValue: method),
                body: .data(Data("hello".utf8)))
        }
        #expect(request.head.hasPrefix("\(method) / HTTP/1.1\r\n"))
        #expect(request.head.contains("\r\nContent-Length: 5\r\n"))
        #expect(!request.head.lowercased().contains("content-type"))
        #expect(!request.head.lowercased().contains("expect"))
        #expect(request.body == Array("hello".utf8))
    }

    @Test func `a body of 1 MiB is sent completely`() async throws {
        let bytes = LoopbackServer.bytes(1 << 20)
        let request = try await seen {
            HTTPRequest(url: URL(string: $0), method: .post, body: .data(Data(bytes)))
        }
        #expect(request.body == bytes)
    }

    @Test(arguments: ["POST", "PUT", "PATCH"])
    func `POST, PUT and PATCH without a body send Content-Length 0`(method: String) async throws {
        let request = try await seen {
            HTTPRequest(url: URL(string: $0), method: HTTPMethod(rawValue: method))
        }
        #expect(request.head.contains("\r\nContent-Length: 0\r\n"))
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS"])
    func `other methods without a body send no Content-Length`(method: String) async throws {
        let request = try await seen {
            HTTPRequest(url: URL(string: $0), method: HTTPMethod(rawValue: method))
        }
        #expect(request.head.hasPrefix("\(method) "))
        #expect(!request.head.contains("Content-Length"))
        #expect(!request.head.contains("Transfer-Encoding"))
    }

    @Test func `a file is sent with its length`() async throws {
        let directory = try TemporaryDirectory()
        let bytes = LoopbackServer.bytes(300_000)
        let path = try directory.write(bytes, to: "upload")
        let request = try await seen {
            HTTPRequest(url: URL(string: $0), method: .put, body: .file(path: path))
        }
        #expect(request.head.contains("\r\nContent-Length: 300000\r\n"))
        #expect(!request.head.lowercased().contains("expect"))
        #expect(request.body == bytes)
    }

    @Test func `a stream of unknown length is sent in chunks`() async throws {
        let request = try await seen {
            HTTPRequest(
                url: URL(string: $0), method: .post,
                body: .stream(Pieces(["one", "two"], length: nil)))
        }
        #expect(request.head.contains("\r\nTransfer-Encoding: chunked\r\n"))
        #expect(request.body == Array("3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n".utf8))
    }

    @Test(arguments: [nil, 6] as [Int64?])
    func `the progress of a stream counts the bytes of its body alone`(length: Int64?) async throws
    {
        let server = try ScriptedServer.start(.request, .respond())
        var job = TransferJob(
            request: HTTPRequest(
                url: URL(string: server.baseURL), method: .post,
                body: .stream(Pieces(["one", "two"], length: length))))
        job.reportsProgress = true
        let probe = Probe()
        let result = try await CurlTransport.test().carry(job, probe: probe)
        #expect(result.error == nil)
        #expect(probe.progress.last?.sent == 6)
        #expect(probe.progress.allSatisfy { $0.sent <= 6 })
    }

    @Test func `a stream of known length is sent with Content-Length`() async throws {
        let request = try await seen {
            HTTPRequest(
                url: URL(string: $0), method: .post,
                body: .stream(Pieces(["one", "two"], length: 6)))
        }
        #expect(request.head.contains("\r\nContent-Length: 6\r\n"))
        #expect(request.body == Array("onetwo".utf8))
    }

    @Test func `a stream of unknown length is sent with the declared Content-Length`()
        async throws
    {
        let request = try await seen {
            HTTPRequest(
                url: URL(string: $0), method: .post, headers: ["Content-Length": "6"],
                body: .stream(Pieces(["one", "two", "more"], length: nil)))
        }
        #expect(request.head.contains("\r\nContent-Length: 6\r\n"))
        #expect(!request.head.lowercased().contains("transfer-encoding"))
        #expect(request.body == Array("onetwo".utf8))
    }

    @Test(arguments: [("7", "says 7, but the body ended after 6 bytes"), ("x", "not a length: x")])
    func `a declared length that is invalid or too large for the stream is an error`(
        length: String, reason: String
    ) async throws {
        let server = try ScriptedServer.start(.requestHead, .stall)
        let result = try await CurlTransport.test().perform(
            HTTPRequest(
                url: URL(string: server.baseURL), method: .post,
                headers: ["Content-Length": length],
                body: .stream(Pieces(["one", "two"], length: nil))))
        #expect(result.error?.code == .badRequest)
        #expect(
            result.error?.reason.contains(reason) == true, "\(String(describing: result.error))")
    }

    @Test(arguments: [
        (Pieces(["one", "two"], length: 6), false), (Pieces(["one", "two"], length: nil), false),
        (Pieces(["one", "twofold", "more"], length: 14), true),
        (Pieces(["one", "two", "more"], length: 10), true),
        (Pieces(["one", "two", "more"], length: nil), true),
    ])
    func `a longer stream is cut at the declared length, and the metrics report it`(
        stream: Pieces, isCut: Bool
    ) async throws {
        let server = try ScriptedServer.start(.request, .respond(), .again)
        let transport = CurlTransport.test()
        // Twice: the connection can still be used after the first request.
        for _ in 0..<2 {
            stream.rewind()
            let result = try await transport.perform(
                HTTPRequest(
                    url: URL(string: server.baseURL), method: .post,
                    headers: ["Content-Length": "6"], body: .stream(stream)))
            #expect(result.error == nil)
            #expect(result.metrics.isRequestBodyCut == isCut)
            #expect(result.metrics.requestBodyBytes == 6)
        }
        let requests = try await server.requests.values(2)
        #expect(requests.allSatisfy { $0.body == Array("onetwo".utf8) })
        #expect(requests.allSatisfy { $0.head.contains("\r\nContent-Length: 6\r\n") })
        #expect(server.connections.count == 1)
    }

    @Test(arguments: [
        (Pieces(["one", "two", "more"], length: 6), 6), (Pieces(["onetwomore"], length: 6), 6),
        (Pieces(["one"], length: 0), 0),
    ])
    func `a stream longer than its own length is refused, and its end is not sent`(
        stream: Pieces, length: Int
    ) async throws {
        let server = try ScriptedServer.start(.request, .respond(), .again)
        let result = try await CurlTransport.test().perform(
            HTTPRequest(url: URL(string: server.baseURL), method: .post, body: .stream(stream)))
        #expect(result.error?.code == .badRequest)
        #expect(
            result.error?.reason
                == "the request's body stream: continues after the \(length) bytes that are its length"
        )
        #expect(server.requests.count == 0)
    }

    @Test func `the path is sent without dot segments, also if they are percent-encoded`()
        async throws
    {
        for path in ["/priv/../pub?x", "/priv/%2e%2E/pub?x", "/priv/.%2e/./pub?x"] {
            let request = try await seen { HTTPRequest(url: URL(string: $0 + path)) }
            #expect(request.head.hasPrefix("GET /pub?x HTTP/1.1\r\n"))
        }
    }

    @Test func `a stream known to be shorter than declared is refused before anything is sent`()
        async throws
    {
        let server = try ScriptedServer.start(.request, .respond(), .again)
        let result = try await CurlTransport.test().perform(
            HTTPRequest(
                url: URL(string: server.baseURL), method: .post, headers: ["Content-Length": "7"],
                body: .stream(Pieces(["one", "two"], length: 6))))
        #expect(result.error?.code == .badRequest)
        #expect(result.error?.reason.contains("says 7, but the body has 6 bytes") == true)
        #expect(server.connections.count == 0)
    }

    @Test func `the connection of a stream that ended early is not reused`() async throws {
        let server = try ScriptedServer.start { connection in
            connection == 0 ? [.requestHead, .stall] : [.request, .respond(), .again]
        }
        let transport = CurlTransport.test()
        let result = try await transport.perform(
            HTTPRequest(
                url: URL(string: server.baseURL), method: .post, headers: ["Content-Length": "7"],
                body: .stream(Pieces(["one", "two"], length: nil))))
        #expect(
            result.error?.reason.contains("says 7, but the body ended after 6 bytes") == true)
        #expect(!result.metrics.isRequestBodyCut)
        #expect(try await transport.get(server.baseURL).error == nil)
        #expect(server.connections.count == 2)
    }

    @Test func `a header that would split the request is refused`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        let result = try await CurlTransport.test().get(
            server.baseURL, headers: ["X-Evil": "a\r\nX-Injected: b"])
        #expect(result.error?.code == .badRequest)
        #expect(result.error?.reason.contains("X-Evil") == true)
        #expect(result.error?.reason.contains("Injected") == false)
        #expect(server.connections.count == 0)
    }

    @Test func `a method that would split the request is refused`() async throws {
        let result = try await CurlTransport.test().perform(
            HTTPRequest(
                url: URL(string: "http://127.0.0.1:1"),
                method: HTTPMethod(rawValue: "GET / HTTP/1.1\r\nX: y\r\n\r\n")))
        #expect(result.error?.code == .badRequest)
    }

    @Test func `a Content-Length that differs from the body's length is refused`() async throws {
        let result = try await CurlTransport.test().perform(
            HTTPRequest(
                url: URL(string: "http://127.0.0.1:1"), method: .post,
                headers: ["Content-Length": "7"], body: .data(Data("hello".utf8))))
        #expect(result.error?.code == .badRequest)
        #expect(result.error?.reason.contains("says 7, but the body has 5 bytes") == true)
    }

    @Test func `the error of a missing upload file names the file`() async throws {
        let result = try await CurlTransport.test().perform(
            HTTPRequest(
                url: URL(string: "http://127.0.0.1:1"), method: .put,
                body: .file(path: "/nonexistent/upload")))
        #expect(result.error?.code == .cannotOpenFile)
        #expect(result.error?.reason.contains("/nonexistent/upload") == true)
    }

    @Test func `a named pipe as body is refused without waiting for its writer`() async throws {
        let directory = try TemporaryDirectory()
        let pipe = directory.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        let result = try await CurlTransport.test().perform(
            HTTPRequest(
                url: URL(string: "http://127.0.0.1:1/"), method: .put, body: .file(path: pipe)))
        #expect(result.error?.code == .cannotOpenFile)
        #expect(
            result.error?.reason
                == "\(pipe): the request's body cannot be sent: it is a pipe, not a file")
    }

    @Test func `a request uses the configured Unix socket instead of the host`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("http.sock")
        let server = try ScriptedServer.start(
            at: .unix(path: path), .request, .respond(body: "over a socket"))
        let transport = CurlTransport.test { $0.unixSocketPath = path }
        let result = try await transport.get("http://somewhere.invalid/x")
        #expect(result.text == "over a socket")
        #expect(try server.requests.values.at(0).head.contains("Host: somewhere.invalid\r\n"))
    }

    @Test(arguments: ["http://me:secret@127.0.0.1:1", "ftp://127.0.0.1:1"])
    func `a request over a Unix socket goes through no proxy`(proxy: String) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("http.sock")
        let server = try ScriptedServer.start(
            at: .unix(path: path), .request, .respond(body: "direct"))
        let transport = CurlTransport.test {
            $0.unixSocketPath = path
            $0.proxy = .url(proxy, except: [])
            $0.addressPolicy = .publicOnly
        }
        let result = try await transport.get("http://somewhere.invalid/x")
        #expect(result.text == "direct", "\(result.error?.reason ?? "")")
        #expect(result.metrics.proxy.isEmpty)
        server.stop()
    }
}

/// A body stream that returns its bytes in the given pieces.
final class Pieces: BodyStream, @unchecked Sendable {
    // Unchecked: a transport never reads a body from two threads at once.
    let length: Int64?
    private let pieces: [[UInt8]]
    private var next = 0
    /// The number of bytes of the next piece that were already read.
    private var given = 0
    private(set) var rewinds = 0

    init(_ pieces: [String], length: Int64?) {
        self.pieces = pieces.map { Array($0.utf8) }
        self.length = length
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard next < pieces.count else { return 0 }
        let piece = pieces[next].dropFirst(given).prefix(buffer.count)
        buffer.copyBytes(from: piece)
        given += piece.count
        if given == pieces[next].count {
            next += 1
            given = 0
        }
        return piece.count
    }

    func rewind() {
        rewinds += 1
        next = 0
        given = 0
    }
}
