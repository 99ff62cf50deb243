import FoundationEssentials
import Glibc
import OutletTestServer
import OutletTestSupport
import Testing

/// The program with plugins whose threads crash while hooks are pending.
@Suite(.timeLimit(.minutes(3))) struct PendingCrashTests {
    private let directory: TemporaryDirectory
    private let server: LoopbackServer

    init() throws {
        directory = try TemporaryDirectory()
        server = try LoopbackServer.start()
    }

    private var url: String { server.baseURL + "/get" }

    /// Runs the program with the two plugins of `CrashesLater.c`.
    ///
    /// - Parameters:
    ///   - plugins: The settings of the plugins without their common prefix.
    ///   - options: More arguments.
    private func run(_ plugins: String, _ options: String...) async throws -> Program.Result {
        if !FileManager.default.fileExists(atPath: directory.path("libFaultyCrashesLater.so")) {
            _ = try directory.copy("libFaultyCrashesLater.so")
        }
        let text = plugins.replacing("\"later-", with: "\"faulty.later-")
        let settings = try directory.write("{\"plugins\": {\(text)}}", to: "plugins.json")
        chmod(settings, 0o600)
        return try await RunningProgram(
            Products.path("outlet"), [url, "--plugins", directory.path] + options
        ).result(within: .seconds(30))
    }

    @Test func `a crash in another plugin's thread is reported with the pending plugin`()
        async throws
    {
        let result = try await run(
            #"""
            "later-one": {"config": {"hook": "adapt", "how": "settle"}},
            "later-two": {"config": {"hook": "process", "how": "crash"}}
            """#)
        #expect(result.signal == SIGABRT)
        #expect(
            result.errorOutput
                == "outlet: plugin faulty.later-two: has crashed with SIGABRT in a thread that "
                + "faulty.later-one started in adapt, during process of GET \(url)\n")
    }

    @Test func `a crash in another instance's thread is reported with the pending instance`()
        async throws
    {
        let result = try await run(
            #"""
            "later-one": {"instances": [
                {"name": "good", "config": {"hook": "adapt", "how": "settle"}},
                {"name": "bad", "config": {"hook": "process", "how": "crash"}}]}
            """#)
        #expect(result.signal == SIGABRT)
        #expect(
            result.errorOutput
                == "outlet: plugin faulty.later-one#bad: has crashed with SIGABRT in a thread that "
                + "faulty.later-one#good started in adapt, during process of GET \(url)\n")
    }

    /// The timer's function is called after adapt has returned, because the plugin's hooks do not
    /// overlap.
    @Test func `a crash while several hooks of a plugin are pending names them`() async throws {
        let result = try await run(
            #""later-one": {"config": {"hook": "adapt", "how": "timer"}}"#)
        #expect(result.signal == SIGABRT)
        #expect(
            result.errorOutput.hasPrefix(
                "outlet: plugin faulty.later-one: has crashed with SIGABRT in a thread that it "
                    + "started in adapt, during one of 2 hooks: "), "\(result.errorOutput)")
        #expect(result.errorOutput.contains("adapt of GET \(url)"))
        #expect(result.errorOutput.contains("timer_done of a timer"))
    }

    @Test func `a crash while several plugins of a library are pending is reported of neither`()
        async throws
    {
        let result = try await run(
            #"""
            "later-one": {"config": {"hook": "adapt", "how": "wait"}},
            "later-two": {"config": {"hook": "process", "how": "crash-both"}}
            """#)
        #expect(result.signal == SIGABRT)
        #expect(
            result.errorOutput.hasPrefix(
                "outlet: has crashed with SIGABRT in a thread that faulty.later-one started in "
                    + "adapt, during one of 2 hooks: "), "\(result.errorOutput)")
        #expect(result.errorOutput.contains("faulty.later-one in timer_done of a timer"))
        #expect(result.errorOutput.contains("faulty.later-two in process of GET \(url)"))
    }

    @Test func `a crash while nothing is pending is reported of a library's only plugin`()
        async throws
    {
        let result = try await run(
            #"""
            "later-one": {"config": {"hook": "adapt", "how": "exit"}},
            "later-two": {"enabled": false}
            """#)
        #expect(result.signal == SIGABRT)
        #expect(
            result.errorOutput
                == "outlet: plugin faulty.later-one: has crashed with SIGABRT in a thread that it "
                + "started in adapt\n")
    }

    @Test func `a crash while nothing is pending names all plugins of a library`() async throws {
        let result = try await run(
            #""later-one": {"config": {"hook": "adapt", "how": "exit"}}"#)
        #expect(result.signal == SIGABRT)
        #expect(
            result.errorOutput
                == "outlet: has crashed with SIGABRT in a thread that faulty.later-one started in "
                + "adapt; the plugins of its library are faulty.later-one, faulty.later-two\n")
    }

    @Test func `a crash after the host has given a hook up names the hook`() async throws {
        // The time limit must not pass before the hook has been called.
        var limit = 1
        var result: Program.Result
        repeat {
            result = try await run(
                #"""
                "later-one": {"config": {"hook": "adapt", "how": "never"}, "deadlines": {"adapt": 0.05}}
                """#, "--timeout=\(limit)")
            limit *= 3
        } while result.errorOutput.contains(": no answer within ") && limit < 30
        #expect(result.signal == SIGABRT)
        #expect(
            result.errorOutput.hasSuffix(
                "outlet: plugin faulty.later-one: has crashed with SIGABRT in a thread that it "
                    + "started in adapt, during adapt of GET \(url) (cancelled)\n"),
            "\(result.errorOutput)")
    }

    @Test func `a crash in a Swift hook after its suspension names the hook and the request`()
        async throws
    {
        let result = try await RunningProgram(
            Products.path("outlet"),
            [url, "X-Mode:crash", "--plugins", try directory.copy("libKitFixture.so")]
        ).result(within: .seconds(30))
        #expect(result.signal != nil)
        #expect(
            result.errorOutput.contains("outlet: plugin test.kit: has crashed with SIG"),
            "\(result.errorOutput)")
        #expect(
            result.errorOutput.contains(" in a thread that it started in adapt, during "),
            "\(result.errorOutput)")
        #expect(result.errorOutput.contains("adapt of GET \(url)"), "\(result.errorOutput)")
    }
}
