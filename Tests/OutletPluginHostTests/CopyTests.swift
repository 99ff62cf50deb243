import FoundationEssentials
import Glibc
import OutletTestSupport
import Testing

@testable import OutletPluginHost

/// The host runs the bytes that it checked, of plugins and of the libraries beside them.
@Suite(.timeLimit(.minutes(4))) struct CopyTests {
    private func plugin(_ id: String, if condition: String = "1") -> String {
        """
        static const outlet_descriptor descriptor = {DESCRIPTOR("\(id)")};
        static const outlet_descriptor *const list[] = {&descriptor};
        static const outlet_module module = {sizeof module, OUTLET_ABI_MINOR, 0, 1, list};
        const outlet_module *outlet_module_v1(uint32_t minor) {
            (void)minor;
            return \(condition) ? &module : NULL;
        }
        """
    }

    private func answer(_ name: String, _ value: String) -> String {
        "int \(name)(void) { return \(value); }"
    }

    @Test func `a file that replaces a plugin after the check is not run`() async throws {
        let folder = try PluginFolder()
        let path = try await folder.compile(plugin("first.content"), as: "x.so")
        let file = try PluginFile(path: path, checksOwnership: true)
        try await folder.compile(plugin("other.content"), as: "x.so")
        #expect(try PluginModule(file).descriptors.map(\.id) == ["first.content"])
        #expect(try folder.load().plugins.map(\.id) == ["other.content"])
    }

    @Test func `a running plugin keeps its code when its file is truncated`() async throws {
        let folder = try PluginFolder()
        let path = try await folder.compile(plugin("kept.code"), as: "x.so")
        let host = try folder.load()
        truncate(path, 0)
        let abandoned = await host.shutDown()
        #expect(abandoned == [])
    }

    @Test func `a destroyed plugin is freed before the deadline of its shutdown`() async throws {
        let folder = try PluginFolder()
        try await folder.compile(plugin("freed.early"), as: "x.so")
        weak var instance: PluginInstance?
        do {
            let host = try folder.load()
            instance = try #require(host.plugins.first?.instance)
            #expect(await host.shutDown(deadline: .seconds(3600)) == [])
        }
        while instance != nil, !Task.isCancelled { await Task.yield() }
    }

    @Test func `a library is loaded once for each path and content`() async throws {
        let folder = try PluginFolder()
        try await folder.compile(plugin("some.plugin"), as: "x.so")
        func table() throws -> UnsafeRawPointer {
            let plugin = try #require(try folder.load().plugins.first)
            return UnsafeRawPointer(plugin.instance.descriptor.table)
        }
        let first = try table()
        #expect(try table() == first)
        let bytes = try folder.directory.read("x.so")
        try folder.directory.write(bytes + [0], to: "x.so")
        let second = try table()
        #expect(second != first)
        try folder.directory.write(bytes, to: "x.so")
        #expect(try table() == first)
        let elsewhere = try PluginFolder()
        chmod(try elsewhere.directory.write(bytes, to: "x.so"), 0o755)
        let third = try #require(try elsewhere.load().plugins.first)
        #expect(UnsafeRawPointer(third.instance.descriptor.table) != first)
    }

    @Test func `a plugin file above the size limit is refused without being read`() throws {
        let folder = try PluginFolder()
        let path = try folder.directory.write("\u{7F}ELF", to: "x.so")
        truncate(path, (512 << 20) + 1)
        #expect(
            try folder.load().failures == [
                .invalidLibrary(
                    path: path, reason: "more than the 536870912 bytes that a plugin may have")
            ])
    }

    /// Compiles a plugin that loads only if the libraries beside it return 7.
    ///
    /// There are two libraries; one needs the other.
    ///
    /// - Parameters:
    ///   - folder: The folder to compile into.
    ///   - name: A part of the libraries' names, unique in the process: the dynamic linker treats
    ///     libraries of the same name as one.
    ///   - sum: The value that the compiled libraries return.
    private func makeBundle(_ folder: PluginFolder, _ name: String, sum: Int = 7) async throws {
        for name in ["plugins", "lib", "lib/deep", "lib/aside"] {
            mkdir(folder.directory.path(name), 0o755)
        }
        try await folder.compile(answer("inner", "\(sum - 1)"), as: "lib/deep/lib\(name)-in.so")
        try await folder.compile(
            "int inner(void);" + answer("outer", "inner() + 1"), as: "lib/lib\(name)-out.so",
            "-Llib/deep", "-l:lib\(name)-in.so", "-Wl,-rpath,${ORIGIN}/deep/")
        try await folder.compile(
            "int outer(void);" + plugin("whole.bundle", if: "outer() == 7"), as: "plugins/x.so",
            "-Llib", "-l:lib\(name)-out.so", "-Wl,-rpath-link,lib/deep",
            "-Wl,-rpath,/usr/lib:$ORIGIN/missing:$ORIGIN/../lib/aside/..")
    }

    @Test func `needed libraries beside a plugin are copied, also indirect ones`() async throws {
        let folder = try PluginFolder()
        try await makeBundle(folder, "copied")
        let file = try PluginFile(
            path: folder.directory.path("plugins/x.so"), checksOwnership: true)
        #expect(file.bundle.needed.count == 2)
        // The libraries were read already: neither replacing nor deleting them has an effect.
        try await makeBundle(folder, "copied", sum: 8)
        unlink(folder.directory.path("lib/deep/libcopied-in.so"))
        #expect(try PluginModule(file).descriptors.map(\.id) == ["whole.bundle"])
    }

    @Test func `nothing is mapped from a plugin's folder`() async throws {
        let folder = try PluginFolder()
        try await makeBundle(folder, "mapped")
        let host = try PluginHost.load(directory: folder.directory.path("plugins"))
        #expect(host.plugins.map(\.path) == [folder.directory.path("plugins/x.so")])
        let maps = try await Program.run("/bin/cat", ["/proc/\(getpid())/maps"]).output
        #expect(!maps.contains(folder.path))
        #expect(maps.contains("/memfd:libmapped-in.so"))
    }

    @Test func `the error for an unusable needed library names that library`() async throws {
        let folder = try PluginFolder()
        try await folder.compile(
            "int nowhere(void);" + answer("needy", "nowhere()"), as: "libneedy.so.1")
        try await folder.compile(
            "int needy(void);" + plugin("needy.plugin", if: "needy()"), as: "x.so", "-L.",
            "-l:libneedy.so.1", "-Wl,--allow-shlib-undefined,-rpath,$ORIGIN")
        #expect(
            try folder.load().failures.map(\.description) == [
                "\(folder.path)/x.so: cannot be loaded: libneedy.so.1: undefined symbol: nowhere; link "
                    + "the plugin with the library that defines nowhere, or with -Wl,-z,defs to learn "
                    + "of it earlier"
            ])
    }

    @Test(arguments: [(mode_t(0o700), "runtime"), (0o755, "temporary")])
    func `the directory of copied libraries has mode 700 and is removed after loading`(
        mode: mode_t, place: String
    ) async throws {
        let folder = try PluginFolder()
        for name in ["plugins", "runtime", "temporary"] {
            mkdir(folder.directory.path(name), 0o700)
        }
        chmod(folder.directory.path("runtime"), mode)
        try await folder.compile(
            """
            #include <dlfcn.h>
            #include <stdio.h>
            #include <string.h>
            #include <sys/stat.h>
            int told(void) { return 1; }
            __attribute__((constructor)) static void notify(void) {
                Dl_info info;
                struct stat facts;
                if (dladdr((void *)told, &info) == 0) return;
                char *place = strdup(info.dli_fname);
                *strrchr(place, '/') = 0;
                if (stat(place, &facts) == 0) {
                    fprintf(stderr, "%s %o\\n", place, facts.st_mode & 0777);
                }
            }
            """, as: "plugins/libtelling.so", "-D_GNU_SOURCE")
        try await folder.compile(
            "int told(void);" + plugin("told.plugin", if: "told()"), as: "plugins/x.so",
            "-Lplugins", "-ltelling", "-Wl,-rpath,$ORIGIN")
        let result = try await Program.run(
            Products.path("outlet"),
            ["plugins", "inspect", "--run", folder.directory.path("plugins/x.so")],
            environment: [
                "XDG_RUNTIME_DIR": folder.directory.path("runtime"),
                "TMPDIR": folder.directory.path("temporary"),
            ])
        #expect(result.output.hasPrefix("told.plugin 1.0.0\n"))
        let start = "\(folder.directory.path(place))/outlet-plugin-"
        #expect(result.errorOutput.hasPrefix(start))
        #expect(result.errorOutput.hasSuffix(" 700\n"))
        for name in ["runtime", "temporary"] {
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder.directory.path(name))
                    == [])
        }
    }

    @Test func `needed libraries beside a plugin are checked like the plugin`() async throws {
        let folder = try PluginFolder()
        try await makeBundle(folder, "judged")
        let plugins = folder.directory.path("plugins")
        func failure() throws -> String? {
            var options = PluginHost.Options()
            options.loadPolicy = .usable
            let host = try PluginHost.load(directories: [plugins], options: options)
            return host.failures.first?.description
        }
        let outer = "\(plugins)/../lib/aside/../libjudged-out.so"
        chmod(outer, 0o777)
        #expect(
            try failure() == "\(plugins)/x.so: not safe to load: it needs \(outer), which is "
                + "writable by all users (mode 777); chmod go-w")
        chmod(outer, 0o755)
        let deep = folder.directory.path("lib/deep")
        chmod(deep, 0o777)
        #expect(
            try failure()
                == "\(plugins)/x.so: not safe to load: it needs \(outer), which looks for "
                + #"libraries in "${ORIGIN}/deep/" (DT_RUNPATH): \#(deep) is writable by all users "#
                + "(mode 777); chmod go-w")
        chmod(deep, 0o755)
        rename("\(deep)/libjudged-in.so", "\(deep)/real")
        symlink("real", "\(deep)/libjudged-in.so")
        let bytes = try folder.directory.read("lib/deep/real")
        try folder.directory.write([UInt8](bytes.prefix(bytes.count / 2)), to: "lib/deep/real")
        #expect(
            try failure()?.hasPrefix(
                "\(plugins)/x.so: not a usable shared library: it needs "
                    + "\(plugins)/../lib/aside/../deep/libjudged-in.so: ") == true)
    }
}
