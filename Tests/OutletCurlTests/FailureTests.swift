import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestServer
import OutletTestSupport
import OutletTransport
import Testing

@Suite struct `A transfer that fails` {
    @Test func `the error of a refused connection names host and port`() async throws {
        let port = try refusingPort()
        let error = try await CurlTransport.test().get("http://127.0.0.1:\(port)/").error
        #expect(error?.code == .cannotConnectToHost)
        #expect(error?.stage == .connecting)
        #expect(error?.host == "127.0.0.1:\(port)")
        #expect(error?.advice.isEmpty == false)
    }

    @Test func `the error of a Unix socket without a server names the socket, not the host`()
        async throws
    {
        let path = try TemporaryDirectory().path("none")
        let error = try await CurlTransport.test { $0.unixSocketPath = path }
            .get("http://somewhere.invalid/").error
        #expect(error?.code == .cannotConnectToHost)
        #expect(
            error?.reason
                == "the Unix socket \(path) cannot be connected to: No such file or directory")
    }

    @Test func `a refused connection to a host with proxy in its name is no fault of a proxy`()
        async throws
    {
        let port = try refusingPort()
        let error = try await CurlTransport.test().get("http://proxy.localhost:\(port)/").error
        #expect(error?.code == .cannotConnectToHost)
        #expect(error?.advice.isEmpty == false)
    }

    @Test func `each of several transfers for which no socket can be opened says so`() async {
        await #expect(processExitsWith: .success) {
            let transport = CurlTransport.test()
            let url = "http://127.0.0.1:\(try refusingPort())/"
            // Starts the loop, which needs descriptors.
            #expect(try await transport.get(url).error?.code == .cannotConnectToHost)
            let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var limit = rlimit()
            getrlimit(files, &limit)
            var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
            setrlimit(files, &none)
            let errors = await withTaskGroup(of: TransferError?.self) { group in
                for _ in 0..<16 { group.addTask { try? await transport.get(url).error } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            setrlimit(files, &limit)
            #expect(errors.map(\.?.code) == Array(repeating: .tooManyOpenFiles, count: 16))
            #expect(errors.allSatisfy { $0?.reason.hasSuffix("Too many open files") == true })
            #expect(try await transport.get(url).error?.code == .cannotConnectToHost)
        }
    }

    /// Descriptors of a loop that another part of the process closes.
    enum Closed: String, CaseIterable, Codable, Sendable {
        case epoll = "[eventpoll]"
        case event = "[eventfd]"
        case both = "["

        /// Makes a transport whose loop has started.
        ///
        /// - Returns: The transport, and its loop's descriptors of this kind.
        func transport() async throws -> (transport: CurlTransport, descriptors: [Int32]) {
            let url = "http://127.0.0.1:\(try refusingPort())/"
            // Others, such as libdispatch, have such descriptors from their first use on.
            let other = CurlTransport.test()
            _ = try await other.get(url)
            let before = Self.open
            let transport = CurlTransport.test()
            _ = try await transport.get(url)
            let names = Self.open.subtracting(before).filter {
                $0.contains("anon_inode:\(rawValue)")
            }
            withExtendedLifetime(other) {}
            let descriptors = names.compactMap { name in
                name.split(separator: " ").first.flatMap { Int32($0) }
            }
            #expect(!descriptors.isEmpty)
            return (transport, descriptors)
        }

        /// The descriptors of the process: their number and what they are.
        static var open: Set<String> {
            let directory = "/proc/self/fd"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            return Set(
                names.map { name in
                    let target = try? FileManager.default.destinationOfSymbolicLink(
                        atPath: "\(directory)/\(name)")
                    return "\(name) \(target ?? "")"
                })
        }
    }

    @Test(arguments: Closed.allCases)
    func `transfers end although another part of the process closes the loop's descriptors`(
        closed: Closed
    ) async throws {
        // In a process of its own, because the test cannot tell one transport's descriptors from
        // those of others.
        await #expect(processExitsWith: .success) { [closed] in
            let gate = try Gate()
            let server = try ScriptedServer.start { number in
                (number == 0 ? [.request, .wait(gate)] : [.request]) + [.respond(), .again]
            }
            let (transport, descriptors) = try await closed.transport()
            let url = server.baseURL
            async let first = transport.get(url)
            _ = try await server.requests.values(1)
            for descriptor in descriptors { close(descriptor) }
            // Wakes the thread that waits for the first one.
            #expect(try await transport.get(url).error == nil)
            gate.open()
            #expect(try await first.error == nil)
            #expect(try await transport.get(url).error == nil)
        }
    }

    @Test(arguments: Closed.allCases)
    func `nothing is written to a file that has the number of a closed descriptor of the loop`(
        closed: Closed
    ) async throws {
        await #expect(processExitsWith: .success) { [closed] in
            let gate = try Gate()
            let server = try ScriptedServer.start { number in
                number == 0 ? [.request, .wait(gate)] : [.request, .respond(), .again]
            }
            let (transport, descriptors) = try await closed.transport()
            let directory = try TemporaryDirectory()
            let path = try directory.write("", to: "file")
            let file = open(path, O_RDWR)
            for descriptor in descriptors { #expect(dup2(file, descriptor) == descriptor) }
            async let first = transport.get(server.baseURL)
            _ = try await server.requests.values(1)
            // These wake the thread that waits for the first one.
            for _ in 0..<3 { #expect(try await transport.get(server.baseURL).error == nil) }
            gate.open()
            _ = try await first
            var status = stat()
            #expect(fstat(file, &status) == 0 && status.st_size == 0)
        }
    }

    @Test func `transfers fail if no descriptor replaces the one that was closed`() async throws {
        await #expect(processExitsWith: .success) {
            let gate = try Gate()
            let server = try ScriptedServer.start { number in
                number == 0 ? [.request, .wait(gate)] : [.request, .respond()]
            }
            let (transport, descriptors) = try await Closed.epoll.transport()
            let url = server.baseURL
            async let first = transport.get(url)
            _ = try await server.requests.values(1)
            for descriptor in descriptors { close(descriptor) }
            let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var limit = rlimit()
            getrlimit(files, &limit)
            // As many as a `poll` of the server's may wait for, and all of them are open.
            var none = rlimit(rlim_cur: 3, rlim_max: limit.rlim_max)
            setrlimit(files, &none)
            // Wakes the thread that waits for the first one.
            #expect(try await transport.get(url).error?.code == .tooManyOpenFiles)
            let error = try await first.error
            setrlimit(files, &limit)
            #expect(error?.code == .tooManyOpenFiles)
            #expect(error?.reason.contains("epoll descriptor") == true)
            #expect(try await transport.get(url).error == nil)
            gate.open()
        }
    }

    @Test func `the error of a failed name lookup names the host`() async throws {
        let error = try await CurlTransport.test().get("http://no-such-host.invalid/").error
        #expect(error?.code == .cannotFindHost)
        #expect(error?.stage == .resolving)
        #expect(error?.host == "no-such-host.invalid")
    }

    @Test(arguments: [
        "ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "mailto:a@b",
        "ws://127.0.0.1/", "WSS://127.0.0.1/",
    ])
    func `a URL scheme other than http and https is unsupported`(url: String) async throws {
        let error = try await CurlTransport.test().get(url).error
        #expect(error?.code == .unsupportedURL)
    }

    @Test func `a request without a URL is refused`() async throws {
        let error = try await CurlTransport.test().perform(HTTPRequest(url: nil)).error
        #expect(error?.code == .badURL)
    }

    @Test func `a body stream with a negative length is refused`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        let error = try await CurlTransport.test().perform(
            HTTPRequest(
                url: URL(string: server.baseURL), method: .post,
                body: .stream(Pieces([], length: -5)))
        ).error
        #expect(error?.code == .badRequest)
        #expect(error?.reason == "the request's body stream: its length cannot be -5")
        #expect(server.requests.values.isEmpty)
    }

    @Test func `a CONNECT request is refused`() async throws {
        let server = try ScriptedServer.start(.request, .respond())
        let error = try await CurlTransport.test().perform(
            HTTPRequest(url: URL(string: server.baseURL), method: .connect)
        ).error
        #expect(error?.code == .badRequest)
        #expect(error?.reason.hasPrefix("CONNECT: ") == true)
        #expect(server.requests.values.isEmpty)
    }

    @Test func `a response that is not HTTP is an error`() async throws {
        let server = try ScriptedServer.start(.request, .send("SSH-2.0-OpenSSH_9.2\r\n"))
        let error = try await CurlTransport.test().get(server.baseURL).error
        #expect(error?.code == .badServerResponse)
    }

    @Test func `a connection that is closed without a response is an error`() async throws {
        let server = try ScriptedServer.start(.request)
        let error = try await CurlTransport.test().get(server.baseURL).error
        #expect(error?.code == .networkConnectionLost)
        #expect(error?.reason == "the server closed the connection without a response")
    }

    /// libcurl ends the connection, because the server does not speak HTTP/2.
    @Test func `a connection by prior knowledge that ends without a response names HTTP 2`()
        async throws
    {
        let server = try ScriptedServer.start(.anything, .send("HTTP/1.1 200 OK\r\n\r\n"), .stall)
        let error = try await CurlTransport.test { $0.httpVersion = .http2PriorKnowledge }
            .get(server.baseURL).error
        #expect(error?.code == .networkConnectionLost)
        #expect(
            error?.reason
                == "the HTTP/2 connection or the request's stream ended without a response")
    }

    @Test func `a connection that is reset in the body is networkConnectionLost`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), .reset)
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect(result.error?.code == .networkConnectionLost)
    }

    @Test func `the error of an incomplete body contains the received and expected bytes`()
        async throws
    {
        let server = try ScriptedServer.start(
            .request,
            .send(
                "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n"
                    + String(repeating: "x", count: 512)))
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect(result.error?.code == .networkConnectionLost)
        #expect(
            result.error?.reason == "the server closed the connection after 512 of 1024 bytes")
        #expect(result.response?.statusCode == 200)
        #expect(result.body?.count == 512)
    }

    /// A response, and the number of bytes at its end that libcurl does not wait for.
    struct Framing: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let response: String
        let slack: Int
    }

    static let framings = [
        Framing(
            testDescription: "length",
            response: "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 10\r\n\r\n0123456789", slack: 0),
        Framing(
            testDescription: "chunked",
            response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n", slack: 1),
    ]

    @Test(arguments: framings)
    func `a connection closed at any byte of the response is networkConnectionLost`(
        framing: Framing
    ) async throws {
        let response = Array(framing.response.utf8)
        let server = try ScriptedServer.start { connection in
            [.request, .send(Array(response.prefix(min(connection, response.count))))]
        }
        let transport = CurlTransport.test { $0.httpMaximumConnectionsPerHost = 1 }
        for cut in 0..<response.count - framing.slack {
            let result = try await transport.get("\(server.baseURL)/\(cut)")
            #expect(result.error?.code == .networkConnectionLost, "cut at \(cut)")
            let head = framing.response.firstRange(of: "\r\n\r\n")?.upperBound
            let isInHead = head.map { cut < framing.response[..<$0].utf8.count } ?? false
            let line = framing.response.firstRange(of: "\r\n")?.upperBound
            if isInHead, line.map({ cut >= framing.response[..<$0].utf8.count }) ?? false {
                #expect(result.error?.reason.contains("inside the head") == true, "cut at \(cut)")
            }
        }
        let whole = try await transport.get(server.baseURL)
        #expect(whole.error == nil)
        #expect(whole.text == "0123456789")
    }

    @Test func `a body without a length is complete when the connection closes`() async throws {
        let server = try ScriptedServer.start(.request, .send("HTTP/1.1 200 OK\r\n\r\nall of it"))
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect(result.error == nil)
        #expect(result.text == "all of it")
    }

    @Test func `4 MB of header fields are an error`() async throws {
        let field = "X-Flood: " + String(repeating: "y", count: 1000) + "\r\n"
        let flood = String(repeating: field, count: 4000)
        let server = try ScriptedServer.start(.request, .send("HTTP/1.1 200 OK\r\n" + flood))
        let error = try await CurlTransport.test().get(server.baseURL).error
        #expect(error?.code == .headerFieldsExceedMaximum)
        #expect(error?.reason.contains("header") == true)
    }

    @Test func `a body larger than maximumResponseSize is an error`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond(body: String(repeating: "x", count: 2000)))
        let transport = CurlTransport.test { $0.maximumResponseSize = 1999 }
        let error = try await transport.get(server.baseURL).error
        #expect(error?.code == .dataLengthExceedsMaximum)
        #expect(error?.reason.contains("1999") == true)
    }

    @Test func `a body that is not valid gzip is a decoding error`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond(headers: ["Content-Encoding: gzip"], body: "no gzip at all"))
        let error = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "gzip"]
        ).error
        #expect(error?.code == .cannotDecodeContentData)
    }

    @Test func `a truncated content coding is an error even if Content-Length matches`()
        async throws
    {
        let server = try ScriptedServer.start(
            .request,
            .send("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 10\r\n\r\n"),
            .send([0x8B, 0x04, 0x80, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36]))
        let error = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "br"]
        ).error
        #expect(error?.code == .cannotDecodeContentData)
        #expect(error?.reason == "the body's encoding is broken: br: not at its end after 10 bytes")
    }

    @Test func `a part of coded content is not decoded`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .send("HTTP/1.1 206 Partial Content\r\nContent-Encoding: br\r\n"),
            .send("Content-Range: bytes 0-9/14\r\nContent-Length: 10\r\n\r\n"),
            .send([0x8B, 0x04, 0x80, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36]))
        let result = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "br", "Range": "bytes=0-9"])
        #expect(result.error == nil)
        #expect(
            result.body == Data([0x8B, 0x04, 0x80, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36]))
    }

    @Test func `a whole response to a request for a range is decoded`() async throws {
        let text = [UInt8]([0x8B, 0x04, 0x80] + Array("0123456789".utf8) + [0x03])
        let server = try ScriptedServer.start(
            .request,
            .send("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 14\r\n\r\n"),
            .send(text))
        let result = try await CurlTransport.test().get(
            server.baseURL,
            headers: ["Accept-Encoding": "identity;q=1, *;q=0", "Range": "bytes=0-9"])
        #expect(result.error == nil && result.text == "0123456789")
    }

    @Test(arguments: [-1, .nan, -Double.infinity])
    func `a time limit that is no time is an error`(limit: TimeInterval) async throws {
        let server = try ScriptedServer.start(.request, .respond())
        var request = HTTPRequest(url: URL(string: server.baseURL))
        request.timeoutInterval = limit
        let error = try await CurlTransport.test().carry(TransferJob(request: request)).error
        #expect(error?.code == .badRequest)
        #expect(error?.reason == "timeoutInterval: \(limit) s is not 0 or more")
        #expect(server.requests.values.isEmpty)
    }

    @Test func `the error of an unknown content coding names the coding`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond(headers: ["Content-Encoding: rot13"], body: "uryyb"))
        let error = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "gzip"]
        ).error
        #expect(error?.code == .cannotDecodeContentData)
        #expect(error?.reason.contains("rot13") == true)
    }

    @Test func `the error of a long content coding shows its beginning`() async throws {
        let coding = String(repeating: "x", count: 5000)
        let server = try ScriptedServer.start(
            .request, .respond(headers: ["Content-Encoding: \(coding)"], body: "uryyb"))
        let error = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "gzip"]
        ).error
        #expect(error?.code == .cannotDecodeContentData)
        #expect(error?.reason.contains("xxx…: not a coding") == true)
        #expect((error?.reason.utf8.count ?? .max) < 400)
    }

    @Test func `the transport returns a redirect response and does not follow it`() async throws {
        let server = try LoopbackServer.start()
        let result = try await CurlTransport.test().get("\(server.baseURL)/redirect/1")
        #expect(result.error == nil)
        #expect(result.response?.statusCode == 302)
    }

    @Test func `the error of a timeout names the stage`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test()
        let error = try await transport.perform(
            HTTPRequest(url: URL(string: server.baseURL), timeoutInterval: 0.05)
        ).error
        #expect(error?.code == .timedOut)
        #expect(error?.stage == .waiting)
        #expect(error?.reason == "timed out while waiting for the response: no progress for 0.05 s")
    }

    @Test func `a body that stalls times out`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), .stall)
        // Long enough for the answer to come on a busy machine.
        let error = try await CurlTransport.test().perform(
            HTTPRequest(url: URL(string: server.baseURL), timeoutInterval: 2)
        ).error
        #expect(error?.code == .timedOut)
        #expect(error?.stage == .receiving)
    }

    @Test func `the configured timeout applies to a request without its own timeout`() async throws
    {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test { $0.timeoutIntervalForRequest = 0.05 }
        #expect(try await transport.get(server.baseURL).error?.code == .timedOut)
    }

    @Test func `timeoutIntervalForResource ends a transfer that makes progress`() async throws {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\n\r\n"),
            .trickle(Array(repeating: 120, count: 10_000), size: 1, interval: .milliseconds(5)))
        let transport = CurlTransport.test { $0.timeoutIntervalForResource = 0.2 }
        let result = try await transport.get(server.baseURL)
        #expect(result.error?.code == .timedOut)
        #expect(result.response?.statusCode == 200)
    }

    @Test func `timeoutIntervalForResource ends a transfer that waits for a connection`()
        async throws
    {
        let server = try ScriptedServer.start(.request, .stall)
        let transport = CurlTransport.test {
            $0.httpMaximumConnectionsPerHost = 1
            $0.timeoutIntervalForResource = 0.2
        }
        async let first = transport.get(server.baseURL)
        async let second = transport.get(server.baseURL)
        let errors = [try await first.error, try await second.error]
        #expect(errors.allSatisfy { $0?.code == .timedOut })
        #expect(errors.contains { $0?.stage == .waiting })
    }
}
