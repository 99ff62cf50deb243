/// The templates of a new plugin's files.
///
/// ``PluginProject`` replaces `{id}`, `{name}`, `{source}`, `{file}`, `{library}` and `{Type}`. It
/// also replaces `{import}`, because `.ci/check-imports` would take a line that begins with the plain
/// keyword for an import of this module.
enum PluginTemplate {
    static let cSource = #"""
        /* {name}: adds a header to every request.
         *
         * Configuration: "header", the header's name (X-Stamp). */
        #include <outlet/outlet.h>
        #include <stdlib.h>

        #define PLUGIN_ID "{id}"
        #define PLUGIN_VERSION "1.0.0"

        OUTLET_MANIFEST(PLUGIN_ID, PLUGIN_VERSION, "");

        struct outlet_instance {
            const outlet_host *host;
            char header[64];
        };

        static outlet_status create(const outlet_descriptor *self, const outlet_host *host,
                                    outlet_call call, const outlet_config *config,
                                    outlet_instance **out) {
            outlet_view name = outlet_text("X-Stamp");
            (void)self, (void)config;
            host->config_value(host, call, outlet_text("header"), &name);
            outlet_instance *instance = calloc(1, sizeof *instance);
            if (instance == NULL) {
                host->fail(host, call, outlet_text("no-memory"), outlet_text("no memory is left"));
                return OUTLET_E_FAILED;
            }
            if (name.len == 0 || name.len >= sizeof instance->header) {
                host->fail(host, call, outlet_text("bad-configuration"),
                           outlet_text("\"header\" needs 1 to 63 bytes"));
                free(instance);
                return OUTLET_E_ARGUMENT;
            }
            instance->host = host;
            memcpy(instance->header, name.ptr, name.len);
            *out = instance;
            return OUTLET_OK;
        }

        static outlet_status prepare(outlet_instance *instance, outlet_call call,
                                     outlet_request request, outlet_completion completion) {
            const outlet_host *host = instance->host;
            (void)completion;
            const outlet_status status = host->request_set_header(
                host, request, outlet_text(instance->header), outlet_text("seen"));
            if (status == OUTLET_OK) return OUTLET_OK;
            host->fail(host, call, outlet_text("bad-header"),
                       outlet_text(status == OUTLET_E_ARGUMENT
                                       ? "the header is not valid in HTTP, or only the transport sets it"
                                       : "the host does not let plugins set this header"));
            return OUTLET_E_FAILED;
        }

