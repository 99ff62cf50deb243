import FoundationEssentials
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import Testing

/// Counts the bytes of a body, and keeps none.
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

/// Servers that send more than anybody should have to take.
@Suite struct `Limits` {
    /// Codings that decode to at least 16 MiB of zeros from next to nothing.
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
                // A frame of blocks that say "128 KiB of this byte" (RFC 8878 §3.1.1.2).
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
    func `a decompression bomb is named, and little of it is kept`(
        bomb: Bomb, isChunked: Bool
    ) async throws {
        let server = try await server(bomb, isChunked: isChunked)
        let result = try await CurlTransport.test().get(
            server.baseURL, headers: ["Accept-Encoding": "gzip, br, zstd"])
        #expect(result.error?.code == .decompressionLimitExceeded)
        #expect(result.error?.reason.contains("decompression bomb") == true)
        #expect(result.body?.count ?? 0 <= 9 << 20)
    }

    @Test func `it is named in streams and files, too`() async throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/body"
        for delivery in [BodyDelivery.chunks, .file(path: path, offset: 0)] {
            let server = try await server(.gzip, isChunked: false)
            let request = HTTPRequest(
                url: URL(string: server.baseURL), headers: ["Accept-Encoding": "gzip"])
            let counter = ByteCounter()
            _ = CurlTransport.test().start(
                TransferJob(request: request, delivery: delivery), handler: counter)
            let result = try await counter.end.value()
            #expect(result.error?.code == .decompressionLimitExceeded)
            #expect(counter.count <= 9 << 20)
        }
        #expect(try Data(contentsOf: URL(filePath: path)).count <= 9 << 20)
    }

    @Test func `it passes where somebody wants it to`() async throws {
        let server = try await server(.br, isChunked: false)
        let transport = CurlTransport.test { $0.maximumDecompressionRatio = 0 }
        let result = try await transport.get(server.baseURL, headers: ["Accept-Encoding": "br"])
        #expect(result.error == nil)
        #expect(result.body?.count == 16 << 20)
    }

    @Test func `decoded bodies have a limit of their own`() async throws {
        let server = try await server(.br, isChunked: false)
        let transport = CurlTransport.test {
            $0.maximumDecompressionRatio = 0
            $0.maximumDecompressedSize = 1 << 20
        }
        let result = try await transport.get(server.baseURL, headers: ["Accept-Encoding": "br"])
        #expect(result.error?.code == .decompressionLimitExceeded)
        #expect(result.error?.reason == "the body decodes to more than 1048576 bytes")
    }

    @Test func `what is not decoded is no bomb`() async throws {
        let server = try await server(.br, isChunked: false)
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect(result.error == nil)
        #expect(result.body?.count == 27)
    }

    private func answer(_ fields: String) -> Step {
        .send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 2\r\n\r\nok")
    }

    @Test func `100,000 header fields are refused with their limit`() async throws {
        let server = try ScriptedServer.start(
            .request, answer(String(repeating: "A: b\r\n", count: 100_000)))
        let result = try await CurlTransport.test().get(server.baseURL)
        #expect(result.error?.code == .headerFieldsExceedMaximum)
        #expect(result.error?.reason == "the answer has more than 2000 header fields")
        #expect(result.response == nil)
    }

    @Test func `the number of fields may be just what is allowed`() async throws {
        let server = try ScriptedServer.start(.request, answer("A: b\r\nC: d\r\n"), .again)
        for (limit, isFine) in [(3, true), (2, false)] {
            let transport = CurlTransport.test { $0.maximumHeaderFields = limit }
            for _ in 0..<2 {
                let result = try await transport.get(server.baseURL)
                #expect((result.error == nil) == isFine)
            }
        }
    }

    @Test func `a head may be no larger than allowed`() async throws {
        let large = String(repeating: "Name: \(String(repeating: "x", count: 990))\r\n", count: 270)
        let server = try ScriptedServer.start(.request, answer(large))
        let error = try await CurlTransport.test().get(server.baseURL).error
        #expect(error?.code == .headerFieldsExceedMaximum)
        #expect(error?.reason == "the answer's header fields are larger than 262144 bytes")
    }

    @Test func `a single field without an end is refused by name`() async throws {
        let server = try ScriptedServer.start(
            .request, answer("Name: \(String(repeating: "x", count: 1 << 20))\r\n"))
        let error = try await CurlTransport.test().get(server.baseURL).error
        #expect(error?.code == .headerFieldsExceedMaximum)
    }
}
