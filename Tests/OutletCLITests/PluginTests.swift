import FoundationEssentials
import Glibc
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

/// The program with plugins, and with files that are not plugins.
@Suite struct PluginTests {
    private let directory: TemporaryDirectory
    private let requestID: String
    private let pacer: String

    init() throws {
        directory = try TemporaryDirectory()
        requestID = try directory.copy("librequest-id.so")
        pacer = try directory.copy("libpacer.so")
    }

    @Test func `plugins are listed in the order of --plugins, files and directories`() async throws
    {
        let (first, last) = (try TemporaryDirectory(), try TemporaryDirectory())
        let files = [
            try first.copy("libFaultyHangs.so"), directory.path("libpacer.so"),
            directory.path("librequest-id.so"), try last.copy("libFaultyObliging.so"),
        ]
        let result = try await outlet(
            "plugins", "list", "--json", "--plugins", files[0], "--plugins", directory.path,
            "--plugins", files[3])
        let report = try JSONValue(parsing: result.standardOutput)
        let paths = report["plugins"]?.arrayValue?.map { $0["file"]?.stringValue }
        #expect(paths == files, "\(result.output)")
    }

    @Test func `a file whose name is not UTF-8 is reported once for its directory`() async throws {
        let folder = try TemporaryDirectory()
        let path = Array(folder.url.path.utf8CString.dropLast()) + [0x2F, -1, 0x2E, 0x73, 0x6F, 0]
        let file = FileDescriptor(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
        try #require(file.number >= 0)
        let result = try await outlet("plugins", "list", folder.path, folder.path + "/.")
        #expect(result.errorOutput.split(separator: "\n").count == 1, "\(result.errorOutput)")
        #expect(result.errorOutput.contains("its name is not UTF-8"))
    }

    @Test func `the plugins of a directory are listed`() async throws {
        let result = try await outlet("plugins", "list", directory.path)
        #expect(result.exitCode == 0)
        #expect(
            result.output == """
                dev.outlet.pacer       1.0.0  ABI 1.0  no permissions  enabled  \(pacer)
                dev.outlet.request-id  1.0.0  ABI 1.0  no permissions  enabled  \(requestID)

                """)
        #expect(result.errorOutput == "")
    }

    @Test func `an error response is printed whole with plugins that retry and process`()
        async throws
    {
        // Each of its hooks does nothing.
        let plugin = try directory.copy("libFaultyHangs.so")
        func run(_ options: String...) async throws -> Program.Result {
            let server = try ScriptedServer.start(
                .request, .send("HTTP/1.1 404 No\r\nContent-Length: 7\r\n\r\nmissing"), .stall)
            return try await Program.run(
                Products.path("outlet"), [server.baseURL, "--plugins", plugin] + options)
        }
        let body = try await run()
        #expect(body.exitCode == 4 && body.output == "missing")
        let page = try await run("-p", "hb")
        #expect(page.output.hasPrefix("HTTP/1.1 404 ") && page.output.hasSuffix("\n\nmissing\n"))
        let report = try JSONValue(parsing: try await run("--json").standardOutput)
        #expect(report["response"]?["body"]?["text"] == "missing")
        #expect(try await run("-o", directory.path("body")).exitCode == 4)
        #expect(try directory.read("body") == Array("missing".utf8))
    }

