// swift-tools-version: 6.3
import PackageDescription

/// Whether the fuzzer is built in place of the tests (`.ci/fuzz`).
let isFuzzed = Context.environment["OUTLET_FUZZ"] != nil

let swift: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + (isFuzzed ? [.unsafeFlags(["-O", "-sanitize=fuzzer,address"])] : [])

/// The umbrella with what it re-exports: the build would not look behind it for changed modules, and
/// keep objects made for the old layout of a type.
let umbrella: [Target.Dependency] = [
    "Outlet", "OutletHTTP", "OutletTransport", "OutletSession", "OutletLayers",
    "OutletReachability",
    "OutletObservation", "OutletCurl", "OutletProvider", "OutletPluginHost",
]

let cxx: [CXXSetting] =
    [.enableWarning("all"), .enableWarning("extra")]
    + (isFuzzed ? [.unsafeFlags(["-fsanitize=fuzzer-no-link,address"])] : [])

let c: [CSetting] =
    [.enableWarning("all"), .enableWarning("extra")]
    + (isFuzzed ? [.unsafeFlags(["-fsanitize=fuzzer-no-link,address"])] : [])

/// A Swift plugin carries its own runtime, so that it does not depend on the host's toolchain.
let ownRuntime: [SwiftSetting] = [.unsafeFlags(["-static-stdlib"])]

/// FoundationEssentials' static library leaves these for the linker line.
let linkOwnRuntime: [LinkerSetting] = [
    .unsafeFlags(["-static-stdlib"]),
    .linkedLibrary("_FoundationCollections"),
    .linkedLibrary("_FoundationCShims"),
    .linkedLibrary("swiftSynchronization"),
]

/// Whether programs are built for a sanitizer (`.ci/sanitize`).
let isSanitized = Context.environment["OUTLET_SANITIZE"] != nil

/// The same for a program, but for one with a sanitizer: linked to a static runtime, it keeps the
/// sanitizer's `malloc` to itself, and frees what libc allocated with another.
let programWithRuntime = isSanitized ? [] : linkOwnRuntime

/// What the SDK asks of every plugin's link: one exported symbol, bound to itself, never unloaded.
let pluginLink: [LinkerSetting] = [
    .unsafeFlags([
        "-Xlinker", "--version-script=\(Context.packageDirectory)/PluginsSDK/C/exports.map",
        "-Xlinker", "-Bsymbolic",
        "-Xlinker", "--exclude-libs=ALL",
        "-Xlinker", "-z", "-Xlinker", "now",
        "-Xlinker", "-z", "-Xlinker", "nodelete",
    ])
]

/// SwiftPM links C through swiftc, which would add the Swift runtime to a library without Swift.
let withoutSwift: [LinkerSetting] = [.unsafeFlags(["-nostartfiles", "-static-stdlib"])]

/// A C plugin of this package; `directory` holds its one or two sources.
func cPlugin(_ name: String, _ directory: String, libraries: [String] = []) -> Target {
    .target(
        name: name, dependencies: ["COutletPlugin"], path: directory, publicHeadersPath: ".",
        cSettings: c,
        linkerSettings: pluginLink + withoutSwift + libraries.map { .linkedLibrary($0) })
}

/// The parsers of bytes from elsewhere with the rules that hold for them: a program for the fuzzer, or
/// tests that run its corpora.
let fuzzed: [Target] = {
    let dependencies: [Target.Dependency] = [
        "OutletHTTP", "OutletTransport", "OutletSession", "OutletLayers", "OutletReachability",
        "OutletObservation", "OutletCompression", "OutletCurl", "OutletPluginHost", "CCurl",
    ]
    guard isFuzzed else {
        return [
            .testTarget(
                name: "OutletFuzzTests", dependencies: dependencies, path: "Tests/Fuzz",
                exclude: ["Corpora", "FuzzDriver.swift", "main.swift"], swiftSettings: swift)
        ]
    }
    return [
        .systemLibrary(name: "CFuzzer", path: "Tests/CFuzzer"),
        .executableTarget(
            name: "OutletFuzz", dependencies: dependencies + ["CFuzzer"], path: "Tests/Fuzz",
            exclude: ["Corpora", "CorpusTests.swift"], swiftSettings: swift,
            linkerSettings: [
                .unsafeFlags(["-sanitize=address", "-use-ld=lld"]),
                .unsafeFlags([Context.environment["OUTLET_FUZZ"] ?? ""]),
                .linkedLibrary("stdc++"),
            ]),
    ]
}()

