import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

/// Counts the bytes of a body and discards them.
private final class ByteCounter: TransferHandler {
    let end = Once<TransferResult>()
    private let bytes = Lock(0)

    var count: Int { bytes.withLock { $0 } }

    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        bytes.withLock { $0 += chunk.count }
        return .proceed
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        end.set(result)
    }
}

/// Reports the head and the end of a response.
private final class HeadWaiter: TransferHandler {
    let head = Once<Void>()
    let end = Once<TransferResult>()

    func transfer(_ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn)
        -> TransferDecision
    {
        self.head.set(())
        return .proceed
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        end.set(result)
    }
}

/// Responses that exceed the limits of a head, a body or a decoded body.
@Suite struct `Limits` {
    /// Content codings, each with a small body that decodes to at least 16 MiB.
    enum Bomb: String, CaseIterable {
        case gzip, br, zstd

        func bytes() async throws -> [UInt8] {
            switch self {
            case .gzip:
                let made = try await Program.run(
                    "/bin/sh", ["-c", "head -c 25165824 /dev/zero | gzip -9 | base64 -w0"])
                return Array(try #require(Data(base64Encoded: made.output)))
            case .br:
                return Array(
                    try #require(Data(base64Encoded: "y///P/gnAOKxQCD3/o///3/wTwDEYRGA7v3f")))
            case .zstd:
                // A frame of RLE blocks, each 128 KiB of the same byte (RFC 8878 §3.1.1.2).
                let block: [UInt8] = [0x02, 0x00, 0x10, 0x00]
                let blocks = Array(repeating: block, count: 8192).joined()
                return [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38] + blocks + [0x01, 0x00, 0x00]
            }
        }
    }

    private func server(_ bomb: Bomb, isChunked: Bool) async throws -> ScriptedServer {
        let bytes = try await bomb.bytes()
        var head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(bomb.rawValue)\r\n"
        head += isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(bytes.count)"
        let framed =
            isChunked
            ? Array(String(bytes.count, radix: 16).utf8) + [13, 10] + bytes
                + Array("\r\n0\r\n\r\n".utf8)
            : bytes
        return try ScriptedServer.start(
            .request, .send(Array("\(head)\r\n\r\n".utf8) + framed), .stall)
    }

    @Test(arguments: Bomb.allCases, [true, false])
    func `a decompression bomb is an error, and at most 9 MiB of it are kept`(
        bomb: Bomb, isChunked: Bool
    ) async throws {
        let server = try await server(bomb, isChunked: isChunked)
        let transport = CurlTransport.test { $0.decompressionRatioExemptSize = 8 << 20 }
        let result = try await transport.get(
            server.baseURL, headers: ["Accept-Encoding": "gzip, br, zstd"])
        #expect(result.error?.code == .decompressionLimitExceeded)
        #expect(result.error?.reason.contains("decompression bomb") == true)
        #expect(
            result.error?.advice.hasSuffix("raise maximumDecompressionRatio") == true)
        #expect(result.body?.count ?? 0 <= 9 << 20)
    }

    @Test func `a decompression bomb is an error in streams and files, too`() async throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/body"
        for delivery in [BodyDelivery.chunks, .file(path: path, offset: 0)] {
            let server = try await server(.gzip, isChunked: false)
            let request = HTTPRequest(
                url: URL(string: server.baseURL), headers: ["Accept-Encoding": "gzip"])
            let counter = ByteCounter()
            _ = CurlTransport.test { $0.decompressionRatioExemptSize = 8 << 20 }.start(
                TransferJob(request: request, delivery: delivery), handler: counter)
            let result = try await counter.end.value()
            #expect(result.error?.code == .decompressionLimitExceeded)
            #expect(counter.count <= 9 << 20)
        }
        #expect(try Data(contentsOf: URL(filePath: path)).count <= 9 << 20)
    }

