import Outlet
import OutletTestSupport
import Testing

@testable import OutletCLI

/// Responses whose requests plugins may retry, but that were passed on in part.
@Suite struct RefusedRetryTests {
    private let directory: TemporaryDirectory
    private let plugin: String

    init() throws {
        directory = try TemporaryDirectory()
        plugin = try directory.copy("libretry-after.so")
    }

    /// Runs the program with the plugin and a server whose response is larger than is buffered.
    private func run(_ status: String, _ options: [String]) async throws -> Program.Result {
        let body = String(repeating: "x", count: HeldResponse.limit + 1)
        let server = try ScriptedServer.start(
            .request, .respond(status, headers: ["Retry-After: 0"], body: body))
        let result = try await Program.run(
            Products.path("outlet"), [server.baseURL, "--plugins", plugin] + options)
        #expect(server.requests.values.count == 1)
        return result
    }

    @Test(
        arguments: [([], 4), (["--no-check-status"], 0), (["-h"], 4), (["--json"], 4)]
            as [([String], Int32)])
    func `a large error response that no plugin wants to retry has the exit code of its status`(
        options: [String], code: Int32
    ) async throws {
        let result = try await run("404 No", options)
        #expect(result.exitCode == code)
        #expect(!result.errorOutput.contains("attempt") && !result.errorOutput.contains("holds"))
        if options == ["--json"] {
            let report = try JSONValue(parsing: result.standardOutput)
            #expect(report["error"] == .some(nil) && report["exit_code"] == 4)
        } else if options != ["-h"] {
            #expect(result.standardOutput.count == HeldResponse.limit + 1)
        }
    }

    @Test(
        arguments: [([], 5), (["--no-check-status"], 0), (["--json"], 5), (["-q"], 5)]
            as [([String], Int32)])
    func `a retry that comes too late is a note, and the exit code is that of the status`(
        options: [String], code: Int32
    ) async throws {
        let result = try await run("503 Busy", options)
        #expect(result.exitCode == code)
        let note =
            "outlet: plugin dev.outlet.retry-after: the attempt that it asked for was not made: a "
            + "part of the response was there already\n"
        #expect(result.errorOutput.hasSuffix(note) == (options != ["-q"]), "\(result.errorOutput)")
    }

    @Test func `nothing is printed of the response of an attempt before one without a response`()
        async throws
    {
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [.request, .respond("503 Busy", headers: ["Retry-After: 0"], body: "busy")]
                : [.request]
        }
        let result = try await Program.run(
            Products.path("outlet"), [server.baseURL, "--plugins", plugin, "--json"])
        #expect(result.exitCode == 1 && server.requests.values.count > 1)
        let report = try JSONValue(parsing: result.standardOutput)
        #expect(report["response"] == .some(nil) && report["exit_code"] == 1)
    }

    @Test(arguments: [([], 5), (["--no-check-status"], 0)] as [([String], Int32)])
    func `an error response is printed if the body from stdin cannot be sent again`(
        options: [String], code: Int32
    ) async throws {
        let server = try ScriptedServer.start(
            .request, .respond("503 Busy", headers: ["Retry-After: 0"], body: "busy"))
        let result = try await Program.run(
            "/bin/sh",
            [
                "-c", #"url=$1; shift; head -c 3000000 /dev/zero | "$0" PUT "$url" "$@""#,
                Products.path("outlet"), server.baseURL, "--plugins", plugin,
            ] + options)
        #expect(result.exitCode == code)
        #expect(result.output == "busy")
        let note =
            "outlet: plugin dev.outlet.retry-after: the attempt that it asked for was not made: "
            + "stdin cannot be read again (a file, with @FILE, can be sent again)\n"
        #expect(result.errorOutput.hasSuffix(note), "\(result.errorOutput)")
        #expect(server.requests.values.count == 1)
    }

    @Test func `a short body from stdin is sent again for a retry`() async throws {
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [.request, .respond("503 Busy", headers: ["Retry-After: 0"], body: "busy")]
                : [.request, .respond(body: "done")]
        }
        let result = try await outlet(
            "PUT", server.baseURL, "--plugins", plugin, standardInput: Array("body".utf8))
        #expect(result.exitCode == 0 && result.output == "done")
        #expect(server.requests.values.map(\.body) == [Array("body".utf8), Array("body".utf8)])
    }
}
