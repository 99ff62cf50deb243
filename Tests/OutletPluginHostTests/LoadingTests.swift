import FoundationEssentials
import Glibc
import OutletTestSupport
import Testing

@testable import OutletPluginHost

@Suite struct LoadingTests {
    /// Loads a faulty plugin and a good one, and returns the error without the path.
    private func failure(of name: String) throws -> String {
        let folder = try PluginFolder(faulty: name, samples: ["librequest-id.so"])
        let host = try folder.load()
        #expect(host.plugins.map(\.id) == ["dev.outlet.request-id"])
        let failure = try #require(host.failures.first)
        #expect(host.failures.count == 1)
        let path = "\(folder.path)/libFaulty\(name).so"
        #expect(failure.path == path)
        #expect(failure.description.hasPrefix("\(path): "))
        return String(failure.description.dropFirst(path.count + 2))
    }

    @Test func `a plugin that failed to start can be loaded again`() throws {
        for _ in 0..<2 {
            #expect(
                try failure(of: "CreateFails")
                    == "'faulty.create-fails' could not start (no-licence): no licence in "
                    + "/etc/faulty")
        }
    }

    @Test(arguments: [
        ("NoEntry", "not an Outlet plugin: no symbol 'outlet_module_v1'"),
        ("FutureABI", "uses another ABI: the plugin needs ABI 2, this host has 1"),
        ("NullModule", "refused this host: outlet_module_v1(0) returned null"),
        ("NewerHost", "needs a newer host: ABI minor 99, this host has 0"),
        (
            "CreateFails",
            "'faulty.create-fails' could not start (no-licence): no licence in /etc/faulty"
        ),
        (
            "CreateNothing",
            "'faulty.create-nothing' could not start: create returned OUTLET_OK without an "
                + "instance"
        ),
        ("NoCreate", "breaks the plugin contract: 'faulty.no-create': 'create' is null"),
        (
            "ShortDescriptor",
            "breaks the plugin contract: the struct_size of a descriptor is 24, not its size in "
                + "bytes, which is at least 232"
        ),
        (
            "LyingHooks",
            "breaks the plugin contract: 'faulty.lying-hooks': the struct_size of its hooks is 4, "
                + "not its size in bytes, which is at least 120"
        ),
        (
            "BadID",
            "breaks the plugin contract: the id \"Faulty ID!\" is not made of lower-case letters, "
                + "digits and '-', with a '.' between parts"
        ),
        (
            "BadSignature",
            "breaks the plugin contract: 'faulty.bad-signature.f': signature \"q(s)\": unknown "
                + "letter 'q'"
        ),
        (
            "LyingPermissions",
            "manifest is wrong: 'faulty.lying-permissions' has the permissions \"net:a.example\" there, "
                + "and \"env:HOME net:a.example\" in the code"
        ),
        (
            "LyingVersion",
            "manifest is wrong: 'faulty.lying-version' has the version \"1.0.1\" there, "
                + "and \"1.0.0\" in the code"
        ),
        (
            "LyingABI",
            "manifest is wrong: 'faulty.lying-abi' has the abi \"1.7\" there, "
                + "and \"1.0\" in the code"
        ),
        ("LargeManifest", "manifest is wrong: it has 65537 bytes, at most 65536 are allowed"),
        ("DoubledManifest", "manifest is wrong: \"id\" is there more than once"),
        (
            "FutureManifest",
            "manifest is wrong: 'faulty.future-manifest': \"abi\" is \"2.0\", which this host does "
                + "not have: it has ABI 1"
        ),
        (
            "LyingManifest",
            "manifest is wrong: it has no entry for 'faulty.lying-manifest', which the code has"
        ),
    ])
    func `each fault has its own error, and other plugins still load`(
        name: String, error: String
    ) throws {
        #expect(try failure(of: name) == error)
    }

    @Test func `the error for an undefined symbol names it`() throws {
        let error = try failure(of: "MissingSymbol")
        #expect(error.hasPrefix("cannot be loaded: undefined symbol: outlet_faulty_nowhere; "))
    }

    @Test func `a broken manifest stops a plugin before any of its code runs`() throws {
        // Its constructor would end the process if the library were mapped.
        let error = try failure(of: "BrokenManifest")
        #expect(error.hasPrefix("manifest is wrong: not JSON at byte "))
    }

    @Test(
        arguments: [
            (
                #"{"id":"a.b","version":"1","abi":"2.0","permissions":[]}"#,
                "'a.b': \"abi\" is \"2.0\", "
            ),
            (
                #"{"id":"a.b","version":"1","abi":"1.-1","permissions":[]}"#,
                "'a.b': \"abi\" is \"1.-1\", "
            ),
            (
                #"{"id":"a\u001b","version":"1","abi":"1.0","permissions":[]}"#,
                "\"id\" is \"a\\u{1B}"
            ),
            (
                #"{"id":"a.b","version":"1","abi":"1.0","permissions":["fs:x"]}"#,
                "'a.b': \"permissions\": "
            ),
        ])
    func `a manifest that can never be right stops a plugin before any of its code runs`(
        manifest: String, reason: String
    ) async throws {
        let folder = try PluginFolder()
        let literal = manifest.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let path = try await folder.compile(
            """
            __attribute__((section(OUTLET_MANIFEST_SECTION), used)) static const char
                manifest[] = "\(literal)";
            __attribute__((constructor)) static void run(void) { abort(); }
            static const outlet_descriptor descriptor = {DESCRIPTOR("a.b")};
            OUTLET_MODULE(descriptor)
            """, as: "x.so")
        let failures = try folder.load().failures
        guard case .invalidManifest(path, let refusal) = failures.first else {
            Issue.record("\(failures)")
            return
        }
        #expect(refusal.hasPrefix(reason), "\(refusal)")
        let inspection = try PluginInspection([.directory(folder.path)])
        #expect(inspection.files.isEmpty && inspection.failures == failures)
    }

    /// Returns the code of a library with the plugins `some.first` and `some.second`.
    private func pair(_ manifests: String) -> String {
        """
        \(manifests)
        static const outlet_descriptor first = {DESCRIPTOR("some.first")};
        static const outlet_view needs[] = {OUTLET_TEXT("env:HOME")};
        static const outlet_descriptor second = {
            DESCRIPTOR("some.second"), .permission_count = 1, .permissions = needs};
        static const outlet_descriptor *const list[] = {&first, &second};
        static const outlet_module module = {sizeof module, OUTLET_ABI_MINOR, 0, 2, list};
        const outlet_module *outlet_module_v1(uint32_t minor) { return minor == 0 ? &module : NULL; }
        """
    }

    @Test func `each plugin of a library has its own entry in the manifest`() async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            pair(
                #"""
                OUTLET_MANIFEST("some.second", "1.0.0", "\"env:HOME\"");
                OUTLET_MANIFEST("some.first", "1.0.0", "");
                """#), as: "x.so")
        let host = try folder.load()
        #expect(host.failures == [])
        #expect(host.plugins.map(\.manifest?.id) == ["some.first", "some.second"])
        #expect(host.plugins.map(\.manifest?.permissions) == [[], ["env:HOME"]])
    }

    @Test(arguments: [
        (
            #"OUTLET_MANIFEST("some.first", "1.0.0", "");"#,
            "it has no entry for 'some.second', which the code has"
        ),
        (
            #"""
            OUTLET_MANIFEST("some.first", "1.0.0", "");
            OUTLET_MANIFEST("some.second", "1.0.0", "\"env:HOME\"");
            OUTLET_MANIFEST("some.third", "1.0.0", "");
            """#,
            "it has an entry for \"some.third\", which the code does not have"
        ),
        (
            #"""
            OUTLET_MANIFEST("some.first", "1.0.0", "");
            OUTLET_MANIFEST("some.second", "1.0.0", "\"env:HOME\"");
            OUTLET_MANIFEST("some.first", "1.0.0", "");
            """#,
            "\"some.first\" has two entries"
        ),
        (
            #"""
            OUTLET_MANIFEST("some.first", "1.0.0", "");
            OUTLET_MANIFEST("some.second", "1.0.0", "");
            """#,
            "'some.second' has the permissions \"\" there, and \"env:HOME\" in the code"
        ),
    ])
    func `a manifest that does not match the plugins of the code is refused`(
        manifests: String, reason: String
    ) async throws {
        let folder = try PluginFolder()
        let path = try await folder.compile(pair(manifests), as: "x.so")
        let host = try folder.load()
        #expect(host.plugins.isEmpty)
        #expect(host.failures == [.invalidManifest(path: path, reason: reason)])
    }

    @Test func `a plugin without a manifest is refused if the host requires one`() throws {
        let folder = try PluginFolder(faulty: "Obliging", samples: ["librequest-id.so"])
        var options = PluginHost.Options()
        options.requiresManifest = true
        options.loadPolicy = .usable
        let host = try PluginHost.load(directories: [folder.path], options: options)
        #expect(host.plugins.map(\.id) == ["dev.outlet.request-id"])
        #expect(
            host.failures == [
                .invalidManifest(
                    path: "\(folder.path)/libFaultyObliging.so",
                    reason: "there is none, and this host asks for one")
            ])
    }

    @Test func `of two plugins with the same id the first file by name is loaded`() throws {
        let folder = try PluginFolder()
        let first = try folder.copy("librequest-id.so", as: "a.so")
        let second = try folder.copy("librequest-id.so", as: "b.so")
        let host = try folder.load()
        #expect(host.plugins.map(\.path) == [first])
        #expect(
            host.failures == [
                .duplicate(path: second, id: "dev.outlet.request-id", first: first)
            ])
    }

    @Test func `configuration that is not a JSON object is refused`() throws {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        let host = try folder.load(configuration: ["dev.outlet.request-id": "[1]"])
        #expect(host.plugins.isEmpty)
        #expect(
            host.failures == [
                .invalidConfiguration(
                    path: "\(folder.path)/librequest-id.so", id: "dev.outlet.request-id",
                    violations: [
                        ConfigurationViolation(fact: "not a JSON object", source: "the program")
                    ])
            ])
    }

    @Test func `configuration for an unknown plugin is an error`() throws {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        let host = try folder.load(configuration: ["dev.outlet.request-if": "{}"])
        #expect(
            host.failures.map(\.description) == [
                "\(folder.path): configuration for 'dev.outlet.request-if': no such plugin; there "
                    + "is dev.outlet.request-id"
            ])
    }

    @Test(arguments: [
        (
            #"{"maxAttempts": "x", "baseDelay": 1, "maxDelayMs": -1}"#,
            "/maxAttempts: expected a whole number, found a string; /maxDelayMs: expected a number "
                + "from 0; unknown key 'baseDelay'; did you mean 'baseDelayMs'?"
        ),
        (#"{"maxAttempts": 2, "maxAttempts": 3}"#, "the key 'maxAttempts' is there twice"),
        (#"{"maxAttempts": 1e999}"#, "/maxAttempts: the number is larger than any that is read"),
        (
            String(repeating: #"{"a":"#, count: 100),
            "not JSON at byte 320 (line 1, column 321): nested deeper than 64 levels"
        ),
    ])
    func `configuration that breaks the plugin's schema is refused before the plugin starts`(
        configuration: String, facts: String
    ) throws {
        let folder = try PluginFolder(samples: ["libpacer.so"])
        let host = try folder.load(configuration: ["dev.outlet.pacer": configuration])
        #expect(
            host.failures.map(\.description) == [
                "\(folder.path)/libpacer.so: configuration of 'dev.outlet.pacer' is wrong: the "
                    + "program: \(facts)"
            ])
    }

    @Test(arguments: [
        ("libpacer.so", "pacer", #"{"maxAttempts": 12}"#, "/maxAttempts"),
        ("librequest-id.so", "request-id", #"{"header": "X Y"}"#, "/header"),
        ("librequest-id.so", "request-id", #"{"header": "X\u0000Y"}"#, "/header"),
        ("librequest-id.so", "request-id", #"{"prefix": "a\nb"}"#, "/prefix"),
        (
            "librequest-id.so", "request-id",
            #"{"prefix": "\#(String(repeating: "a", count: 128))"}"#, "/prefix"
        ),
    ])
    func `the samples refuse settings that would fail each request`(
        file: String, name: String, configuration: String, place: String
    ) throws {
        let folder = try PluginFolder(samples: [file])
        let host = try folder.load(configuration: ["dev.outlet.\(name)": configuration])
        let failure = try #require(host.failures.first).description
        #expect(host.plugins.isEmpty && failure.contains(": the program: \(place): "), "\(failure)")
    }

    @Test func `a plugin with an unusable schema is refused`() async throws {
        let folder = try PluginFolder()
        let path = try await folder.compile(
            #"""
            static const outlet_descriptor descriptor = {
                DESCRIPTOR("bad.schema"), .config_schema = OUTLET_TEXT("{\"type\": \"strin\"}")};
            OUTLET_MODULE(descriptor)
            """#, as: "schema.so")
        #expect(
            try folder.load().failures == [
                .invalidSchema(
                    path: path, id: "bad.schema",
                    reason: "/type: Unrecognised JSON type name 'strin'")
            ])
    }

    @Test func `a Swift plugin and a C plugin run together, and a second copy is refused`() throws {
        let folder = try PluginFolder(samples: ["libpacer.so", "librequest-id.so"])
        try folder.copy("libpacer.so", as: "z-second-swift.so")
        let host = try folder.load()
        #expect(host.plugins.map(\.id) == ["dev.outlet.pacer", "dev.outlet.request-id"])
        // The second copy of the Swift plugin was loaded, then refused because its id is in use.
        #expect(
            host.failures.map(\.path) == ["\(folder.path)/z-second-swift.so"])
        #expect(try host.call("dev.outlet.pacer.delay_ms", [2]) == .int(400))
        #expect(host.plugins.map(\.straySymbols.count) == [0, 0])
    }

    @Test func `the metadata of a plugin can be read`() throws {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        let plugin = try #require(try folder.load().plugins.first)
        #expect(plugin.name == "Request ID")
        #expect(plugin.version == "1.0.0")
        #expect(plugin.abi == "1.0")
        #expect(plugin.hooks == [.prepare])
        #expect(plugin.manifest?.id == plugin.id)
        #expect(
            plugin.functions.map(\.declaration) == [
                "() -> text", "(text) -> text", "() -> uint64",
            ])
        #expect(plugin.isConcurrent && plugin.isNonblocking && !plugin.makesThreads)
        #expect(plugin.neededLibraries.contains("libc.so.6"))
        #expect(plugin.loadDuration > 0)
    }

    @Test func `a file given by path is loaded if its directory is safe`() throws {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        let file = folder.directory.path("librequest-id.so")
        let host = try PluginHost.load([.file(file)])
        #expect(host.plugins.map(\.path) == [file])
        chmod(folder.path, 0o777)
        let unsafe = PluginLoadError.unsafe(
            path: file,
            reason: "lies in \(folder.path), which is writable by all users (mode 777); chmod go-w",
            cause: .directory)
        #expect(throws: PluginDirectoryError.incomplete([unsafe])) {
            try PluginHost.load([.file(file)])
        }
        #expect(
            unsafe.description
                == "\(file): not safe to load: it lies in \(folder.path), which is writable by all "
                + "users (mode 777); chmod go-w")
    }

    @Test func `configuration for a missing plugin fails the whole load`() throws {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        #expect(throws: PluginDirectoryError.self) {
            try PluginHost.load(directory: folder.path, configuration: ["dev.outlet.pacer": "{}"])
        }
    }

    @Test(arguments: ["\u{301}", "\u{FE0F}"])
    func `the directory is checked for a file name that begins with a combining mark`(
        mark: String
    ) throws {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        let inner = folder.directory.path("inner")
        mkdir(inner, 0o755)
        let file = "\(inner)/\(mark)x.so"
        try FileManager.default.copyItem(
            atPath: folder.directory.path("librequest-id.so"), toPath: file)
        chmod(file, 0o755)
        #expect(try PluginHost.load([.file(file)]).plugins.map(\.path) == [file])
        chmod(inner, 0o777)
        let unsafe = PluginLoadError.unsafe(
            path: file,
            reason: "lies in \(inner), which is writable by all users (mode 777); chmod go-w",
            cause: .directory)
        #expect(throws: PluginDirectoryError.incomplete([unsafe])) {
            try PluginHost.load([.file(file)])
        }
    }
}

/// Tests of a plugin that allows only one instance per process; they run one after the other.
@Suite(.serialized) struct LonePluginTests {
    /// Creates a file with mode 0666 and returns the mode that the umask leaves.
    private func modeOfNewFile(_ path: String) -> mode_t? {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        defer { close(descriptor) }
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    @Test func `changes of the process while loading a plugin are reverted and counted`()
        async throws
    {
        let folder = try PluginFolder(faulty: "ChangesProcess")
        let mode = modeOfNewFile(folder.directory.path("before"))
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        #expect(host.plugins.first?.misbehaviour == [.changedProcess: 1])
        #if arch(x86_64)
            let control = ", the floating-point control"
        #else
            let control = ""
        #endif
        #expect(
            recorder.misbehaviours.values.map(\.fact) == [
                "loading it changed the handler of SIGXFSZ, the umask\(control); that was put back"
            ])
        #expect(modeOfNewFile(folder.directory.path("after")) == mode)
        var action = sigaction()
        sigaction(SIGXFSZ, nil, &action)
        #expect(action.__sigaction_handler.sa_handler == nil)

        // The plugin allows one instance per process.
        let second = try folder.load()
        #expect(
            second.failures.map(\.description) == [
                "\(folder.path)/libFaultyChangesProcess.so: 'faulty.changes-process' could not "
                    + "start: it allows one instance per process, and there is one"
            ])
        _ = await host.shutDown()
        let third = try folder.load()
        #expect(third.plugins.count == 1)
        _ = await third.shutDown()
    }

    @Test(arguments: [
        (["the umask"], "the umask; that was put back"),
        (["the environment"], "the environment"),
        (
            ["the umask", "the environment"],
            "the umask, the environment; that was put back, except for the environment"
        ),
    ])
    func `only the environment is reported as changed and not put back`(
        changes: [String], text: String
    ) {
        #expect(RestorableProcessState.fact(ofLoading: changes) == "loading it changed \(text)")
    }

    /// Returns the code of a library that installs a signal handler when it is loaded.
    private func taking(_ signal: Int32) -> String {
        """
        #include <signal.h>
        static void handle(int number) { (void)number; }
        __attribute__((constructor)) static void take(void) { signal(\(signal), handle); }
        """
    }

    private func plugin(_ id: String) -> String {
        """
        static const outlet_descriptor descriptor = {DESCRIPTOR("\(id)")};
        OUTLET_MODULE(descriptor)
        """
    }

    @Test func `a signal handler of a needed library is reverted too`() async throws {
        let folder = try PluginFolder()
        try await folder.compile(taking(40), as: "libneeded.so.1")
        try await folder.compile(
            plugin("taking.needed"), as: "x.so", "-Wl,--no-as-needed", "-L.", "-l:libneeded.so.1",
            "-Wl,-rpath,$ORIGIN")
        let recorder = ActivityRecorder()
        let host = try folder.load(observer: recorder)
        #expect(host.failures == [])
        #expect(
            recorder.misbehaviours.values.map(\.fact) == [
                "loading it changed the handler of signal 40; that was put back"
            ])
        var action = sigaction()
        sigaction(40, nil, &action)
        #expect(action.__sigaction_handler.sa_handler == nil)
    }

    @Test func `a signal handler is reverted even if the library was mapped before for reading`()
        async throws
    {
        let folder = try PluginFolder()
        let file = try await folder.compile(taking(41) + "\n" + plugin("taking.read"), as: "x.so")
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        let mapping = mmap(nil, 64, PROT_READ, MAP_PRIVATE, descriptor, 0)
        close(descriptor)
        defer { munmap(mapping, 64) }
        #expect(try folder.load().plugins.first?.misbehaviour == [.changedProcess: 1])
    }

    @Test func `a signal handler that the host sets during a load is kept`() throws {
        let folder = try PluginFolder(samples: ["librequest-id.so"])
        let state = RestorableProcessState()
        #expect(dlopen(folder.directory.path("librequest-id.so"), RTLD_NOW | RTLD_LOCAL) != nil)
        signal(42) { _ in }
        defer { signal(42, SIG_DFL) }
        #expect(state.restore() == [])
        var action = sigaction()
        sigaction(42, nil, &action)
        #expect(action.__sigaction_handler.sa_handler != nil)
    }

    /// `system()` ignores SIGINT and SIGQUIT meanwhile; afterwards their actions have other flags.
    @Test func `a command that is run is no change of signal handlers`() async {
        await #expect(processExitsWith: .success) {
            let state = RestorableProcessState()
            #expect(system("exit 0") == 0)
            #expect(state.restore() == [])
        }
    }

    @Test func `each resource limit that has changed is named and restored`() async {
        await #expect(processExitsWith: .success) {
            for resource in 0..<__rlimit_resource_t(__RLIM_NLIMITS.rawValue) {
                var before = rlimit()
                getrlimit(resource, &before)
                let state = RestorableProcessState()
                var changed = before
                changed.rlim_cur = before.rlim_cur > 0 ? before.rlim_cur / 2 : 1
                changed.rlim_max = max(before.rlim_max, changed.rlim_cur)
                // Without privileges, a limit of 0 cannot be raised.
                guard setrlimit(resource, &changed) == 0 else { continue }
                let changes = state.restore()
                #expect(changes.count == 1 && changes[0].hasPrefix("the limit of "), "\(changes)")
                var after = rlimit()
                getrlimit(resource, &after)
                #expect(after.rlim_cur == before.rlim_cur)
            }
        }
    }

    @Test func `what a library asks of the kernel for its thread is named`() async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            """
            #include <linux/filter.h>
            #include <linux/seccomp.h>
            #include <sys/prctl.h>
            #include <sys/resource.h>
            __attribute__((constructor)) static void ask(void) {
                struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
                struct sock_fprog filter = {.len = 1, .filter = &allow};
                prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
                prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0L, 0L);
                prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L);
                setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1);
            }
            """ + "\n" + plugin("asking.kernel"), as: "x.so")
        // The state of a thread cannot be restored.
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let recorder = ActivityRecorder()
            var options = PluginHost.Options()
            options.observer = recorder
            _ = try PluginHost.load(directories: [path], options: options)
            let names = [
                "the filters of system calls", "the priority of its thread",
                "the settings of prctl()",
            ].joined(separator: ", ")
            #expect(
                recorder.misbehaviours.values.map(\.fact) == ["loading it changed \(names)"])
        }
    }

    @Test func `one unusable plugin of a directory fails the whole load by default`() throws {
        let folder = try PluginFolder(
            faulty: "ChangesProcess", "CreateFails", "NoEntry", samples: ["librequest-id.so"])
        let first = try folder.load()
        let failures = first.failures
        #expect(failures.count == 2)
        first.shutDownAndWait()
        #expect(throws: PluginDirectoryError.incomplete(failures)) {
            try PluginHost.load(directory: folder.path)
        }
        #expect(
            PluginDirectoryError.incomplete(failures).description
                == "\(failures[0]); and 1 more")
        // The failed load has shut down the plugins it started: the plugin that allows one instance
        // starts again, and the failures are the same.
        #expect(try folder.load().failures == failures)
    }
}