    @Test func `the JSON list has plugins and failures`() async throws {
        _ = try directory.write("no library", to: "broken.so")
        let result = try await outlet("plugins", "list", "--json", "--plugins", directory.path)
        let value = try JSONValue(parsing: result.standardOutput)
        #expect(value["schema"] == "outlet.plugins/1")
        #expect(
            value["plugins"]?.arrayValue?.map { $0["id"] }
                == ["dev.outlet.pacer", "dev.outlet.request-id"])
        #expect(value["plugins"]?[0]?["has_manifest"] == true)
        #expect(value["plugins"]?[0]?["permissions"] == [])
        #expect(value["failures"]?.arrayValue?.count == 1)
        #expect(result.exitCode == 7)
        #expect(result.errorOutput.split(separator: "\n").count == 1)
    }

    @Test func `listing and inspecting plugins runs none of their code`() async throws {
        let folder = try TemporaryDirectory()
        let hanging = try folder.copy("libFaultyHangsOnLoad.so")
        let list = try await outlet("plugins", "list", folder.path)
        #expect(list.exitCode == 0)
        #expect(list.output == "?  ?  ABI 1  no manifest  ?  \(hanging)\n")
        let page = try await outlet("plugins", "inspect", hanging)
        #expect(page.exitCode == 0)
        #expect(
            page.output.contains("manifest    none: the file has no section .outlet.manifest\n"))
        let report = try await outlet("plugins", "inspect", hanging, "--json")
        let value = try JSONValue(parsing: report.standardOutput)
        #expect(value["id"] == .some(nil) && value["has_manifest"] == false)
        #expect(value["functions"] == nil)
        let byID = try await outlet("plugins", "inspect", "x", "--plugins", folder.path)
        #expect(byID.exitCode == 7)
        #expect(
            byID.errorOutput == "outlet: x: no such plugin (--run asks the code of files without a "
                + "manifest)\n")
    }

    @Test func `a plugin whose settings are wrong is named when plugins are listed or inspected`()
        async throws
    {
        let file = try directory.write(
            #"{"plugins": {"dev.outlet.pacer": {"permissions": ["foo"]}}}"#, to: "plugins.json")
        try #require(chmod(file, 0o600) == 0)
        for arguments in [
            ["list", directory.path], ["inspect", "dev.outlet.pacer", "--plugins", directory.path],
        ] {
            let result = try await Program.run(Products.path("outlet"), ["plugins"] + arguments)
            #expect(result.exitCode == 7)
            #expect(result.errorOutput.contains("'foo' is no permission"), "\(result)")
        }
        let report = try await outlet("plugins", "list", directory.path, "--json")
        #expect(report.output.contains("'foo' is no permission"))
    }

    @Test func `listing and inspecting plugins creates no instance`() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.copy("libFaultyCreateFails.so")
        for arguments in [["list", path], ["inspect", path], ["inspect", "--run", path]] {
            let result = try await Program.run(Products.path("outlet"), ["plugins"] + arguments)
            #expect(result.exitCode == 0)
            #expect(result.errorOutput == "")
        }
        let byID = try await outlet(
            "plugins", "inspect", "faulty.create-fails", "--run", "--plugins", folder.path)
        #expect(byID.output.hasPrefix("faulty.create-fails 1.0.0\n"))
    }

    @Test func `a missing file is not called a directory`() async throws {
        let missing = directory.path("none.so")
        let result = try await outlet("plugins", "list", missing)
        #expect(result.exitCode == 66)
        #expect(result.errorOutput == "outlet: \(missing): no such file\n")
    }

    @Test func `a second plugin with the same id is listed as a failure`() async throws {
        let copy = try directory.write(try directory.read("libpacer.so"), to: "z.so")
        let result = try await outlet("plugins", "list", directory.path)
        #expect(result.output.split(separator: "\n").count == 2)
        #expect(
            result.errorOutput
                == "outlet: \(copy): a second plugin 'dev.outlet.pacer': the first is \(pacer), and "
                + "is kept\n")
    }

    @Test func `inspect --run finds a manifest that does not match the code`() async throws {
        let lying = try directory.copy("libFaultyLyingVersion.so")
        #expect(try await outlet("plugins", "inspect", lying).exitCode == 0)
        let asked = try await outlet("plugins", "inspect", "--run", lying)
        #expect(asked.exitCode == 7)
        #expect(
            asked.errorOutput.hasPrefix("outlet: no usable plugin: \(lying): manifest is wrong: "))
    }

    @Test func `a plugin is inspected by its file and by its id`() async throws {
        let byFile = try await outlet("plugins", "inspect", pacer, "--json")
        let id = try #require(try JSONValue(parsing: byFile.standardOutput)["id"]?.stringValue)
        let byID = try await outlet("plugins", "inspect", id, "--plugins", directory.path)
        #expect(byID.exitCode == 0)
        #expect(byID.output.contains("  permissions none\n"))
        #expect(!byID.output.contains("Functions"))
        let asked = try await outlet("plugins", "inspect", "--run", id, "--plugins", directory.path)
        #expect(asked.exitCode == 0)
        #expect(asked.output.contains("Functions\n  delay_ms(int64) -> int64"))
    }

    @Test func `a function is called by name`() async throws {
        let id = try await identifier(of: pacer)
        let result = try await outlet("plugins", "call", "\(id).delay_ms", "2", "--plugins", pacer)
        #expect(result.output == "400\n")
        let negative = try await outlet(
            "plugins", "call", "\(id).delay_ms", "-2", "--plugins", pacer)
        #expect(negative.output == "-1\n", "\(negative.errorOutput)")
        let slower = try await outlet(
            "plugins", "call", "\(id).delay_ms", "2", "--plugins", pacer, "--json",
            "--plugin-config", #"\#(id)={"baseDelayMs":1000}"#)
        #expect(
            try JSONValue(parsing: slower.standardOutput)
                == [
                    "schema": "outlet.call/1", "function": .string("\(id).delay_ms"),
                    "result": 2000, "plugin_failures": [], "violations": [], "error": nil,
                ])
    }

    @Test func `the report of a failing call has the error and the plugin's code`() async throws {
        func report(_ arguments: String...) async throws -> JSONValue {
            let result = try await Program.run(
                Products.path("outlet"),
                ["plugins", "call", "--json", "--plugins", requestID] + arguments)
            #expect(result.errorOutput.split(separator: "\n").count == 1)
            return try JSONValue(parsing: result.standardOutput)
        }
        let failed = try await report("dev.outlet.request-id.format", "")
        #expect(failed["schema"] == "outlet.call/1" && failed["result"] == .null)
        #expect(failed["error"]?["plugin_code"] == "empty-id")
        #expect(
            failed["error"]?["message"]
                == "plugin dev.outlet.request-id: call of 'format' failed (empty-id): the id is empty"
        )
        let unknown = try await report("dev.outlet.request-id.none")
        #expect(unknown["error"]?["plugin_code"] == .null)
        let unusable = try await report(
            "dev.outlet.request-id.next", "--plugins", directory.path("libpacer.so"),
            "--plugin-config", #"dev.outlet.pacer={"baseDelayMs":"x"}"#)
        #expect(unusable["error"]?["message"]?.stringValue?.contains("/baseDelayMs") == true)
    }

    @Test func `the report of plugins config has valid settings and errors`() async throws {
        let arguments = [
            "plugins", "config", "--json", "--run", "--plugins", directory.path,
            "--plugin-config", #"dev.outlet.pacer={"baseDelayMs":"x"}"#,
        ]
        let result = try await Program.run(Products.path("outlet"), arguments)
        #expect(result.exitCode == 7)
        let value = try JSONValue(parsing: result.standardOutput)
        #expect(value["schema"] == "outlet.config/1")
        #expect(
            value["plugins"] == [
                [
                    "id": "dev.outlet.request-id", "file": .string(requestID), "validated": true,
                ]
            ])
        #expect(value["failures"]?[0]?["file"] == .string(pacer))
        #expect(value["failures"]?[1] == nil)
    }

    @Test(arguments: [#"{"plugin": {}}"#, "{", "[]"])
    func `reports have the error of a plugins.json that cannot be used`(text: String) async throws {
        _ = try directory.write(text, to: "plugins.json")
        for verb in [["list"], ["config"], ["config", "--run"], ["inspect", "dev.outlet.pacer"]] {
            let result = try await Program.run(
                Products.path("outlet"),
                ["plugins"] + verb + ["--json", "--plugins", directory.path])
            #expect(result.exitCode == 7)
            let message = try JSONValue(parsing: result.standardOutput)["error"]?["message"]
            #expect(message?.stringValue.map { "outlet: \($0)\n" } == result.errorOutput)
            #expect(result.errorOutput.contains("plugins.json: settings of plugins are wrong: "))
        }
    }

    @Test func `reports have the error of plugins that are not there`() async throws {
        let missing = directory.path("none.so")
        let folder = try TemporaryDirectory()
        let empty = folder.path
        for (arguments, code, message) in [
            (["list", missing], 66, "\(missing): no such file"),
            (["inspect", missing], 66, "\(missing): no such file"),
            (["list", empty], 7, "\(empty): no plugin: there is no .so file in it"),
            (["inspect", "a.b", "--plugins", directory.path], 7, "a.b: no such plugin"),
            (["config", "a.b", "--plugins", directory.path], 7, "a.b: no such plugin"),
        ] as [([String], Int32, String)] {
            let result = try await Program.run(
                Products.path("outlet"), ["plugins", "--json"] + arguments)
            #expect(result.exitCode == code)
            let report = try JSONValue(parsing: result.standardOutput)
            #expect(report["error"]?["message"] == .string(message))
        }
        let report = try await outlet("plugins", "list", "--json", requestID)
        #expect(try JSONValue(parsing: report.standardOutput)["error"] == .null)
    }

    @Test func `a call that cannot be made exits with an error of one line`() async throws {
        let id = try await identifier(of: pacer)
        for (arguments, code) in [
            (["\(id).delay_ms"], 64), (["\(id).delay_ms", "x"], 64), (["\(id).nothing"], 64),
            (["nodot"], 64), ([id], 64), (["no.such.plugin.function"], 7),
        ] as [([String], Int32)] {
            let result = try await Program.run(
                Products.path("outlet"),
                ["plugins", "call"] + arguments + ["--plugins", directory.path])
            #expect(result.exitCode == code)
            #expect(result.errorOutput.split(separator: "\n").count == 1)
        }
    }

    @Test func `a relative path in OUTLET_PLUGIN_PATH is refused, not left out`() async throws {
        for path in ["plugins", "\(directory.path):./plugins"] {
            for arguments in [[":1/"], ["plugins", "list"]] {
                let result = try await Program.run(
                    Products.path("outlet"), arguments, environment: ["OUTLET_PLUGIN_PATH": path])
                #expect(result.exitCode == 64)
                #expect(result.errorOutput.contains("OUTLET_PLUGIN_PATH: "))
                #expect(result.errorOutput.contains("plugins: not an absolute path"))
            }
        }
        let listed = try await Program.run(
            Products.path("outlet"), ["plugins", "list"],
            environment: ["OUTLET_PLUGIN_PATH": ":\(directory.path)"])
        #expect(listed.output.contains("dev.outlet.request-id"))
    }

    @Test func `OUTLET_PLUGIN_PATH without any directory is refused`() async throws {
        let result = try await Program.run(
            Products.path("outlet"), [":1/"], environment: ["OUTLET_PLUGIN_PATH": "::"])
        #expect(result.exitCode == 64)
        #expect(result.errorOutput.contains("OUTLET_PLUGIN_PATH: names no directory"))
    }

    @Test func `a configuration in a file that stdin reads is not sent as the body`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "sent"))
        let folder = try TemporaryDirectory()
        let path = try folder.write(#"{"header": "X-From-Stdin"}"#, to: "configuration")
        let result = try await Program.run(
            "/bin/sh",
            [
                "-c", #"exec "$0" "$@" < "\#(path)""#, Products.path("outlet"), "--plugins",
                requestID, "--plugin-config", "dev.outlet.request-id=@/dev/stdin", server.baseURL,
            ])
        #expect(result.exitCode == 0, "\(result.errorOutput)")
        let request = try await server.requests.values(1)[0]
        #expect(request.head.hasPrefix("GET ") && request.head.contains("X-From-Stdin: "))
    }

    @Test func `a configuration that is read from stdin is not sent as the body`() async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "sent"))
        let result = try await outlet(
            "--plugins", requestID, "--plugin-config", "dev.outlet.request-id=@/dev/stdin",
            server.baseURL, standardInput: Array(#"{"header": "X-From-Stdin"}"#.utf8))
        #expect(result.exitCode == 0 && result.output == "sent", "\(result.errorOutput)")
        let request = try await server.requests.values(1)[0]
        #expect(request.head.hasPrefix("GET ") && request.head.contains("X-From-Stdin: "))
        #expect(!request.head.contains("Content-Length"))
    }

    @Test func `a thread with a small stack can call the host`() async throws {
        let plugin = try directory.copy("libFaultySmallStack.so")
        let server = try ScriptedServer.start(.request, .respond())
        let result = try await Program.run(
            Products.path("outlet"), [server.baseURL, "--plugins", plugin])
        #expect(result.exitCode == 0, "\(result.errorOutput)")
        #expect(
            result.errorOutput == "outlet: plugin faulty.small-stack: warning: on a small stack\n")
        #expect(try await server.requests.values(1)[0].head.contains("X-Stack: small"))
    }

    @Test func `plugins have data directories in that of --plugin-data`() async throws {
        let plugin = try directory.copy("libFaultyReconfigured.so")
        func call(_ options: String...) async throws -> Program.Result {
            try await Program.run(
                Products.path("outlet"),
                ["plugins", "call", "faulty.reconfigured.directory", "--plugins", plugin] + options)
        }
        let config = ["--plugin-config", #"faulty.reconfigured={"word": "stored"}"#]
        let data = try TemporaryDirectory()
        let stored = try await call("--plugin-data", data.path + "/.", config[0], config[1])
        #expect(stored.output == "\(data.path)/faulty.reconfigured\n", "\(stored.errorOutput)")
        #expect(try data.read("faulty.reconfigured/word").isEmpty)
        #expect(try await call().output == "\n")
        #expect(try await call(config[0], config[1]).exitCode == 7)
        for path in [data.path + "/gone", plugin] {
            let result = try await call("--plugin-data", path)
            #expect(result.exitCode == 66)
            #expect(result.errorOutput.hasPrefix("outlet: --plugin-data: \(path): "))
        }
    }

    @Test func `numbers without a JSON form are results as text, and none becomes infinite`()
        async throws
    {
        let plugin = try directory.copy("libFaultyObliging.so")
        func half(_ number: String) async throws -> Program.Result {
            try await outlet(
                "plugins", "call", "faulty.obliging.half", number, "--plugins", plugin, "--json")
        }
        let results = try [await half("inf"), await half("1e300")].map {
            try JSONValue(parsing: $0.standardOutput)["result"]
        }
        #expect(results == ["inf", .double(5e299)])
        let tooLarge = try await half("1e400")
        #expect(tooLarge.exitCode == 64, "\(tooLarge.errorOutput)")
    }

    @Test func `settings that would not be read are an error or named`() async throws {
        let server = try LoopbackServer.start()
        let alone = try await outlet(server.baseURL, "--plugin-config", "dev.outlet.pacer={}")
        #expect(alone.exitCode == 64)
        #expect(alone.errorOutput.contains("--plugin-config: no plugins are loaded"))
        try directory.write("{}", to: "plugins.json")
        let file = directory.path("libpacer.so")
        let one = try await outlet("-q", "--plugins", file, "\(server.baseURL)/get")
        #expect(one.exitCode == 0)
        #expect(
            one.errorOutput
                == "outlet: \(directory.path)/plugins.json: not read for single files; --plugins "
                + "with the folder reads it\n")
        let all = try await outlet(
            "-q", "--plugins", file, "--plugins", directory.path, "\(server.baseURL)/get")
        #expect(!all.errorOutput.contains("not read"))
    }

    @Test func `plugins change a request, and the report lists their actions`() async throws {
        let server = try LoopbackServer.start()
        let result = try await outlet(
            "--json", "--plugins", directory.path, "\(server.baseURL)/unstable/1",
            "--plugin-config",
            #"\#(try await identifier(of: pacer))={"baseDelayMs":1}"#)
        #expect(result.exitCode == 0)
        let value = try JSONValue(parsing: result.standardOutput)
        #expect(value["metrics"]?["attempts"] == 2)
        let actions = try #require(value["plugins"]?.arrayValue)
        #expect(actions.compactMap { $0["hook"]?.stringValue } == ["prepare", "retry", "prepare"])
        let status = try #require(value["plugin_status"]?.arrayValue)
        #expect(status.count == 2 && status.allSatisfy { $0["tripped"] == false })
        #expect(status.contains { $0["hooks"]?["retry"]?["calls"] == 1 })
        let sent = value["response"]?["body"]?["json"]?["headers"]?["X-Request-ID"]?.stringValue
        #expect(sent?.isEmpty == false)
        #expect(
            value["request"]?["headers"]?.arrayValue?.contains {
                $0["name"] == "X-Request-ID" && $0["value"]?.stringValue == sent
            } == true)
    }

    @Test func `the report lists violations with the rule, the hook and the request`() async throws
    {
        let server = try LoopbackServer.start()
        let folder = try TemporaryDirectory()
        let result = try await outlet(
            "--json", "--plugins", try folder.copy("libFaultyCopiesTable.so"),
            "\(server.baseURL)/get?token=s3cret")
        #expect(result.exitCode == 0)
        let value = try JSONValue(parsing: result.standardOutput)
        let violation = try #require(value["violations"]?.arrayValue?.first)
        #expect(violation["plugin"] == "faulty.copies-table")
        #expect(violation["rule"] == "handle-own")
        #expect(violation["hook"] == "prepare")
        #expect(violation["fact"]?.stringValue?.isEmpty == false)
        let request = violation["request"]?.stringValue
        #expect(request?.hasPrefix("GET \(server.baseURL)/get?token=") == true)
        #expect(request?.contains("s3cret") == false)
    }

    @Test func `the timeout includes the delays between attempts`() async throws {
        let server = try LoopbackServer.start()
        let result = try await outlet(
            "--plugins", directory.path, "--timeout=6", "\(server.baseURL)/unstable/1",
            "--plugin-config", #"\#(try await identifier(of: pacer))={"baseDelayMs":9000}"#)
        #expect(result.exitCode == 2)
        let id = try await identifier(of: pacer)
        #expect(
            result.errorOutput
                == "outlet: plugin \(id): asks for another attempt after 9.0 s\n"
                + "outlet: GET \(server.baseURL)/unstable/1: no answer within 6.0 s, plugin "
                + "\(id) asks for the next attempt after 9.0 s (--timeout allows more)\n")
    }

    @Test func `an error status keeps its exit code and body with plugins`() async throws {
        let server = try LoopbackServer.start()
        let result = try await outlet("--plugins", directory.path, "\(server.baseURL)/nothing")
        #expect(result.exitCode == 4)
        #expect(result.output.hasPrefix(#"{"error":"#))
        #expect(
            result.errorOutput == "outlet: \(server.baseURL)/nothing: 404 Not Found\n")
    }

    @Test func `a plugin directory that cannot be read exits with 66`() async throws {
        let result = try await outlet("--plugins", "/nonexistent", ":1/")
        #expect(result.exitCode == 66)
        #expect(
            result.errorOutput
                == "outlet: /nonexistent: plugin directory cannot be read: "
                + "No such file or directory\n")
    }

    @Test func `a directory without a usable plugin exits with 7`() async throws {
        let other = try TemporaryDirectory()
        let empty = try await outlet("--plugins", other.path, ":1/")
        #expect(empty.exitCode == 7)
        let library = try directory.read("libpacer.so")
        _ = try other.write(Array(library.prefix(4000)), to: "truncated.so")
        let truncated = try await outlet("--plugins", other.path, ":1/")
        #expect(truncated.exitCode == 7)
        for result in [empty, truncated] {
            #expect(result.errorOutput.split(separator: "\n").count == 1)
            #expect(result.output == "")
        }
    }

    @Test(arguments: [["demo"], ["plugins", "call", "dev.outlet.request-id.next"], [":1/"]])
    func `one unusable plugin ends the program with 7`(arguments: [String]) async throws {
        let other = try TemporaryDirectory()
        _ = try other.copy("librequest-id.so")
        let signer = try other.write("no library", to: "signer.so")
        let result = try await Program.run(
            Products.path("outlet"), arguments + ["--plugins", other.path])
        #expect(result.exitCode == 7)
        #expect(
            result.errorOutput
                == "outlet: \(signer): not a usable shared library: it is not an ELF file "
                + "(--plugins-optional continues without it)\n")
        #expect(result.output == "")
    }

    @Test func `reports have all plugins that cannot be used`() async throws {
        let folder = try TemporaryDirectory()
        _ = try folder.copy("librequest-id.so")
        let creating = try folder.copy("libFaultyCreateFails.so")
        let signer = try folder.write("no library", to: "signer.so")
        for arguments in [
            [":1/"], ["plugins", "call", "dev.outlet.request-id.next"],
            ["plugins", "call", "dev.outlet.request-id.next", "--plugins-optional"],
        ] {
            let result = try await Program.run(
                Products.path("outlet"), arguments + ["--json", "--plugins", folder.path])
            let report = try JSONValue(parsing: result.standardOutput)
            let failures = report["plugin_failures"]?.arrayValue ?? []
            #expect(failures.map { $0["file"] } == [.string(creating), .string(signer)])
            #expect(failures.map { $0["plugin_code"] } == ["no-licence", .null])
            #expect(
                failures.last?["message"]
                    == .string("\(signer): not a usable shared library: it is not an ELF file"))
        }
    }

    @Test func `an unusable plugin prevents the request, except with --plugins-optional`()
        async throws
    {
        let server = try ScriptedServer.start(
            .request, .respond(body: "sent"))
        let other = try TemporaryDirectory()
        _ = try other.copy("librequest-id.so")
        _ = try other.copy("libFaultyCreateFails.so")
        let refused = try await outlet("--plugins", other.path, server.baseURL)
        #expect(refused.exitCode == 7)
        #expect(refused.errorOutput.contains("'faulty.create-fails' could not start"))
        let report = try await outlet("--json", "--plugins", other.path, "\(server.baseURL)/a")
        #expect(report.exitCode == 7 && report.errorOutput == refused.errorOutput)
        let value = try JSONValue(parsing: report.standardOutput)
        #expect(value["request"]?["url"] == .string("\(server.baseURL)/a"))
        #expect(value["response"] == .null && value["exit_code"] == 7)
        #expect(value["error"]?["code"] == "pluginUnusable")
        #expect(value["error"]?["plugin_code"] == "no-licence")
        #expect(server.requests.count == 0)
        let sent = try await outlet(
            "--plugins", other.path, "--plugins-optional", server.baseURL)
        #expect(sent.exitCode == 0 && sent.output == "sent")
        #expect(sent.errorOutput.contains("'faulty.create-fails' could not start"))
        #expect(try await server.requests.values(1)[0].head.contains("X-Request-ID"))
    }

    @Test func `configuration for an unknown plugin ends the program with 7`() async throws {
        let result = try await outlet(
            "--plugins", directory.path, "--plugin-config", "dev.outlet.signer={}", ":1/")
        #expect(result.exitCode == 7)
        #expect(
            result.errorOutput.hasPrefix(
                "outlet: --plugin-config: configuration for 'dev.outlet.signer': no such plugin"))
    }

    @Test func `keys of --plugin-config override those of the settings file`() async throws {
        let id = try await identifier(of: pacer)
        let settings = try directory.write(
            #"{"plugins": {"\#(id)": {"config": {"baseDelayMs": 500, "maxDelayMs": 900}}}}"#,
            to: "plugins.json")
        chmod(settings, 0o600)
        let call = ["plugins", "call", "\(id).delay_ms", "--plugins", directory.path]
        func delay(_ attempt: Int, _ options: String...) async throws -> Program.Result {
            try await Program.run(Products.path("outlet"), call + ["\(attempt)"] + options)
        }
        #expect(try await delay(1).output == "500\n")
        let file = try directory.write(#"{"baseDelayMs": 700}"#, to: "pacer.json")
        chmod(file, 0o600)
        let closed = try await delay(1, "--plugin-config", "\(id)=@\(file)")
        #expect(closed.output == "700\n" && closed.errorOutput == "")
        #expect(try await delay(2, "--plugin-config", "\(id)=@\(file)").output == "900\n")
        chmod(file, 0o644)
        let readable = try await delay(1, "--plugin-config", "\(id)=@\(file)")
        #expect(
            readable.errorOutput
                == "outlet: \(file): holds configuration and is readable by all users (mode 644); "
                + "chmod o-r\n")
        for (mode, who) in [(0o666, "all users"), (0o664, "its group"), (0o660, "its group")]
            as [(mode_t, String)]
        {
            chmod(file, mode)
            let open = try await delay(1, "--plugin-config", "\(id)=@\(file)")
            #expect(open.exitCode == 7 && open.output == "")
            #expect(
                open.errorOutput == "outlet: --plugin-config: \(id): \(file) is writable by \(who) "
                    + "(mode \(String(mode, radix: 8))); chmod go-w\n")
        }
        chmod(file, 0o600)
        _ = try directory.write(#"{"baseDelayMs": "hush"}"#, to: "pacer.json")
        let wrong = try await delay(1, "--plugin-config", "\(id)=@\(file)")
        #expect(wrong.exitCode == 7)
        #expect(
            wrong.errorOutput.contains(
                "configuration of '\(id)' is wrong: \(file): /baseDelayMs: expected a whole number, "
                    + "found a string"))
        #expect(!wrong.errorOutput.contains("hush"))
        _ = try directory.write(#"{"baseDelayMs": hush}"#, to: "pacer.json")
        let broken = try await delay(1, "--plugin-config", "\(id)=@\(file)")
        #expect(broken.exitCode == 64)
        #expect(broken.errorOutput.contains("--plugin-config: \(id): \(file): not JSON at byte 16"))
        chmod(file, 0o600)
        let place = try directory.write("{}", to: "open/pacer.json")
        chmod(directory.path("open"), 0o777)
        let unsafe = try await delay(1, "--plugin-config", "\(id)=@\(place)")
        #expect(unsafe.exitCode == 7)
        #expect(unsafe.errorOutput.contains("\(directory.path("open")) is writable by all users"))
        let missing = try await delay(1, "--plugin-config", "\(id)=@\(file).old")
        #expect(missing.exitCode == 64)
        let long = try directory.write(
            String(repeating: " ", count: 1 << 20) + "{}", to: "long.json")
        #expect(try await delay(1, "--plugin-config", "\(id)=@\(long)").exitCode == 64)
        #expect(try await delay(1, "--plugin-config", "hush").errorOutput.contains("hush") == false)
    }

    @Test func `several --plugin-config for one id are merged key by key`() async throws {
        let id = try await identifier(of: pacer)
        let file = try directory.write(
            #"{"baseDelayMs": 700, "maxDelayMs": 900}"#, to: "pacer.json")
        chmod(file, 0o600)
        func delay(_ attempt: Int, _ values: [String]) async throws -> Program.Result {
            try await Program.run(
                Products.path("outlet"),
                ["plugins", "call", "\(id).delay_ms", "\(attempt)", "--plugins", pacer]
                    + values.flatMap { ["--plugin-config", "\(id)=\($0)"] })
        }
        let both = [#"{"baseDelayMs": 300}"#, #"{"maxDelayMs": 500}"#]
        let cases = [
            (1, both, 300), (2, both, 500), (1, ["@\(file)", both[0]], 300),
            (2, ["@\(file)"] + both, 500), (1, [both[0], "@\(file)"], 700),
        ]
        for (attempt, values, milliseconds) in cases {
            let result = try await delay(attempt, values)
            #expect(result.output == "\(milliseconds)\n", "\(result.errorOutput)")
        }
        let wrong = try await delay(1, ["@\(file)", #"{"baseDelayMs": "x"}"#])
        #expect(
            wrong.errorOutput.contains(
                " is wrong: \(file), --plugin-config: /baseDelayMs: expected a whole number"))
        let repeated = try await delay(1, ["@\(file)", #"{"maxDelayMs": 1, "maxDelayMs": 2}"#])
        #expect(repeated.errorOutput.contains("the key 'maxDelayMs' is there twice"))
    }

    @Test func `settings are listed, shown and checked without creating plugins`() async throws {
        let id = try await identifier(of: pacer)
        let settings = try directory.write(
            #"""
            {"plugins": {"\#(id)": {"instances": [{"name": "eu"}, {"name": "us"}], "permissions": []},
                         "dev.outlet.request-id": {"enabled": false, "config": {"prefix": 1}}}}
            """#, to: "plugins.json")
        chmod(settings, 0o600)
        let list = try await outlet("plugins", "list", directory.path)
        #expect(
            list.output == """
                \(id)       1.0.0  ABI 1.0  no permissions  enabled, instances eu us  \(pacer)
                dev.outlet.request-id  1.0.0  ABI 1.0  no permissions  disabled                  \(requestID)

                """)
        let page = try await outlet("plugins", "inspect", id, "--plugins", directory.path)
        #expect(page.output.contains("  use         enabled, instances eu us\n"))
        let report = try await outlet(
            "plugins", "inspect", "dev.outlet.request-id", "--json", "--plugins", directory.path)
        let value = try JSONValue(parsing: report.standardOutput)
        #expect(value["enabled"] == false && value["instances"] == [] && value["granted"] == [])
        let called = try await outlet(
            "plugins", "call", "\(id)#us.delay_ms", "1", "--plugins", directory.path)
        #expect(called.output == "200\n")
        let known = try await outlet("plugins", "config", "--plugins", directory.path)
        #expect(known.exitCode == 0)
        let checked = try await outlet("plugins", "config", "--run", "--plugins", directory.path)
        #expect(checked.exitCode == 7)
        #expect(checked.output == "\(id): settings fit\n")
        #expect(checked.errorOutput.contains("/prefix: expected a string, found a whole number"))
        let own = try await outlet("plugins", "config", id, "--run", "--plugins", directory.path)
        #expect(own.exitCode == 0)
        _ = try directory.write(#"{"plugin": {}}"#, to: "plugins.json")
        for verb in [["list"], ["config"], ["inspect", id], ["call", "\(id).delay_ms", "1"]] {
            let result = try await Program.run(
                Products.path("outlet"), ["plugins"] + verb + ["--plugins", directory.path])
            #expect(result.exitCode == 7)
            #expect(
                result.errorOutput.contains(
                    "\(settings): settings of plugins are wrong: unknown key 'plugin'; did you mean "
                        + "'plugins'?; the key 'plugins' is missing"))
        }
    }

    @Test func `the permissions of a plugin are shown`() async throws {
        let kit = try directory.copy("libKitFixture.so")
        let page = try await outlet(
            "plugins", "inspect", "test.kit", "--run", "--plugins", directory.path)
        #expect(
            page.output.contains(
                "  permissions env:HOME, net:token.example\n  granted     env:HOME, net:token.example\n"
            ))
        let settings = try directory.write(
            #"{"plugins": {"test.kit": {"permissions": ["net:*"]}}}"#, to: "plugins.json")
        chmod(settings, 0o600)
        let withheld = try await outlet(
            "plugins", "inspect", "test.kit", "--run", "--plugins", directory.path)
        #expect(
            withheld.output.contains(
                "  granted     net:token.example, but not env:HOME: it will not be created\n"))
        let checked = try await outlet(
            "plugins", "config", "test.kit", "--run", "--plugins", directory.path)
        #expect(checked.exitCode == 7)
        #expect(
            checked.errorOutput
                == "outlet: \(kit): 'test.kit' needs permissions that are not granted: env:HOME "
                + "(policy: \(settings))\n")
        let server = try LoopbackServer.start()
        let sent = try await outlet("-v", "--plugins", kit, "\(server.baseURL)/get")
        #expect(
            sent.errorOutput.contains(
                "outlet: plugin test.kit: granted: env:HOME, net:token.example\n"))
    }

    @Test(arguments: ["finalize", "redirect"])
    func `a plugin that checks addresses also checks redirects`(hook: String) async throws {
        let server = try LoopbackServer.start()
        let guarding = try directory.copy("libFaultyGuardsAddress.so")
        let result = try await outlet(
            "--follow", "--plugins", guarding, "\(server.baseURL)/redirect/2", "--plugin-config",
            #"faulty.guards-address={"refused":"/get","hook":"\#(hook)"}"#)
        #expect(result.exitCode == 7)
        #expect(
            result.errorOutput.contains(
                "plugin faulty.guards-address: \(hook) failed: the address is refused"))
        #expect(result.output == "")
        let passed = try await outlet(
            "--follow", "--plugins", guarding, "\(server.baseURL)/redirect/2", "--plugin-config",
            #"faulty.guards-address={"refused":"/post","hook":"\#(hook)"}"#)
        #expect(passed.exitCode == 0)
    }

    @Test(arguments: [
        ["plugins", "list"], ["plugins", "inspect", "faulty.raw-text"],
        ["plugins", "inspect", "faulty.raw-text", "--run"],
        ["plugins", "inspect", "faulty.raw-text", "--run", "--json"],
        ["plugins", "call", "faulty.raw-text.text"], ["plugins", "list", "--json"],
        ["plugins", "inspect", "faulty.raw-text", "--json"],
        ["plugins", "call", "faulty.raw-text.text", "--json"], ["URL", "-v"], ["URL", "X-Fail:1"],
    ])
    func `control characters of a plugin do not reach the terminal`(arguments: [String])
        async throws
    {
        let server = try LoopbackServer.start()
        let raw = try directory.copy("libFaultyRawText.so")
        let program = try RunningProgram(
            Products.path("outlet"),
            arguments.map { $0 == "URL" ? "\(server.baseURL)/status/204" : $0 }
                + ["--color=never", "--plugins", raw],
            standardOutput: .terminal(columns: 200))
        let text = try await program.result().output
        #expect(text.contains("^[[31m") || text.contains("<U+009B>"))
        let live = text.unicodeScalars.filter { scalar in
            switch scalar.value {
            case 0x0A, 0x0D: false
            case 0..<0x20, 0x7F...0x9F, 0x202E: true
            default: false
            }
        }
        #expect(live.isEmpty, "\(live.map { String($0.value, radix: 16) }) in \(text)")
        // The terminal itself adds a carriage return to each line end.
        #expect(text.utf8.count { $0 == 0x0D } == text.utf8.count { $0 == 0x0A })
    }

    @Test func `output that a plugin prints goes to stderr`() async throws {
        let server = try LoopbackServer.start()
        let raw = try directory.copy("libFaultyRawText.so")
        let result = try await outlet("\(server.baseURL)/get", "--plugins", raw, "--json")
        #expect(!result.output.contains("printed by a plugin"))
        #expect(result.errorOutput.contains("printed by a plugin"))
        #expect(result.exitCode == 0)
    }

    @Test func `the result of a function goes unchanged into a pipe`() async throws {
        let raw = try directory.copy("libFaultyRawText.so")
        let result = try await outlet("plugins", "call", "faulty.raw-text.text", "--plugins", raw)
        #expect(result.output.hasPrefix("a result's \u{1B}]0;owned\u{07}"))
    }

    @Test func `the demonstration exits with 0 and shows all parts`() async throws {
        let result = try await outlet("demo", "--plugins", directory.path)
        #expect(result.exitCode == 0)
        #expect(result.errorOutput == "")
        #expect(result.output.contains("10 requests, all as expected: 11 attempts"))
        for text in ["X-Request-ID", "retry", "timing"] { #expect(result.output.contains(text)) }
    }

    @Test func `the demonstration finds its files beside the program`() async throws {
        #expect(try await outlet("demo").exitCode == 0)
    }

    @Test func `the demonstration can be interrupted`() async throws {
        let program = try RunningProgram(
            Products.path("outlet"),
            [
                // The third request is retried after an hour.
                "demo", "--plugins", directory.path, "--plugin-config",
                #"\#(try await identifier(of: pacer))={"baseDelayMs":3600000,"maxDelayMs":3600000}"#,
            ])
        try await program.output(containing: "/post")
        program.signal(2)
        let result = try await program.result(within: .seconds(10))
        #expect(result.exitCode == 130)
        #expect(!result.output.contains("10 requests"))
    }

    private func identifier(of file: String) async throws -> String {
        let result = try await outlet("plugins", "inspect", file, "--json")
        return try #require(try JSONValue(parsing: result.standardOutput)["id"]?.stringValue)
    }
}
