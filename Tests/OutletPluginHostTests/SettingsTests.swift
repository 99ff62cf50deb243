import FoundationEssentials
import Glibc
import OutletHTTP
import OutletProvider
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletPluginHost

/// The settings of plugins in `plugins.json` and in the program's options.
@Suite struct SettingsTests {
    private let folder: PluginFolder
    private let requestID = "dev.outlet.request-id"

    init() throws { folder = try PluginFolder(samples: ["librequest-id.so"]) }

    private var file: String { folder.directory.path("plugins.json") }

    @discardableResult
    private func write(_ text: String, mode: mode_t = 0o600) throws -> String {
        let path = try folder.directory.write(text, to: "plugins.json")
        chmod(path, mode)
        return path
    }

    private func load(
        _ change: (inout PluginHost.Options) -> Void = { _ in }
    ) throws -> PluginHost {
        var options = PluginHost.Options()
        change(&options)
        return try PluginHost.load(directories: [folder.path], options: options)
    }

    private func failure(_ change: (inout PluginHost.Options) -> Void = { _ in }) -> String? {
        do {
            _ = try load(change)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Returns what a check of the settings, which creates no plugin, says against a file's plugins.
    private func objections(to path: String) throws -> [String] {
        let inspection = try PluginInspection([.directory(folder.path)])
        return try inspection.files.filter { $0.path == path }.flatMap { file in
            try file.askCode().plugins.flatMap { file.objections(to: $0).map(\.description) }
        }
    }

    /// Returns a header line from the plugin, which contains its configured values.
    private func line(_ host: PluginHost, _ name: String? = nil) throws -> String {
        try host.call("\(name ?? requestID).format", ["x"]).description
    }

    // MARK: Configuration

    @Test func `a number of the program's settings that is too large is reported with its place`()
        throws
    {
        let list = try JSONValue(parsing: "[1, 1e999]")
        let failure = failure { options in
            options.settings[requestID] = PluginSettings()
            options.settings[requestID]?.configuration["header"] = list
        }
        #expect(failure?.contains("/header/1: the number is larger than any that is read") == true)
    }

    @Test func `configuration for an instance needs the bytes of its name`() throws {
        try write(
            #"{"plugins": {"dev.outlet.request-id": {"instances": [{"name": "K"}]}}}"#)
        let label = "\(requestID)#\u{212A}"
        #expect(
            failure { $0.configuration = [label: "{}"] }
                == "\(folder.path): configuration for '\(label)': no such plugin; there is "
                + "\(requestID)#K")
        let host = try load()
        #expect(throws: PluginCallError.unknownPlugin(label, known: ["\(requestID)#K"])) {
            try host.call("\(label).format", ["x"])
        }
    }

    @Test func `a key beside config is shown its place`() throws {
        func texts(_ entry: String) throws -> String {
            try write(#"{"plugins": {"dev.outlet.request-id": \#(entry)}}"#)
            return failure() ?? ""
        }
        #expect(
            try texts(#"{"header": "X-Id", "config": {}}"#).contains(
                "/plugins/dev.outlet.request-id: unknown key 'header'; did you mean 'config.header'?"
            ))
        #expect(
            try texts(#"{"instances": [{"name": "a", "header": "X"}]}"#).contains(
                "/instances/0: unknown key 'header'; did you mean 'config.header'?"))
        #expect(
            try texts(#"{"enable": true}"#).contains(
                "unknown key 'enable'; did you mean 'enabled'?"))
        try write(#"{"header": "X"}"#)
        #expect(failure()?.contains("config.header") == false)
    }