    @Test func `the default limits refuse a decompression bomb of 1 GiB`() async throws {
        let server = try await server(.zstd, isChunked: false)
        let result = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "zstd"])
        #expect(result.error?.code == .decompressionLimitExceeded)
        #expect(result.body?.count ?? 0 <= 65 << 20)
    }

    @Test func `17.6 MB of similar rows compressed to 50 KB are accepted`() async throws {
        let row = #"{"id":"00000000","state":"active","owner":null,"tags":[]},"#
        let made = try await Program.run(
            "/bin/sh", ["-c", "yes '\(row)' | head -c 17600000 | gzip -9 | base64 -w0"])
        let bytes = Array(try #require(Data(base64Encoded: made.output)))
        #expect(bytes.count < 17_600_000 / 343)
        let server = try ScriptedServer.start(
            .request,
            .send(
                Array(
                    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bytes.count)\r\n\r\n"
                        .utf8) + bytes))
        let result = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "gzip"])
        #expect(result.error == nil)
        #expect(result.body?.count == 17_600_000)
    }

    @Test func `a maximumDecompressionRatio of 0 turns off the limit of the ratio`() async throws {
        let server = try await server(.br, isChunked: false)
        let transport = CurlTransport.test {
            $0.maximumDecompressionRatio = 0
            $0.decompressionRatioExemptSize = 8 << 20
        }
        let result = try await transport.get(server.baseURL, headers: ["Accept-Encoding": "br"])
        #expect(result.error == nil)
        #expect(result.body?.count == 16 << 20)
    }

    @Test func `maximumDecompressedSize limits the decoded body`() async throws {
        let server = try await server(.br, isChunked: false)
        let transport = CurlTransport.test {
            $0.maximumDecompressionRatio = 0
            $0.maximumDecompressedSize = 1 << 20
        }
        let result = try await transport.get(server.baseURL, headers: ["Accept-Encoding": "br"])
        #expect(result.error?.code == .decompressionLimitExceeded)
        #expect(result.error?.reason == "the body decodes to more than 1048576 bytes")
        #expect(result.error?.advice == "raise maximumDecompressedSize")
    }

    /// A gzip member whose file name has `count` times 128 KiB, compressed by zstd to 4 bytes for
    /// each of them.
    private func longFileName(_ count: Int) -> [UInt8] {
        let block: [UInt8] = [0x02, 0x00, 0x10, 0x61]
        return [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38, 0x50, 0x00, 0x00]
            + [0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 0xFF]
            + Array(repeating: block, count: count).joined() + [0x01, 0x00, 0x00]
    }

    private func twiceCoded(_ bytes: [UInt8]) throws -> ScriptedServer {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip, zstd\r\nContent-Length: \(bytes.count)\r\n\r\n"
        return try ScriptedServer.start(.request, .send(Array(head.utf8) + bytes), .stall)
    }

    @Test func `the limits of decoded bytes apply between two codings, too`() async throws {
        let server = try twiceCoded(longFileName(8192))
        let result = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "gzip, zstd"])
        #expect(result.error?.code == .decompressionLimitExceeded)
        #expect(result.error?.reason.contains("bytes between the body's codings were") == true)
        let transport = CurlTransport.test {
            $0.maximumDecompressionRatio = 0
            $0.maximumDecompressedSize = 1 << 20
        }
        let other = try twiceCoded(longFileName(64))
        let sized = try await transport.get(
            other.baseURL, headers: ["Accept-Encoding": "gzip, zstd"])
        #expect(sized.error?.code == .decompressionLimitExceeded)
    }

    @Test func `empty gzip members without end are an error`() async throws {
        let member = "\\037\\213\\010\\0\\0\\0\\0\\0\\0\\377\\003\\0\\0\\0\\0\\0\\0\\0\\0\\0"
        let made = try await Program.run(
            "/bin/sh",
            [
                "-c",
                "i=0; while [ $i -lt 1500 ]; do printf '\(member)'; i=$((i+1)); done | gzip -9 | base64 -w0",
            ])
        let bytes = Array(try #require(Data(base64Encoded: made.output)))
        let server = try ScriptedServer.start(
            .request,
            .send(
                Array(
                    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: \(bytes.count)\r\n\r\n"
                        .utf8) + bytes))
        let result = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "gzip"])
        #expect(result.error?.code == .decompressionLimitExceeded)
        #expect(
            result.error?.reason.hasSuffix("gzip: more than 1000 parts without content") == true)
    }

    @Test func `a body that takes long to decode delays no other request, and can be cancelled`()
        async throws
    {
        // 37 GiB pass between the codings. libcurl reads up to 1.6 MB in a row.
        let server = try twiceCoded(longFileName(300_000))
        let other = try ScriptedServer.start(.request, response(""))
        let transport = CurlTransport.test { $0.maximumDecompressionRatio = 0 }
        let handler = HeadWaiter()
        let request = HTTPRequest(
            url: URL(string: server.baseURL), headers: ["Accept-Encoding": "gzip, zstd"])
        let task = transport.start(TransferJob(request: request), handler: handler)
        try await handler.head.value()
        #expect(try await transport.get(other.baseURL).error == nil)
        #expect(handler.end.callCount == 0)
        task.cancel()
        #expect(try await handler.end.value().error?.code == .cancelled)
    }

    @Test func `a body that is not decoded has no decompression limit`() async throws {
        let server = try await server(.br, isChunked: false)
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect(result.error == nil)
        #expect(result.body?.count == 27)
    }

    private func response(_ fields: String) -> Step {
        .send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 2\r\n\r\nok")
    }

    @Test func `the error for too many header fields contains the limit`() async throws {
        let server = try ScriptedServer.start(
            .request, response(String(repeating: "A: b\r\n", count: 100_000)))
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect(result.error?.code == .headerFieldsExceedMaximum)
        #expect(result.error?.reason == "the response has more than 2000 header fields")
        #expect(result.error?.advice == "raise maximumHeaderFields")
        #expect(result.response == nil)
    }

    @Test func `a response with exactly maximumHeaderFields fields is accepted`() async throws {
        let server = try ScriptedServer.start(.request, response("A: b\r\nC: d\r\n"), .again)
        for (limit, isFine) in [(3, true), (2, false)] {
            let transport = CurlTransport.test { $0.maximumHeaderFields = limit }
            for _ in 0..<2 {
                let result = try await transport.get(server.baseURL)
                #expect((result.error == nil) == isFine)
            }
        }
    }

    @Test func `a response with exactly maximumHeaderFields trailers is accepted`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\nC: d\r\nE: f\r\n\r\n"
            ),
            .again)
        for (limit, isFine) in [(3, true), (2, false)] {
            let transport = CurlTransport.test { $0.maximumHeaderFields = limit }
            for _ in 0..<2 {
                let result = try await transport.get(server.baseURL)
                #expect((result.error == nil) == isFine)
            }
        }
    }

    @Test func `a head larger than maximumHeaderSize is an error`() async throws {
        let large = String(repeating: "Name: \(String(repeating: "x", count: 990))\r\n", count: 270)
        let server = try ScriptedServer.start(.request, response(large))
        let error = try await CurlTransport.test().get(server.baseURL).error
        #expect(error?.code == .headerFieldsExceedMaximum)
        #expect(error?.reason == "the response's header fields are larger than 262144 bytes")
        #expect(error?.advice == "raise maximumHeaderSize")
    }

    @Test func `maximumResponseSize applies to bodies in memory, not to files and streams`()
        async throws
    {
        let size = 1 << 20
        let server = try ScriptedServer.start(
            .request, .respond(body: String(repeating: "x", count: size)), .again)
        let transport = CurlTransport.test { $0.maximumResponseSize = Int64(size) - 1 }
        let error = try await transport.get(server.baseURL).error
        #expect(error?.code == .dataLengthExceedsMaximum)
        #expect(error?.reason.contains("1048575") == true)
        #expect(error?.advice == "raise maximumResponseSize, or download it to a file")
        let request = HTTPRequest(url: URL(string: server.baseURL))
        let counter = ByteCounter()
        _ = transport.start(TransferJob(request: request, delivery: .chunks), handler: counter)
        #expect(try await counter.end.value().error == nil && counter.count == size)
        let directory = try TemporaryDirectory()
        let file = BodyDelivery.file(path: directory.path("x"), offset: 0)
        let saved = try await transport.carry(TransferJob(request: request, delivery: file))
        #expect(saved.error == nil)
        #expect(try directory.read("x").count == size)
        #expect(TransportConfiguration().maximumResponseSize == 256 << 20)
    }

    @Test(arguments: [(100, true), (101, false)])
    func `the number of informational responses is limited`(number: Int, isFine: Bool) async throws
    {
        let hints = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: number)
        let server = try ScriptedServer.start(
            .request, .send(hints + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect((result.error == nil) == isFine)
        guard !isFine else { return }
        #expect(result.error?.code == .badServerResponse)
        #expect(result.error?.reason.contains("informational") == true)
    }

    @Test func `informational responses do not extend the request timeout`() async throws {
        let hints = Array(String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 100).utf8)
        let server = try ScriptedServer.start(
            .request, .trickle(hints, size: hints.count / 100, interval: .milliseconds(100)), .stall
        )
        let probe = Probe()
        let transport = CurlTransport.test { $0.timeoutIntervalForRequest = 1 }
        let job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL)))
        let result = try await transport.carry(job, probe: probe)
        #expect(result.error?.code == .timedOut)
        #expect(probe.heads.count < 90)
    }

    @Test func `the advice of a timeout error names the setting`() async throws {
        let server = try ScriptedServer.start(.request, .stall)
        let fullPort = try FullPort()
        let limits: [(String, String, (inout TransportConfiguration) -> Void)] = [
            (
                server.baseURL, "raise timeoutIntervalForRequest",
                { $0.timeoutIntervalForRequest = 0.1 }
            ),
            (
                server.baseURL, "raise timeoutIntervalForResource",
                { $0.timeoutIntervalForResource = 0.1 }
            ),
            (
                "http://127.0.0.1:\(fullPort.port)/", "raise connectTimeout",
                { $0.connectTimeout = 0.2 }
            ),
        ]
        for (url, advice, change) in limits {
            let error = try await CurlTransport.test(change).get(url).error
            #expect(error?.code == .timedOut)
            #expect(error?.advice == advice)
        }
    }

    @Test func `a 206 response to a request without Range is an error`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond("206 Partial Content", body: "part"), .again)
        let error = try await CurlTransport.test().get(server.baseURL).error
        #expect(error?.code == .badServerResponse)
        #expect(error?.reason.contains("206") == true)
        let asked = try await CurlTransport.test().get(
            server.baseURL, headers: ["range": "bytes=0-3"])
        #expect(asked.text == "part")
    }

    @Test func `a header field of 1 MiB is an error`() async throws {
        let server = try ScriptedServer.start(
            .request, response("Name: \(String(repeating: "x", count: 1 << 20))\r\n"))
        let error = try await CurlTransport.test().get(server.baseURL).error
        #expect(error?.code == .headerFieldsExceedMaximum)
    }
}
