import OutletPluginCheck
import OutletTestSupport
import Testing

/// The results of the checker for plugins that follow the contract.
@Suite(.timeLimit(.minutes(patience * 3))) struct SamplePluginTests {
    /// The file of each plugin, and its configuration if it needs one.
    private static let samples: [(product: String, configuration: [String: String])] = [
        ("librequest-id.so", [:]), ("libpacer.so", [:]), ("libretry-after.so", [:]),
        ("libguard.so", ["dev.outlet.guard": #"{"allow": ["*.test", "GET x.example/a"]}"#]),
        (
            "libhmac-signer.so",
            [
                "dev.outlet.hmac-signer":
                    #"{"key_id": "k", "secret": "0123456789abcdef0123456789abcdef"}"#
            ]
        ),
        (
            "liboauth2.so",
            [
                "dev.outlet.oauth2": """
                {"token_url": "http://127.0.0.1:9/token", "origins": ["https://a.test"],
                 "client_id": "me", "client_secret": "0123456789"}
                """
            ]
        ),
    ]

    /// The tests that do not apply to a sample: none of them takes another configuration while it
    /// runs; these two may block, and export no functions.
    private static func skipped(_ product: String) -> Set<CheckTest> {
        ["libhmac-signer.so", "liboauth2.so"].contains(product)
            ? [.reconfigure, .nonblocking, .functions] : [.reconfigure]
    }

    @Test(arguments: samples)
    func `the sample plugins pass all tests`(
        sample: (product: String, configuration: [String: String])
    ) async throws {
        let results = try await checked(
            sample.product, sample.configuration, CheckTest.allCases, seed: 7)
        #expect(results.map(\.test) == CheckTest.allCases)
        let skipped = Self.skipped(sample.product)
        for result in results {
            #expect(
                result.verdict == (skipped.contains(result.test) ? .skipped : .passed),
                "\(result.test): \(result.skipReason ?? "") \(result.findings)")
            #expect(result.seed == 7)
        }
    }

    @Test func `later tests are skipped for a plugin that cannot be loaded`() async throws {
        let results = try await checked("libFaultyNoEntry.so", [:], [.file, .load, .hooks])
        #expect(results.map(\.verdict) == [.failed, .skipped, .skipped])
        #expect(results[2].skipReason == "see 'file'")
    }

    @Test func `the finding for a crash names the plugin, the hook and the step`() async throws {
        let result = try await checked(
            "libFaultyHangs.so", ["faulty.hangs": #"{"hook": "will_send", "how": "abort"}"#],
            [.hooks])[0]
        let message = try #require(result.findings.first).message
        #expect(message.contains("was ended by SIGABRT during: request 1: "))
        #expect(message.contains("plugin faulty.hangs: has crashed with SIGABRT in will_send of "))
    }

    @Test func `the finding for a crash in a plugin's thread names the pending plugin`()
        async throws
    {
        let result = try await checked(
            "libFaultyCrashesLater.so",
            [
                "faulty.later-one": #"{"hook": "adapt", "how": "settle"}"#,
                "faulty.later-two": #"{"hook": "process", "how": "crash"}"#,
            ], [.hooks])[0]
        let message = try #require(result.findings.first).message
        #expect(
            message.contains(
                "plugin faulty.later-two: has crashed with SIGABRT in a thread that "
                    + "faulty.later-one started in adapt, during process of "), "\(message)")
    }
}