    @Test func `options of the program override the file, key by key`() throws {
        try write(
            #"{"plugins": {"dev.outlet.request-id": {"config": {"prefix": "f-", "header": "X-File"}}}}"#
        )
        #expect(try line(load()) == "X-File: f-x")
        let settled = try load {
            var settings = PluginSettings()
            settings.configuration = ["prefix": "s-"]
            $0.settings = [requestID: settings]
        }
        #expect(try line(settled) == "X-File: s-x")
        let configured = try load {
            var settings = PluginSettings()
            settings.configuration = ["prefix": "s-", "header": "X-Set"]
            $0.settings = [requestID: settings]
            $0.configuration = [requestID: #"{"prefix": "o-"}"#]
        }
        #expect(try line(configured) == "X-Set: o-x")
        #expect(try line(load { $0.readsSettingsFiles = false }) != "X-File: f-x")
    }

    @Test func `an error in the settings of a missing plugin names the file once`() throws {
        try write(#"{"plugins": {"not.there": {"permissions": ["file:x"]}}}"#)
        let inspection = try PluginInspection([.directory(folder.path)])
        let texts = inspection.failures.map(\.description)
        #expect(
            texts.contains {
                $0.hasPrefix("\(file): configuration of 'not.there' is wrong: /permissions/0: ")
            }, "\(texts)")
    }

    @Test func `an inspection reports settings of the program for what does not exist`() throws {
        try write(#"{"plugins": {"dev.outlet.request-id": {"instances": [{"name": "a"}]}}}"#)
        let known = ["\(requestID)#a", requestID]
        let missing = ["\(requestID)#b", "not.there"]
        let inspection = try PluginInspection(
            [.directory(folder.path)],
            configuration: .init(uniqueKeysWithValues: (known + missing).map { ($0, "{}") }))
        #expect(
            inspection.failures
                == missing.map {
                    .unknownPlugin(path: folder.path, id: $0, known: ["\(requestID)#a"])
                })
    }

    @Test func `each violation names the source of the configuration`() throws {
        try write(
            #"{"plugins": {"dev.outlet.request-id": {"config": {"prefix": 1, "a/b": 2}}}}"#)
        let library = "\(folder.path)/librequest-id.so"
        #expect(
            failure()
                == "\(library): configuration of '\(requestID)' is wrong: \(file): /prefix: expected a "
                + "string, found a whole number; unknown key 'a/b'")
        let mixed = failure {
            $0.configuration = [requestID: #"{"header": ""}"#]
            $0.configurationSources = [requestID: "--plugin-config"]
        }
        #expect(
            mixed
                == "\(library): configuration of '\(requestID)' is wrong: /header: has fewer than 1 "
                + "character (--plugin-config); /prefix: expected a string, found a whole number "
                + "(\(file)); unknown key 'a/b' (\(file))")
    }

    @Test(arguments: [
        ("", "not JSON at byte 0 (line 1, column 1): the text ends before the value does"),
        ("[]", "not a JSON object"),
        (
            "{}",
            #"the key 'plugins' is missing; the form is {"plugins": {"ID": {"config": {}}}}"#
        ),
        (
            "{\n \"plugins\": nan}",
            "not JSON at byte 15 (line 2, column 14): found 'a', expected 'null'"
        ),
        (#"{"plugins": {}, "plugins": {}}"#, "the key 'plugins' is there twice"),
        (
            #"{"plugins": {"a": {"config": {"k": 1, "k": 2}}}}"#,
            "/plugins/a/config: the key 'k' is there twice"
        ),
        (
            #"{"plugins": {"a": {"enable": true}}}"#,
            "/plugins/a: unknown key 'enable'; did you mean 'enabled'?"
        ),
        (
            #"{"plugins": {"a": {"enabled": "no"}}}"#,
            "/plugins/a/enabled: expected true or false, found a string"
        ),
        (
            #"{"plugins": {"a": {"config": []}}}"#,
            "/plugins/a/config: expected an object, found an array"
        ),
        (
            #"{"plugins": {"a": {"config": {"k": 1e999}}}}"#,
            "/plugins/a/config/k: the number is larger than any that is read"
        ),
        (
            #"{"plugins": {"a": {"instances": []}}}"#,
            "/plugins/a/instances: has fewer than 1 element"
        ),
        (
            #"{"plugins": {"A": {}}}"#,
            "/plugins: the key 'A' is no name: does not match the pattern '^[a-z0-9.-]{1,128}$'"
        ),
    ])
    func `an invalid settings file is refused with the position or path`(
        text: String, fact: String
    ) throws {
        try write(text)
        let expected = "\(file): settings of plugins are wrong: \(fact)"
        #expect(failure() == expected)
        // The file restricts the permissions of plugins, so it must be valid with any load policy.
        #expect(failure { $0.loadPolicy = .usable } == expected)
    }

    @Test func `a settings file with invalid UTF-8 or deep nesting is refused`() throws {
        let deep = #"{"plugins": "# + String(repeating: "[", count: 1 << 19)
        try write(deep)
        #expect(failure()?.contains("nested deeper than 64 levels") == true)
        try Data(#"{"plugins": {"a": {"config": {"k": ""#.utf8 + [0xFF] + #""}}}}"#.utf8)
            .write(to: URL(filePath: file))
        #expect(failure()?.contains("bytes that are not UTF-8") == true)
        try Data([0xEF, 0xBB, 0xBF] + Array(#"{"plugins": {}}"#.utf8)).write(
            to: URL(filePath: file))
        #expect(failure() == nil)
    }

    @Test func `more than a thousand plugins or keys are refused`() throws {
        func members(_ value: String, count: Int = 1000) -> String {
            "{" + (0...count).map { "\"k\($0)\": \(value)" }.joined(separator: ",") + "}"
        }
        try write(#"{"plugins": \#(members("{}", count: 60_000))}"#)
        let start = "\(file): settings of plugins are wrong: "
        #expect(failure() == start + "/plugins: has more than 1000 keys")
        try write(#"{"plugins": {"a": {"config": \#(members("0"))}}}"#)
        #expect(failure() == start + "/plugins/a/config: has more than 1000 keys")
        unlink(file)
        #expect(
            failure { $0.configuration = [requestID: members("0")] }?
                .hasSuffix("is wrong: the program: it has more than 1000 keys") == true)
    }

    @Test func `a settings file that others can write is refused`() throws {
        try write(#"{"plugins": {}}"#, mode: 0o620)
        let start = "\(file): settings of plugins cannot be used: "
        #expect(failure() == start + "it is writable by its group (mode 620); chmod go-w")
        #expect(failure { $0.checksOwnership = false } == nil)
    }

    @Test func `a settings file that is not regular or is too large is refused`() throws {
        let start = "\(file): settings of plugins cannot be used: "
        mkfifo(file, 0o600)
        #expect(failure() == start + "it is no regular file")
        unlink(file)
        symlink("/dev/null", file)
        #expect(failure() == start + "it is a symbolic link; copy the file instead")
        unlink(file)
        mkdir(file, 0o700)
        #expect(failure() == start + "it is no regular file")
        rmdir(file)
        try write("")
        truncate(file, 1 << 40)
        #expect(
            failure() == start + "it has 1099511627776 bytes, at most 1048576 are read")
    }

    @Test func `configuration that all users can read gives a warning`() throws {
        let text = #"{"plugins": {"dev.outlet.request-id": {"config": {"prefix": "p"}}}}"#
        try write(text, mode: 0o644)
        #expect(
            try load().warnings == [
                "\(file): holds configuration and is readable by all users (mode 644); chmod o-r"
            ])
        try write(text, mode: 0o640)
        #expect(try load().warnings == [])
        try write(#"{"plugins": {"dev.outlet.request-id": {"enabled": true}}}"#, mode: 0o644)
        #expect(try load().warnings == [])
    }

    @Test func `settings for a plugin of another directory are an error`() throws {
        try write(#"{"plugins": {"dev.outlet.pacer": {}, "dev.outlet.request-id": {}}}"#)
        #expect(
            failure()
                == "\(file): configuration for 'dev.outlet.pacer': no such plugin; there is \(requestID)"
        )
        let other = try PluginFolder(samples: ["libpacer.so"])
        #expect(throws: PluginDirectoryError.self) {
            try PluginHost.load(directories: [folder.path, other.path])
        }
    }

    // MARK: Use

    @Test func `a disabled plugin is not mapped`() async throws {
        // Its constructor would end the process if the library were mapped.
        try await folder.compile(
            #"""
            __attribute__((constructor)) static void end(void) { abort(); }
            OUTLET_MANIFEST("not.wanted", "1.0.0", "\"env:HOME\"");
            static const outlet_descriptor descriptor = {DESCRIPTOR("not.wanted")};
            OUTLET_MODULE(descriptor)
            """#, as: "a.so")
        try write(
            #"""
            {"plugins": {"not.wanted": {"enabled": false, "config": {"x": 1},
                                        "instances": [{"name": "a"}]}}}
            """#)
        let host = try load { $0.configuration = ["not.wanted#a": "{}"] }
        #expect(host.plugins.map(\.id) == [requestID])
        #expect(host.disabled == ["not.wanted"])
        // A plugin whose manifest needs a permission that is not granted is not mapped either.
        let path = "\(folder.path)/a.so"
        try write(#"{"plugins": {"not.wanted": {"permissions": ["env:PATH"]}}}"#)
        #expect(
            failure()
                == "\(path): 'not.wanted' needs permissions that are not granted: env:HOME (policy: "
                + "\(file))")
        try write(#"{"plugins": {"not.wanted": {"permissions": [], "optional": true}}}"#)
        #expect(
            try load().skipped == [
                .notGranted(
                    path: path, id: "not.wanted", permissions: ["env:HOME"], policy: file)
            ])
        try write(#"{"plugins": {"not.wanted": {"enabled": false}}}"#)
        let settled = try load {
            var settings = PluginSettings()
            settings.isEnabled = false
            $0.settings = [requestID: settings]
        }
        #expect(settled.plugins.isEmpty)
    }

    @Test func `a plugin without a manifest can be disabled by the id in its code`() throws {
        try folder.copy("libFaultyCreateFails.so")
        try write(#"{"plugins": {"faulty.create-fails": {"enabled": false}}}"#)
        #expect(try load().disabled == ["faulty.create-fails"])
    }

    @Test func `an optional plugin that cannot be used is skipped`() throws {
        try folder.copy("libFaultyCreateFails.so")
        try folder.copy("libFaultyLyingVersion.so")
        let lying = "faulty.lying-version"
        try write(
            #"""
            {"plugins": {"faulty.create-fails": {"optional": true}, "not.there": {"optional": true},
                         "faulty.lying-version": {"optional": true}}}
            """#)
        let host = try load()
        #expect(host.failures == [])
        #expect(host.plugins.map(\.id) == [requestID])
        #expect(
            host.skipped.map(\.path) == [
                "\(folder.path)/libFaultyCreateFails.so", "\(folder.path)/libFaultyLyingVersion.so",
                file,
            ])
        try write(#"{"plugins": {"faulty.create-fails": {"optional": true}}}"#)
        #expect(failure()?.contains(lying) == true)
    }

    // MARK: Instances

    private let two = #"""
        {"plugins": {"dev.outlet.request-id": {
            "config": {"header": "X-Both", "prefix": "p-"},
            "instances": [{"name": "b", "config": {"prefix": "b-"}}, {"name": "a"}]}}}
        """#

    @Test func `instances run at the same time, each with its own configuration and name`()
        async throws
    {
        try write(two)
        let recorder = ActivityRecorder()
        let host = try load {
            $0.observer = recorder
            $0.configuration = ["\(requestID)#a": #"{"header": "X-A"}"#]
        }
        #expect(host.plugins.map(\.id) == ["\(requestID)#b", "\(requestID)#a"])
        #expect(host.plugins.map(\.pluginID) == [requestID, requestID])
        #expect(host.plugins.map(\.instanceName) == ["b", "a"])
        #expect(try line(host, "\(requestID)#b") == "X-Both: b-x")
        #expect(try line(host, "\(requestID)#a") == "X-A: p-x")
        #expect(throws: PluginCallError.unknownPlugin(requestID, known: host.plugins.map(\.id))) {
            try host.call("\(requestID).count")
        }
        let stub = StubTransport(answers: [.status(200)])
        _ = try await host.provider(over: stub).request(.page)
        let headers = try #require(stub.requests.first).headers
        #expect(headers["X-Both"]?.hasPrefix("b-") == true)
        #expect(headers["X-A"]?.hasPrefix("p-") == true)
        let prepared = try await recorder.activities.values(2).filter { $0.hook == .prepare }
        #expect(prepared.map(\.plugin) == host.plugins.map(\.id))
    }

    @Test(arguments: [
        (#"[{"name": "a"}, {"name": "a"}]"#, "/instances/1/name: a second instance 'a'"),
        (
            #"[{"name": "a#b"}]"#,
            "/instances/0/name: not 1 to 64 letters, digits, '.', '-' and '_'"
        ),
        (#"[{"name": ""}]"#, "/instances/0/name: not 1 to 64 letters, digits, '.', '-' and '_'"),
    ])
    func `instance names must be unique and valid`(instances: String, fact: String) throws {
        try write(#"{"plugins": {"dev.outlet.request-id": {"instances": \#(instances)}}}"#)
        #expect(
            failure()
                == "\(folder.path)/librequest-id.so: configuration of '\(requestID)' is wrong: "
                + "\(file): \(fact)")
    }

    @Test func `configuration for an unknown instance is an error`() throws {
        try write(two)
        #expect(
            failure { $0.configuration = ["\(requestID)#c": "{}"] }
                == "\(folder.path): configuration for '\(requestID)#c': no such plugin; there is "
                + "\(requestID)#b, \(requestID)#a")
    }

    @Test func `a plugin that allows one instance per process is refused with two instances`()
        async throws
    {
        let path = try await folder.compile(
            #"""
            static const outlet_descriptor descriptor = {
                DESCRIPTOR("only.one"), .flags = OUTLET_F_PER_PROCESS};
            OUTLET_MODULE(descriptor)
            """#, as: "one.so")
        try write(#"{"plugins": {"only.one": {"instances": [{"name": "a"}, {"name": "b"}]}}}"#)
        let refusal =
            "\(path): 'only.one' could not start: it allows one instance per process, and "
            + "settings name 2"
        #expect(failure() == refusal)
        #expect(try objections(to: path) == [refusal])
        try write(#"{"plugins": {"only.one": {"instances": [{"name": "a"}]}}}"#)
        #expect(try objections(to: path) == [])
        for _ in 0..<2 {
            let host = try load()
            #expect(host.plugins.map(\.id).contains("only.one#a"))
            #expect(await host.shutDown() == [])
        }
    }

    // MARK: Permissions

    /// Compiles a plugin that needs the given permissions, and logs whether the host denies it the
    /// service `outlet.http/1`.
    ///
    /// - Returns: The path of the plugin.
    private func asking(_ permissions: String, count: Int) async throws -> String {
        try await folder.compile(
            #"""
            static const outlet_view permissions[] = {\#(permissions)};
            static outlet_status start(const outlet_descriptor *descriptor, const outlet_host *host,
                                       outlet_call call, const outlet_config *config,
                                       outlet_instance **out) {
                const void *service;
                outlet_status http = host->extension(host, outlet_text("outlet.http/1"), &service);
                outlet_status none = host->extension(host, outlet_text("no.such/1"), &service);
                if (none != OUTLET_E_UNSUPPORTED) return OUTLET_E_FAILED;
                host->log(host, call, OUTLET_LOG_INFO,
                          outlet_text(http == OUTLET_E_DENIED ? "denied" : "not denied"), NULL, 0);
                return make(descriptor, host, call, config, out);
            }
            static const outlet_descriptor descriptor = {
                .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("asks.much"),
                .version = OUTLET_TEXT("1.0.0"), .create = start, .destroy = unmake,
                .permissions = permissions, .permission_count = \#(count)};
            OUTLET_MODULE(descriptor)
            """#, as: "asks.so")
    }

    @Test func `a plugin that needs more than its policy grants is refused before it starts`()
        async throws
    {
        let path = try await asking(
            #"OUTLET_TEXT("net:api.example.com"), OUTLET_TEXT("env:HOME")"#, count: 2)
        try write(#"{"plugins": {"asks.much": {"permissions": ["net:*.example.com"]}}}"#)
        let recorder = ActivityRecorder()
        #expect(
            failure { $0.observer = recorder }
                == "\(path): 'asks.much' needs permissions that are not granted: env:HOME (policy: "
                + "\(file))")
        #expect(recorder.lines.values.isEmpty)
        let host = try load {
            var settings = PluginSettings()
            settings.permissions = ["net:*", "env:HOME", "env:PATH"]
            $0.settings = ["asks.much": settings]
            $0.observer = recorder
        }
        let plugin = try #require(host.plugins.first { $0.id == "asks.much" })
        #expect(
            plugin.grants.permissions.map(\.description) == ["net:api.example.com", "env:HOME"])
        #expect(recorder.lines.values.last?.message == "not denied")
    }

    @Test
    func `without a policy all known permissions are granted, and unknown ones give a warning`()
        async throws
    {
        let path = try await asking(#"OUTLET_TEXT("fs:/tmp"), OUTLET_TEXT("env:A")"#, count: 2)
        let recorder = ActivityRecorder()
        let host = try load { $0.observer = recorder }
        #expect(host.plugins.first?.grants.permissions.map(\.description) == ["env:A"])
        #expect(
            host.warnings == [
                "\(path): 'asks.much' asks for something that it is not granted: 'fs:/tmp' is no "
                    + "permission that this host knows: there are net:HOST, net:HOST:PORT and env:NAME"
            ])
        // Without a network permission, the plugin does not get the service for requests.
        #expect(recorder.lines.values.last?.message == "denied")
    }

    @Test func `a policy with an unknown permission is refused`() async throws {
        try write(#"{"plugins": {"dev.outlet.request-id": {"permissions": ["net:*", "nett:x"]}}}"#)
        #expect(
            failure()
                == "\(folder.path)/librequest-id.so: configuration of '\(requestID)' is wrong: "
                + "\(file): /permissions/1: 'nett:x' is no permission that this host knows: there are "
                + "net:HOST, net:HOST:PORT and env:NAME")
    }
}
