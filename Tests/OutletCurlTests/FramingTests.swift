import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

/// Requests that the transport refuses because client and server could disagree about their end.
@Suite struct `Request framing on a reused connection` {
    /// A request that a server may interpret differently, and the error's reason.
    struct Case: Sendable, CustomTestStringConvertible {
        var method = HTTPMethod.get
        var headers: [(String, String)]
        var body = ""
        var isFile = false
        let reason: String

        var testDescription: String { "\(method) \(headers) \(body)" }

        func request(_ address: String, file: String) -> HTTPRequest {
            var request = HTTPRequest(url: URL(string: address), method: method)
            for (name, value) in headers { request.headers.append(name: name, value: value) }
            if isFile {
                request.body = .file(path: file)
            } else if !body.isEmpty {
                request.body = .data(Data(body.utf8))
            }
            return request
        }
    }

    static let cases = [
        // The server would parse the next request as the size of a chunk.
        Case(headers: [("Transfer-Encoding", "chunked")], reason: "header Transfer-Encoding"),
        Case(
            method: .post, headers: [("transfer-encoding", "chunked")], body: "0\r\n\r\nGET /evil",
            reason: "header transfer-encoding"),
        Case(
            method: .post, headers: [("Transfer-Encoding", "identity")], body: "hello",
            reason: "header Transfer-Encoding"),
        // The server would read bytes of the next request as this body, or bytes of this body as
        // the next request.
        Case(headers: [("Content-Length", "5")], reason: "says 5, but the body has 0 bytes"),
        Case(
            method: .head, headers: [("Content-Length", "5")],
            reason: "says 5, but the body has 0 bytes"),
        Case(
            method: .post, headers: [("Content-Length", "3")], body: "hello",
            reason: "says 3, but the body has 5 bytes"),
        Case(
            method: .put, headers: [("content-length", "7")], body: "hello", isFile: true,
            reason: "says 7, but the body has 5 bytes"),
        Case(
            method: .post, headers: [("Content-Length", "+5")], body: "hello",
            reason: "not a length: +5"),
        Case(
            method: .post, headers: [("Content-Length", "5"), ("Content-Length", "5")],
            body: "hello", reason: "header Content-Length: is there more than once"),
        // Hop-by-hop fields: a proxy would remove them, and with the first also `Authorization`.
        Case(headers: [("Connection", "close, Authorization")], reason: "header Connection"),
        Case(headers: [("Upgrade", "h2c")], reason: "header Upgrade"),
        Case(headers: [("TE", "trailers, chunked")], reason: "header TE"),
        Case(headers: [("Trailer", "Content-Length")], reason: "header Trailer"),
        Case(headers: [("Keep-Alive", "timeout=0")], reason: "header Keep-Alive"),
        Case(headers: [("Proxy-Connection", "close")], reason: "header Proxy-Connection"),
        Case(headers: [("Host", "a b")], reason: "header Host"),
        Case(
            headers: [("Host", "a"), ("host", "b")], reason: "header host: is there more than once"),
    ]

    @Test(arguments: cases)
    func `a request with ambiguous framing is refused, and the next one is unaffected`(
        refused: Case
    ) async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("hello", to: "body")
        let server = try ScriptedServer.start(.request, .respond(body: "ok"), .again)
        let transport = CurlTransport.test()
        _ = try await transport.get("\(server.baseURL)/first")
        let result = try await transport.perform(
            refused.request("\(server.baseURL)/evil", file: file))
        #expect(result.error?.code == .badRequest)
        #expect(
            result.error?.reason.contains(refused.reason) == true,
            "\(String(describing: result.error))")
        let next = try await transport.get("\(server.baseURL)/next")
        #expect(next.text == "ok")
        let heads = try await server.requests.values(2).map(\.head)
        #expect(heads.map { $0.hasPrefix("GET /first ") } == [true, false])
        #expect(heads[1].hasPrefix("GET /next HTTP/1.1\r\n"))
        let received = String(
            decoding: server.connections.values.flatMap { server.received(on: $0) }, as: UTF8.self)
        #expect(received == heads.joined())
    }

    @Test(arguments: cases)
    func `a request with ambiguous framing is refused over HTTP/2`(refused: Case) async throws {
        let nginx = try await Nginx.shared()
        let directory = try TemporaryDirectory()
        let file = try directory.write("hello", to: "body")
        let transport = CurlTransport.test { $0.httpVersion = .http2PriorKnowledge }
        let address = "\(nginx.baseURL(.plainHTTP2))/info"
        let result = try await transport.perform(refused.request(address, file: file))
        #expect(result.error?.reason.contains(refused.reason) == true)
        #expect(try await transport.get(address).response?.statusCode == 200)
    }

    @Test func `a Content-Length that matches a file or a stream is accepted`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let file = try directory.write("hello", to: "body")
        let server = try ScriptedServer.start(.request, .respond(), .again)
        let transport = CurlTransport.test()
        let bodies = [HTTPBody.file(path: file), .stream(Pieces(["hel", "lo"], length: nil))]
        for body in bodies {
            let result = try await transport.perform(
                HTTPRequest(
                    url: URL(string: server.baseURL), method: .put,
                    headers: ["Content-Length": "5"], body: body))
            #expect(result.error == nil)
        }
        let requests = try await server.requests.values(2)
        #expect(requests.allSatisfy { $0.body == Array("hello".utf8) })
        #expect(requests.allSatisfy { $0.head.contains("\r\nContent-Length: 5\r\n") })
    }

    @Test(arguments: [HTTPVersionPolicy.http1, .http2PriorKnowledge])
    func `a custom Host field is sent and does not change the server`(version: HTTPVersionPolicy)
        async throws
    {
        let nginx = try await Nginx.shared()
        let base = nginx.baseURL(version == .http1 ? .plain : .plainHTTP2)
        let transport = CurlTransport.test { $0.httpVersion = version }
        let result = try await transport.get(
            "\(base)/info", headers: ["Host": "elsewhere.invalid:8080"])
        #expect(result.error == nil)
        #expect(result.text.contains(#""host":"elsewhere.invalid""#))
        #expect(result.response?.url?.absoluteString == "\(base)/info")
    }
}