let package = Package(
    name: "Outlet",
    products: [
        // For programs that send requests: sessions, providers and the plugin host.
        .library(name: "Outlet", targets: ["Outlet"]),
        // For the tests of such programs: a transport that answers with stubs and recordings.
        .library(name: "OutletTesting", targets: ["OutletTesting"]),
        // For plugins in Swift.
        .library(name: "OutletPluginKit", targets: ["OutletPluginKit"]),
        // For the unit tests of plugins in Swift: a host without a session.
        .library(name: "OutletPluginTesting", targets: ["OutletPluginTesting"]),
        // The program.
        .executable(name: "outlet", targets: ["OutletTool"]),
        // The sample plugins, built as shared objects.
        .library(name: "request-id", type: .dynamic, targets: ["RequestID"]),
        .library(name: "pacer", type: .dynamic, targets: ["Pacer"]),
        .library(name: "retry-after", type: .dynamic, targets: ["RetryAfter"]),
        .library(name: "guard", type: .dynamic, targets: ["Guard"]),
        .library(name: "hmac-signer", type: .dynamic, targets: ["HMACSigner"]),
        .library(name: "oauth2", type: .dynamic, targets: ["OAuth2"]),
        // A plugin that tests load; a product, because nothing else builds a shared object in Swift.
        .library(name: "KitFixture", type: .dynamic, targets: ["KitFixture"]),
    ],
    targets: [
        // Values, session, provider. Of C they use small libraries only, each in one target.
        .target(name: "OutletIDN", dependencies: ["CIDN2"], swiftSettings: swift),
        .target(name: "OutletHTTP", dependencies: ["OutletIDN"], swiftSettings: swift),
        .target(name: "OutletFiles", swiftSettings: swift),
        .target(name: "OutletPointers", swiftSettings: swift),
        .target(name: "CThread", cSettings: c),
        .target(
            name: "OutletThreads", dependencies: ["OutletPointers", "CThread"],
            swiftSettings: swift),
        .target(
            name: "OutletCompression", dependencies: ["OutletHTTP", "CZlib", "CBrotli", "CZstd"],
            swiftSettings: swift),
        .target(name: "OutletPublicSuffix", dependencies: ["CPublicSuffix"], swiftSettings: swift),
        .target(
            name: "OutletTransport", dependencies: ["OutletHTTP", "OutletFiles", "OutletThreads"],
            swiftSettings: swift),
        .target(
            name: "OutletLayers",
            dependencies: ["OutletTransport", "OutletHTTP", "OutletFiles", "OutletPublicSuffix"],
            swiftSettings: swift),
        .target(
            name: "OutletSession",
            dependencies: [
                "OutletLayers", "OutletTransport", "OutletHTTP", "OutletFiles", "OutletCompression",
            ],
            swiftSettings: swift),
        .target(
            name: "OutletReachability",
            dependencies: [
                "OutletSession", "OutletLayers", "OutletTransport", "OutletHTTP", "OutletFiles",
                "CMnl",
            ],
            swiftSettings: swift),
        .target(
            name: "OutletObservation",
            dependencies: [
                "OutletSession", "OutletLayers", "OutletTransport", "OutletHTTP", "OutletFiles",
                "OutletCompression",
            ],
            swiftSettings: swift),
        .target(
            name: "OutletProvider",
            dependencies: [
                "OutletObservation", "OutletSession", "OutletLayers", "OutletTransport",
                "OutletHTTP",
            ],
            swiftSettings: swift),
        .target(
            name: "OutletTesting",
            dependencies: [
                "OutletObservation", "OutletSession", "OutletLayers", "OutletTransport",
                "OutletHTTP",
                "OutletFiles",
            ],
            swiftSettings: swift),

        // libcurl and OpenSSL.
        .systemLibrary(
            name: "CLibcurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CWslay", providers: [.apt(["libwslay-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .target(name: "CCurl", dependencies: ["CLibcurl"], cSettings: c),
        .target(
            name: "OutletTLS", dependencies: ["OutletFiles", "OutletPointers", "COpenSSL"],
            swiftSettings: swift),
        .target(
            name: "OutletCurl",
            dependencies: [
                "OutletTransport", "OutletHTTP", "OutletFiles", "OutletCompression", "OutletTLS",
                "OutletPointers", "OutletThreads", "CCurl", "CLibcurl", "CWslay",
            ],
            swiftSettings: swift),

        // Plugins: the header, the host, the Swift SDK.
        .target(
            name: "COutletPlugin", path: "PluginsSDK/C", exclude: ["exports.map", "testing"],
            cSettings: c),
        .target(name: "CPluginWatch", cSettings: c),
        .target(name: "CProcessExit", dependencies: ["CPluginWatch"], cSettings: c),
        .target(name: "CPluginLoad", cSettings: c),
        // Of headers alone, but for RE2.
        .target(name: "CJSONSchema", cxxSettings: cxx, linkerSettings: [.linkedLibrary("re2")]),
        .systemLibrary(name: "CFFI", pkgConfig: "libffi", providers: [.apt(["libffi-dev"])]),
        .target(
            name: "OutletPluginHost",
            dependencies: [
                "OutletProvider", "OutletSession", "OutletLayers", "OutletTransport", "OutletHTTP",
                "OutletFiles", "OutletPointers",
                "COutletPlugin", "CPluginWatch", "CPluginLoad", "CJSONSchema", "CFFI",
            ],
            swiftSettings: swift),
        .target(
            name: "OutletPluginKit", dependencies: ["COutletPlugin", "OutletPointers"],
            path: "PluginsSDK/Swift/OutletPluginKit", swiftSettings: swift),
        .target(
            name: "COutletFakeHost", dependencies: ["COutletPlugin"], path: "PluginsSDK/C/testing",
            publicHeadersPath: ".", cSettings: c),
        .target(
            name: "OutletPluginTesting",
            dependencies: [
                "OutletPluginKit", "COutletFakeHost", "COutletPlugin", "OutletPointers",
            ],
            path: "PluginsSDK/Swift/OutletPluginTesting", swiftSettings: swift),

        // The checker of plugins, whose tests are processes of their own.
        .target(name: "CSpawn", cSettings: c),
        .target(name: "CPluginCheck", dependencies: ["CPluginLoad"], cSettings: c),
        .target(
            name: "OutletPluginCheck",
            dependencies: [
                "OutletPluginHost", "OutletTesting", "OutletSession", "OutletLayers",
                "OutletTransport", "OutletHTTP", "OutletFiles", "CPluginCheck", "CSpawn",
            ],
            swiftSettings: swift),

        // The umbrella, the program, the loopback server of demo and tests.
        .target(
            name: "Outlet",
            dependencies: Array(umbrella.dropFirst()),
            swiftSettings: swift),
        .systemLibrary(
            name: "CMicroHTTPD", pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(
            name: "CPublicSuffix", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
        .systemLibrary(
            name: "CIDN2", pkgConfig: "libidn2", providers: [.apt(["libidn2-dev"])]),
        .systemLibrary(name: "CMnl", pkgConfig: "libmnl", providers: [.apt(["libmnl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .target(
            name: "OutletTestServer", dependencies: ["OutletPointers", "CMicroHTTPD", "CZlib"],
            swiftSettings: swift),
        .target(
            name: "OutletCLI",
            dependencies: umbrella + [
                "OutletPluginCheck", "OutletFiles", "OutletThreads", "OutletTestServer", "CMalloc",
            ],
            swiftSettings: swift),
        .systemLibrary(name: "CMalloc"),
        .executableTarget(
            name: "OutletTool",
            dependencies: ["OutletCLI", "CProcessExit"] + (isSanitized ? ["CGrace"] : []),
            swiftSettings: swift,
            linkerSettings: programWithRuntime),

        // Sample plugins.
        cPlugin("RequestID", "SamplePlugins/RequestID"),
        cPlugin("RetryAfter", "SamplePlugins/RetryAfter"),
        cPlugin("Guard", "SamplePlugins/Guard"),
        cPlugin("HMACSigner", "SamplePlugins/HMACSigner", libraries: ["crypto"]),
        .target(
            name: "Pacer", dependencies: ["OutletPluginKit", "COutletPlugin"],
            path: "SamplePlugins/Pacer", swiftSettings: swift + ownRuntime,
            linkerSettings: pluginLink + linkOwnRuntime),
        .target(
            name: "OAuth2", dependencies: ["OutletPluginKit", "COutletPlugin"],
            path: "SamplePlugins/OAuth2", swiftSettings: swift + ownRuntime,
            linkerSettings: pluginLink + linkOwnRuntime),

        // Benchmarks: the plain C loop that all figures are compared with, and Outlet's own.
        .executableTarget(
            name: "OutletReference", dependencies: ["CLibcurl", "COpenSSL"],
            path: "Benchmarks/Reference", cSettings: c, linkerSettings: [.linkedLibrary("wslay")]),
        .executableTarget(
            name: "OutletBench", dependencies: umbrella, path: "Benchmarks/Bench",
            swiftSettings: swift, linkerSettings: programWithRuntime),

        // Tests.
        .target(
            name: "KitFixture", dependencies: ["OutletPluginKit", "COutletPlugin"],
            path: "Tests/FaultyPlugins/KitFixture", swiftSettings: swift + ownRuntime,
            linkerSettings: pluginLink + linkOwnRuntime),
        .target(name: "CGrace", path: "Tests/CGrace", cSettings: c),
        .target(name: "CFaults", path: "Tests/CFaults", cSettings: c),
        .target(
            name: "OutletTestSupport",
            dependencies: [
                "OutletTestServer", "OutletSession", "OutletLayers", "OutletTransport",
                "OutletFiles", "CFaults",
                "CSpawn", "COpenSSL",
            ],
            path: "Tests/OutletTestSupport", swiftSettings: swift),
        .executableTarget(
            name: "OutletStressTest",
            dependencies: [
                "OutletCurl", "OutletSession", "OutletLayers", "OutletTransport", "OutletHTTP",
                "OutletTestSupport",
                "CFaults",
            ],
            path: "Tests/StressTest", swiftSettings: swift),
        // A program that links FoundationEssentials alone, as most of the tests cannot.
        .executableTarget(
            name: "OutletEssentials",
            dependencies: ["Outlet", "OutletTestServer", "OutletTestSupport"]
                + umbrella.dropFirst(),
            path: "Tests/Essentials", swiftSettings: swift),
        .testTarget(
            name: "OutletHTTPTests", dependencies: ["OutletHTTP", "OutletTestSupport"],
            swiftSettings: swift),
        .testTarget(
            name: "OutletIDNTests", dependencies: ["OutletIDN"], swiftSettings: swift),
        .testTarget(
            name: "OutletPublicSuffixTests", dependencies: ["OutletPublicSuffix"],
            swiftSettings: swift),
        .testTarget(
            name: "OutletFilesTests", dependencies: ["OutletFiles", "OutletTestSupport"],
            swiftSettings: swift),
        .testTarget(
            name: "OutletCompressionTests", dependencies: ["OutletCompression"],
            swiftSettings: swift),
        .testTarget(
            name: "OutletPointersTests", dependencies: ["OutletPointers"], swiftSettings: swift),
        .testTarget(
            name: "OutletTransportTests",
            dependencies: ["OutletTransport", "OutletThreads", "OutletHTTP", "OutletTestSupport"],
            swiftSettings: swift),
        .testTarget(
            name: "OutletLayersTests",
            dependencies: ["OutletLayers", "OutletTransport", "OutletHTTP", "OutletTesting"],
            swiftSettings: swift),
        .testTarget(
            name: "OutletSessionTests",
            dependencies: [
                "OutletSession", "OutletLayers", "OutletReachability", "OutletObservation",
                "OutletTransport",
                "OutletHTTP",
                "OutletFiles", "OutletTesting",
                "OutletTestSupport",
            ],
            swiftSettings: swift),
        .testTarget(
            name: "OutletObservationTests",
            dependencies: [
                "OutletObservation", "OutletSession", "OutletLayers", "OutletTransport",
                "OutletHTTP", "OutletTesting", "OutletTestSupport",
            ],
            swiftSettings: swift),
        .testTarget(
            name: "OutletReachabilityTests",
            dependencies: [
                "OutletReachability", "OutletSession", "OutletTransport", "OutletHTTP",
                "OutletTesting", "OutletTestSupport",
            ],
            swiftSettings: swift),
        .testTarget(
            name: "OutletTestingTests",
            dependencies: [
                "OutletTesting", "OutletObservation", "OutletSession", "OutletTransport",
                "OutletHTTP", "OutletTestSupport",
            ],
            swiftSettings: swift),
        // Links full Foundation, as some users' programs do.
        .testTarget(
            name: "OutletFoundationTests",
            dependencies: [
                "OutletPluginHost", "OutletObservation", "OutletSession", "OutletLayers",
                "OutletTransport", "OutletHTTP",
            ],
            swiftSettings: swift),
        .testTarget(
            name: "OutletTLSTests", dependencies: ["OutletTLS", "OutletTestSupport"],
            swiftSettings: swift),
        .testTarget(
            name: "OutletCurlTests",
            dependencies: [
                "OutletCurl", "OutletSession", "OutletLayers", "OutletTransport", "OutletHTTP",
                "OutletTestServer",
                "OutletTestSupport", "CCurl",
            ],
            swiftSettings: swift),
        .testTarget(
            name: "OutletProviderTests",
            dependencies: [
                "OutletProvider", "OutletSession", "OutletLayers", "OutletTransport", "OutletHTTP",
                "OutletTesting",
                "OutletTestSupport",
            ],
            swiftSettings: swift),
        .testTarget(
            name: "OutletPluginHostTests",
            dependencies: [
                "OutletPluginHost", "OutletProvider", "OutletObservation", "OutletSession",
                "OutletLayers",
                "OutletTransport", "OutletHTTP", "OutletTesting", "OutletCurl", "OutletTestServer",
                "OutletTestSupport", "COutletPlugin", "OutletPluginKit", "OutletPluginTesting",
            ],
            swiftSettings: swift),
        .testTarget(
            name: "OutletPluginKitTests",
            dependencies: [
                "OutletPluginKit", "OutletPluginTesting", "COutletFakeHost", "COutletPlugin",
            ],
            swiftSettings: swift),
        .testTarget(
            name: "OutletPluginCheckTests",
            dependencies: [
                "OutletPluginCheck", "OutletPluginHost", "OutletHTTP", "OutletTestSupport",
            ],
            swiftSettings: swift),
        .testTarget(
            name: "OutletTestServerTests", dependencies: ["OutletTestServer", "OutletTestSupport"],
            swiftSettings: swift),
        .testTarget(
            name: "OutletCLITests",
            dependencies: umbrella + [
                "OutletCLI", "OutletTesting", "OutletTestServer", "OutletTestSupport",
            ],
            swiftSettings: swift),
        .testTarget(
            name: "OutletTests",
            dependencies: umbrella + [
                "OutletFiles", "OutletTesting", "OutletTestServer", "OutletTestSupport",
            ],
            swiftSettings: swift),
    ]
        + fuzzed,
    swiftLanguageModes: [.v6],
    cLanguageStandard: .c11,
    cxxLanguageStandard: .cxx17
)
