import FoundationEssentials
import OutletPluginHost
import OutletTestSupport
import Testing

/// Builds plugins with the commands and the code that the documentation gives to plugin authors.
@Suite struct AuthorTests {
    private static let root = String(
        #filePath.dropLast("/Tests/OutletPluginHostTests/AuthorTests.swift".count))

    private func run(_ command: String, in directory: TemporaryDirectory) async throws {
        let result = try await Program.run(
            "/bin/sh", ["-euc", command],
            environment: ["ROOT": Self.root, "PATH": "/usr/local/bin:/usr/bin:/bin"],
            directory: directory.path)
        #expect(result.exitCode == 0, "\(command): \(result.errorOutput)")
    }

    @Test func `the C samples build with cc and only the header`() async throws {
        let directory = try TemporaryDirectory()
        try await run("make -s -C $ROOT/SamplePlugins BUILD=$PWD", in: directory)
        let host = try PluginHost.load(
            directory: directory.path,
            configuration: ["dev.outlet.hmac-signer": #"{"key_id": "k", "secret": "s"}"#])
        #expect(
            Set(host.plugins.map(\.id)) == [
                "dev.outlet.request-id", "dev.outlet.retry-after", "dev.outlet.guard",
                "dev.outlet.hmac-signer",
            ])
        for plugin in host.plugins {
            #expect(
                plugin.neededLibraries.filter { $0 != "libc.so.6" }
                    == (plugin.id == "dev.outlet.hmac-signer" ? ["libcrypto.so.3"] : []))
            #expect(plugin.straySymbols.count == 0)
            #expect(plugin.configurationSchema.hasPrefix("{"))
        }
        #expect(try host.call("dev.outlet.request-id.format", ["1"]) == "X-Request-ID: 1")
    }

    @Test(arguments: [
        ("setting", false), ("handled", false), ("json", false), ("field", false), ("body", false),
        ("copy", true),
    ])
    func `a unit test in C with AddressSanitizer finds a view that the plugin keeps`(
        what: String, passes: Bool
    ) async throws {
        let directory = try TemporaryDirectory()
        let source = #"""
            #include "Tests/FaultyPlugins/KeepsViews.c"
            #include <outlet_fake_host.h>

            int main(int count, char **words) {
                outlet_fake_host *fake = outlet_fake_new();
                const outlet_request request = outlet_fake_request(fake, "GET", "http://a.test/");
                outlet_fake_set(fake, "what", words[count - 1]);
                outlet_fake_set(fake, "name", "X-Name");
                outlet_fake_set_json(fake, "{\"name\": \"X-Name\"}");
                outlet_instance *plugin = outlet_fake_create(fake, &descriptor);
                adapt(plugin, outlet_fake_call(fake), request, outlet_fake_completion(fake));
                prepare(plugin, outlet_fake_call(fake), request, outlet_fake_completion(fake));
                const int is_set = outlet_fake_header(fake, request, "X-Name") != NULL;
                descriptor.destroy(plugin);
                outlet_fake_free(fake);
                return is_set ? 0 : 3;
            }
            """#
        try Data(source.utf8).write(to: URL(filePath: directory.path("test.c")))
        try await run(
            "cc -g -w -fsanitize=address -I $ROOT -I $ROOT/PluginsSDK/C/include "
                + "-I $ROOT/PluginsSDK/C/testing test.c "
                + "$ROOT/PluginsSDK/C/testing/outlet_fake_host.c -o test", in: directory)
        let result = try await Program.run(directory.path("test"), [what])
        #expect((result.exitCode == 0) == passes, "\(result.errorOutput)")
        #expect(result.errorOutput.contains("heap-use-after-free") == !passes)
    }

    @Test func `the C plugin of the documentation compiles and loads unchanged`() async throws {
        let directory = try TemporaryDirectory()
        let document = try String(
            contentsOf: URL(filePath: "\(Self.root)/PluginsSDK/README.md"), encoding: .utf8)
        let code = document.components(separatedBy: "```c\n").dropFirst().first?
            .components(separatedBy: "```").first
        try directory.write(try #require(code), to: "stamp.c")
        try await run(
            "cc -Wall -Wextra -Werror -shared -fPIC -I $ROOT/PluginsSDK/C/include stamp.c "
                + "-o stamp.so",
            in: directory)
        let host = try PluginHost.load(
            directory: directory.path, configuration: ["com.example.stamp": "{}"])
        #expect(host.plugins.map(\.id) == ["com.example.stamp"])
        #expect(host.plugins.first?.manifest?.id == "com.example.stamp")
        let refused = #expect(throws: PluginDirectoryError.self) {
            try PluginHost.load(
                directory: directory.path,
                configuration: [
                    "com.example.stamp": #"{"header": "\#(String(repeating: "x", count: 64))"}"#
                ])
        }
        #expect(refused?.description.contains("/header: ") == true)
    }

    @Test func `a plugin built with the installed SDK exports only its entry symbol`() async throws
    {
        let directory = try TemporaryDirectory()
        try await run(
            """
            make -s -C $ROOT/PluginsSDK install PREFIX=$PWD/sdk
            test -s sdk/share/outlet/README.md -a -s sdk/share/outlet/ABI.md
            mkdir -m 0755 plugins
            export PKG_CONFIG_PATH=$PWD/sdk/share/pkgconfig
            [ "$(pkg-config --modversion outlet-plugin)" = 1.0 ]
            cc $ROOT/SamplePlugins/RequestID/request_id.c \
                $(pkg-config --cflags --libs outlet-plugin) -o plugins/x.so
            """, in: directory)
        let host = try PluginHost.load(directory: directory.path("plugins"))
        #expect(host.plugins.first?.straySymbols.count == 0)
    }

    @Test(arguments: [("int unused;", []), ("SHOWN int _end_of_work;", ["_end_of_work"])])
    func `symbols that the linker adds are no stray ones`(
        source: String, stray: [String]
    ) async throws {
        let directory = try TemporaryDirectory()
        try await run(
            """
            mkdir -m 0755 plugins
            echo '\(source)' > other.c
            cc -fuse-ld=gold -fPIC -shared -fvisibility=hidden -I $ROOT/PluginsSDK/C/include \
                -D'SHOWN=__attribute__((visibility("default")))' \
                $ROOT/SamplePlugins/RequestID/request_id.c other.c -o plugins/x.so
            nm -D --defined-only plugins/x.so | grep -q ' _end$'
            """, in: directory)
        let host = try PluginHost.load(directory: directory.path("plugins"))
        #expect(host.plugins.first?.straySymbols.examples == stray)
        #expect(host.plugins.first?.straySymbols.count == stray.count)
    }
}
