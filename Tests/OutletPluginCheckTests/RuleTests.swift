import FoundationEssentials
import OutletPluginCheck
import OutletPluginHost
import OutletTestSupport
import Testing

/// The checker's list of rules, and the tests that check each rule.
@Suite struct RuleTests {
    @Test func `ABI.md lists all rules in the same order`() throws {
        let root = #filePath.dropLast("/Tests/OutletPluginCheckTests/RuleTests.swift".count)
        let text = try String(
            contentsOf: URL(filePath: "\(root)/PluginsSDK/ABI.md"), encoding: .utf8)
        let listed = text.split(separator: "\n").compactMap { line -> String? in
            let parts = line.split(separator: "`", maxSplits: 2, omittingEmptySubsequences: false)
            return parts.count == 3 && parts[0] == "| " ? String(parts[1]) : nil
        }
        #expect(listed == PluginRule.allCases.map(\.rawValue))
    }

    @Test(arguments: PluginRule.allCases)
    func `each rule has a test`(rule: PluginRule) {
        #expect(CheckTest.named(rule.rawValue)?.isEmpty == false)
    }

    @Test func `a test can be selected by its own name`() {
        #expect(CheckTest.named("create-again") == [.createAgain])
        #expect(CheckTest.named("settle") == nil)
    }

    @Test(arguments: PluginMisbehaviour.Kind.allCases)
    func `each kind of misbehaviour has a rule with a test`(kind: PluginMisbehaviour.Kind) {
        #expect(CheckTest.named(kind.rule.rawValue)?.isEmpty == false)
    }

    @Test(arguments: PluginMisbehaviour.Kind.allCases)
    func `what the host records of a plugin selects all tests that create instances`(
        kind: PluginMisbehaviour.Kind
    ) {
        let tests = CheckTest.allCases.filter { ![.file, .load, .entry].contains($0) }
        #expect(Set(CheckTest.named(kind.rule.rawValue) ?? []).isSuperset(of: tests))
    }

    @Test(arguments: [PluginRule.callReason, .callFrees])
    func `what calls can break selects all tests that call hooks or functions`(rule: PluginRule) {
        let others: Set<CheckTest> = [
            .file, .load, .entry, .create, .configurations, .createAgain,
        ]
        #expect(
            Set(CheckTest.named(rule.rawValue) ?? []) == Set(CheckTest.allCases).subtracting(others)
        )
    }

    @Test func `a test that cannot be started is no fault of the plugin`() {
        var check = PluginCheck(file: "/nonexistent.so", seed: 1)
        check.program = "/nonexistent/program"
        let results = Recorder<CheckResult>()
        check.run { results.record($0) }
        #expect(results.values.map(\.verdict).first == .notRun)
        #expect(results.values.allSatisfy { $0.findings.isEmpty && $0.verdict != .failed })
        #expect(results.values.first?.startFault?.contains("No such file") == true)
    }
}
