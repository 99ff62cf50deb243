import Outlet
import OutletTestSupport
import Testing

@testable import OutletCLI

/// The options that set a session's limits.
@Suite struct LimitOptionTests {
    private func configuration(_ arguments: String...) throws -> SessionConfiguration {
        try SessionOptions.configuration(ArgumentParser.parse(arguments + ["http://a.test/"]))
    }

    @Test func `sizes are bytes, or multiples of 1024 with the suffix k, M or G`() throws {
        for (text, size) in [
            ("1", 1), ("512k", 512 << 10), ("64M", 64 << 20), ("2G", 2 << 30), ("0", Int64.max),
        ] {
            let limits = try configuration(
                "--max-response-size=\(text)", "--max-decompressed-size=\(text)")
            #expect(limits.maximumResponseSize == size)
            #expect(limits.maximumDecompressedSize == size)
        }
        let heads = try configuration(
            "--max-head-size=300k", "--max-head-fields=7", "--max-decompression-ratio=1.5")
        #expect(heads.maximumHeaderSize == 300 << 10 && heads.maximumHeaderFields == 7)
        #expect(heads.maximumDecompressionRatio == 1.5)
        let usual = try configuration()
        #expect(usual.maximumResponseSize == 256 << 20)
    }

    @Test(arguments: [
        "--max-response-size=", "--max-response-size=k", "--max-response-size=-1",
        "--max-response-size=1.5M", "--max-response-size=9999999999G",
        "--max-response-size=99999999999999999999", "--max-decompressed-size=1\u{301}",
        "--max-head-size=0", "--max-head-size=301k", "--max-head-fields=0", "--max-head-fields=x",
        "--max-decompression-ratio=-1", "--max-decompression-ratio=nan",
    ])
    func `the error for an invalid limit names its option`(argument: String) throws {
        let option = String(argument.prefix { $0 != "=" })
        let error = #expect(throws: CommandError.self) { try configuration(argument) }
        #expect(error?.message.hasPrefix(option) == true)
    }

    @Test func `the error for a body above the limit names the option`() async throws {
        let server = try ScriptedServer.start(
            .request, .respond(body: String(repeating: "x", count: 2000)), .again)
        let refused = try await outlet("--json", "--max-response-size=1k", server.baseURL)
        #expect(refused.exitCode == 1)
        #expect(refused.output.contains("--max-response-size"))
        let fine = try await outlet("--json", "--max-response-size=2k", server.baseURL)
        #expect(fine.exitCode == 0)
    }

    @Test func `the error for a Proxy-Authorization field names the option`() async throws {
        let refused = try await outlet("http://127.0.0.1:1/", "Proxy-Authorization:Basic s3cret")
        #expect(refused.exitCode == 64 && refused.output.isEmpty)
        #expect(refused.errorOutput.contains("--proxy http://USER:PASSWORD@HOST:PORT"))
        #expect(!refused.errorOutput.contains("s3cret"))
    }

    @Test func `a file URL is read only with --allow-file`() async throws {
        let directory = try TemporaryDirectory()
        try directory.write("from a file", to: "a")
        let address = "file://\(directory.path("a"))"
        let refused = try await outlet(address)
        #expect(refused.exitCode == 64)
        #expect(refused.errorOutput.contains("--allow-file") && refused.output.isEmpty)
        let read = try await outlet("--allow-file", address)
        #expect(read.output == "from a file")
        #expect(read.exitCode == 0)
        // There is no head, and nothing is sent.
        let verbose = try await outlet("--allow-file", "-v", address)
        #expect(verbose.output.hasPrefix("from a file\n"), "\(verbose.output)")
        #expect(!verbose.output.contains("HTTP/1.1"))
        let report = try await outlet("--allow-file", "--json", address)
        let value = try JSONValue(parsing: report.standardOutput)
        #expect(value["response"]?["body"]?["text"] == "from a file")
        #expect(value["response"]?["status"] == JSONValue.null)
    }

    @Test func `a file that cannot be read is not sent as an empty body`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"))
        let result = try await outlet("POST", server.baseURL, "@/proc/self/mem")
        #expect(result.exitCode == 1)
        #expect(
            result.errorOutput.contains(
                "/proc/self/mem: the request's body cannot be read at byte 0"),
            "\(result.errorOutput)")
    }

    @Test func `the address policy public refuses private addresses`()
        async throws
    {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        let refused = try await outlet("--address-policy", "public", server.baseURL)
        #expect(refused.exitCode == 1)
        for part in ["(public) does not allow 127.0.0.1", "--address-policy"] {
            #expect(refused.errorOutput.contains(part))
        }
        #expect(server.connections.count == 0)
        #expect(try await outlet("--address-policy=any", server.baseURL).output == "x")
    }
}