        static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare};

        static const outlet_hooks *hooks(outlet_instance *instance) {
            (void)instance;
            return &table;
        }

        static void destroy(outlet_instance *instance) { free(instance); }

        static const outlet_descriptor descriptor = {
            .struct_size = sizeof(outlet_descriptor),
            .flags = OUTLET_F_NONBLOCKING,
            .id = OUTLET_TEXT(PLUGIN_ID),
            .version = OUTLET_TEXT(PLUGIN_VERSION),
            .summary = OUTLET_TEXT("Adds a header to every request."),
            .config_schema = OUTLET_TEXT(
                "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
                "\"header\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 63}}}"),
            .create = create,
            .hooks = hooks,
            .destroy = destroy,
        };

        OUTLET_MODULE(descriptor)

        """#

    static let cTest = #"""
        /* Calls the hooks of {name} with a fake host, without Outlet and a network. */
        #include "{source}.c"

        #include <outlet_fake_host.h>
        #include <stdio.h>

        static int failures;

        static void expect(int is_so, const char *what) {
            if (is_so) return;
            fprintf(stderr, "{source}_test: failed: %s\n", what);
            failures++;
        }

        int main(void) {
            outlet_fake_host *fake = outlet_fake_new();
            outlet_fake_set(fake, "header", "X-Test");
            outlet_instance *plugin = outlet_fake_create(fake, &descriptor);
            expect(plugin != NULL, "the plugin starts");
            if (plugin == NULL) return 1;

            const outlet_request request = outlet_fake_request(fake, "GET", "http://test.example/");
            const outlet_status status = prepare(
                plugin, outlet_fake_call(fake), request, outlet_fake_completion(fake));
            expect(status == OUTLET_OK, "prepare succeeds");
            const char *value = outlet_fake_header(fake, request, "X-Test");
            expect(value != NULL && strcmp(value, "seen") == 0, "the configured header is set");

            destroy(plugin);
            outlet_fake_free(fake);
            return failures > 0;
        }

        """#

    static let cMakefile = #"""
        # make builds {name}.so; make test runs its unit test, and checks it against the rules of Outlet's
        # plugin ABI.
        #
        #   OUTLET_SDK=DIR  the folder PluginsSDK of Outlet; by default pkg-config finds the installed one
        #   OUTLET=FILE     the program `outlet`
        #   CHECK=OPTIONS   options of `outlet plugins check`, such as --plugin-config={id}=@FILE

        OUTLET ?= outlet
        CFLAGS ?= -O2 -g -Wall -Wextra

        ifdef OUTLET_SDK
        HEADERS := -I'$(OUTLET_SDK)/C/include'
        SDK_FLAGS := $(HEADERS) -fPIC -fvisibility=hidden -shared \
        	-Wl,--version-script='$(OUTLET_SDK)/C/exports.map' -Wl,-Bsymbolic -Wl,--exclude-libs,ALL \
        	-Wl,-z,defs -Wl,-z,now -Wl,-z,nodelete
        TESTING := $(OUTLET_SDK)/C/testing
        else
        SDK_FLAGS := $(shell pkg-config --cflags --libs outlet-plugin 2>/dev/null)
        HEADERS := $(shell pkg-config --cflags outlet-plugin 2>/dev/null)
        TESTING := $(shell pkg-config --variable=testingdir outlet-plugin 2>/dev/null)
        endif

        .PHONY: all test clean sdk
        all: {name}.so

        sdk:
        	@test -e '$(TESTING)/outlet_fake_host.h' || { \
        		echo 'no SDK: install outlet-plugin.pc, or set OUTLET_SDK to the folder PluginsSDK' >&2; false; }

        {name}.so: {source}.c Makefile | sdk
        	$(CC) $(CFLAGS) $< $(SDK_FLAGS) -o $@
        	@chmod go-w $@

        test: {name}.so {source}_test
        	./{source}_test
        	$(OUTLET) plugins check ./{name}.so$(if $(CHECK), $(CHECK))

        {source}_test: {source}_test.c {source}.c Makefile | sdk
        	$(CC) $(CFLAGS) $(HEADERS) -I'$(TESTING)' $< '$(TESTING)/outlet_fake_host.c' -o $@

        clean:
        	rm -f {name}.so {source}_test

        """#

    static let cIgnored = "*.so\n{source}_test\n"

    static let swiftPackage = #"""
        // swift-tools-version: 6.3
        {import} PackageDescription

        /// The folder PluginsSDK of Outlet.
        let sdk = Context.environment["OUTLET_SDK"] ?? "../outlet/PluginsSDK"

        /// The settings of the plugin, which is a release build; unit tests are debug builds.
        let release = BuildSettingCondition.when(configuration: .release)

        let package = Package(
            name: "{name}",
            products: [.library(name: "{name}", type: .dynamic, targets: ["{Type}"])],
            dependencies: [.package(name: "outlet", path: "\(sdk)/..")],
            targets: [
                .target(
                    name: "{Type}",
                    dependencies: [.product(name: "OutletPluginKit", package: "outlet")],
                    // The Swift runtime is linked statically, so that the host need not provide
                    // one.
                    swiftSettings: [.unsafeFlags(["-static-stdlib"], release)],
                    linkerSettings: [
                        .unsafeFlags(
                            [
                                "-static-stdlib",
                                "-Xlinker", "--version-script=\(sdk)/C/exports.map",
                                "-Xlinker", "-Bsymbolic", "-Xlinker", "--exclude-libs=ALL",
                                "-Xlinker", "-z", "-Xlinker", "defs",
                                "-Xlinker", "-z", "-Xlinker", "now",
                                "-Xlinker", "-z", "-Xlinker", "nodelete",
                            ], release),
                        .linkedLibrary("_FoundationCollections", release),
                        .linkedLibrary("_FoundationCShims", release),
                        .linkedLibrary("swiftSynchronization", release),
                    ]),
                .testTarget(
                    name: "{Type}Tests",
                    dependencies: [
                        "{Type}", .product(name: "OutletPluginTesting", package: "outlet"),
                    ]),
            ])

        """#

    static let swiftSource = #"""
        public {import} OutletPluginKit

        /// Adds a header to every request.
        struct {Type}: ConfiguredPlugin, RequestPreparing {
            static let info = PluginInfo(
                id: "{id}", version: "1.0.0", summary: "Adds a header to every request.")

            /// The configuration; the host refuses any other before it makes the plugin.
            struct Settings: Decodable {
                /// The header's name (X-Stamp).
                var header: String?
            }

            let header: String

            init(host: Host, settings: Settings) throws {
                header = settings.header ?? "X-Stamp"
            }

            func prepare(_ request: MutableRequest) throws {
                try request.setHeader(header, "seen")
            }
        }

        private let module = PluginModule({Type}.self)

        /// The function that the host calls first.
        ///
        /// - Parameter hostMinor: The minor ABI version of the host.
        @c @implementation
        public func outlet_module_v1(_ hostMinor: UInt32) -> UnsafePointer<outlet_module>? {
            module.table
        }

        """#

    static let swiftTests = ##"""
        {import} OutletPluginTesting
        {import} Testing

        @testable {import} {Type}

        /// Calls the hooks with a fake host, without Outlet and a network.
        @Suite struct {Type}Tests {
            @Test func `the configured header is set`() throws {
                let fake = FakeHost()
                let plugin = try fake.make({Type}.self, configuration: #"{"header": "X-Test"}"#)
                let request = fake.request("https://test.example/")
                try plugin.prepare(request)
                #expect(request.current.header("X-Test") == "seen")
            }
        }

        """##

    /// The names that a plugin's type and module in Swift cannot have: keywords, modules, types that
    /// the template or most code uses, the types of the SDK, and the sample plugins' modules.
    static let takenNames: Set<String> = [
        "Any", "Protocol", "Self", "Type",
        "Builtin", "Cxx", "Dispatch", "Distributed", "Foundation", "FoundationEssentials", "Glibc",
        "Observation", "Runtime", "Swift", "Synchronization", "Testing",
        "Array", "Bool", "Character", "Codable", "Data", "Date", "Decodable", "Decoder",
        "Dictionary", "Double", "Duration", "Encodable", "Encoder", "Error", "Float", "Int",
        "Never", "Optional", "Range", "Result", "Sendable", "Sequence", "Set", "String",
        "Substring", "Task", "UInt32", "UnsafePointer", "Void",
        "BodyPiece", "CallTracking", "Configuration", "ConfiguredPlugin", "EventMonitoring",
        "Export", "FunctionExporting", "HTTPCall", "HTTPReply", "Host", "MutableRequest",
        "MutableResponse", "Plugin", "PluginError", "PluginInfo", "PluginModule", "Reconfiguring",
        "RedirectDeciding", "RedirectDecision", "Request", "RequestAdapting", "RequestEvent",
        "RequestFinalizing", "RequestObserving", "RequestPreparing", "RequestRetrying", "Response",
        "ResponseProcessing", "ResponseSerializing", "RetryDecision", "ServerIdentity",
        "ServerTrustDeciding", "WorkingPlugin",
        "Guard", "HMACSigner", "KitFixture", "OAuth2", "Pacer", "RequestID", "RetryAfter",
        // The file beside the type's.
        "Manifest",
    ]

    static let swiftMakefile = #"""
        # make builds the plugin, with a manifest of what its code says; make test runs its unit tests,
        # and checks it against the rules of Outlet's plugin ABI.
        #
        #   OUTLET_SDK=DIR  the folder PluginsSDK of Outlet; by default ../outlet/PluginsSDK
        #   OUTLET=FILE     the program `outlet`
        #   CHECK=OPTIONS   options of `outlet plugins check`, such as --plugin-config={id}=@FILE

        OUTLET ?= outlet
        OUTLET_SDK ?= ../outlet/PluginsSDK
        export OUTLET_SDK
        BUILT := .build/release/lib{name}.so
        MANIFEST := Sources/{Type}/Manifest.swift
        # The host refuses a library that the group can write to.
        BUILD := umask 022 && swift build -c release && \
        	chmod go-w .build .build/release/.. .build/release/. $(BUILT)

        .PHONY: all test clean
        all:
        	@test -e '$(OUTLET_SDK)/C/exports.map' || { \
        		echo 'no SDK: set OUTLET_SDK to the folder PluginsSDK of Outlet' >&2; false; }
        	$(BUILD)
        	@if $(OUTLET) --version >/dev/null 2>&1; then \
        		'$(OUTLET_SDK)/Swift/manifest.sh' --update $(MANIFEST) $(BUILT) $(OUTLET); \
        	else echo 'no program outlet (OUTLET): $(MANIFEST) was not compared with the code' >&2; fi
        	@test $(BUILT) -nt $(MANIFEST) || { $(BUILD); }

        test: all
        	swift test
        	$(OUTLET) plugins check $(BUILT)$(if $(CHECK), $(CHECK))

        clean:
        	rm -rf .build

        """#

    static let swiftIgnored = ".build/\n"

    static let cReadme =
        readme + #"""
            `OUTLET_SDK` is the path of Outlet's folder PluginsSDK, set in the environment or by
            `make OUTLET_SDK=DIR`; without it, pkg-config finds an installed SDK (`outlet-plugin`). `OUTLET=FILE`
            is the path of the program `outlet` if it is not in `PATH`. The unit test includes `{source}.c` and calls
            its hook `prepare` by name: rename the hook in both.

            """# + use + #"""
            ```sh
            gdb -ex 'set breakpoint pending on' -ex 'break {source}.c:prepare' -ex run \
                --args outlet --plugins ./{library} http://127.0.0.1:8080/get
            ```

            At the breakpoint, `backtrace` shows how the hook was called, and `info args` its arguments. A
            crash stops there, too.

            """#

    static let swiftReadme =
        readme + #"""
            `OUTLET_SDK` is the path of Outlet's folder PluginsSDK, set in the environment or by
            `make OUTLET_SDK=DIR`; without it, `../outlet/PluginsSDK`. `OUTLET=FILE` is the path of the program
            `outlet` if it is not in `PATH`. The unit tests in `Tests` call the hooks without Outlet, with the
            library `OutletPluginTesting` of the SDK. `Manifest.swift` repeats the id, the version and the
            permissions of the plugin's `info`, for the host to read before it runs any code; `make` writes it anew
            if they have changed.

            """# + use + #"""
            ```sh
            gdb -ex 'set breakpoint pending on' -ex 'break {Type}.swift:21' -ex run \
                --args outlet --plugins {library} http://127.0.0.1:8080/get
            ```

            At the breakpoint, `backtrace` shows how the hook was called. gdb does not show the values of Swift
            variables: log them (`host.log`). A crash stops there, too.

            """#

    private static let readme = #"""
        # {name}

        A plugin for Outlet, `{id}`, which adds a header to every request. Its source is `{file}`.

        ```sh
        make        # builds {library}
        make test   # tests it, and checks it against the rules of the plugin ABI (outlet plugins check)
        ```


        """#

    private static let use = #"""

        README.md of the SDK describes what a plugin can do, ABI.md the rules that it must follow.

        ## Use it

        ```sh
        outlet --plugins ./{library} --plugin-config '{id}={"header":"X-Seen"}' -v http://127.0.0.1:8080/get
        ```

        In a folder of plugins, `plugins.json` has the configurations:

        ```json
        {"plugins": {"{id}": {"config": {"header": "X-Seen"}}}}
        ```

        A configuration that the plugin cannot do without has to be passed to the checker as well:
        `make test CHECK='--plugin-config={id}=@FILE'`.

        ## Debug it


        """#
}
