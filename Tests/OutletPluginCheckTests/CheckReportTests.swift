import FoundationEssentials
import Glibc
import OutletPluginHost
import OutletTestSupport
import Testing

@testable import OutletPluginCheck

@Suite struct CheckReportTests {
    /// Returns the messages that a report writes, and whether it has failed.
    private func findings(
        _ body: (CheckReport) -> Void
    ) throws -> (messages: [String], hasFailed: Bool) {
        let directory = try TemporaryDirectory()
        let path = directory.url.appending(path: "report").path
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        let report = CheckReport(descriptor: descriptor, mark: "#")
        body(report)
        close(descriptor)
        let text = try String(contentsOf: URL(filePath: path), encoding: .utf8)
        let messages = text.split(separator: "\n").compactMap { line -> String? in
            guard case .finding(let finding) = CheckLine(line, mark: "#") else { return nil }
            return finding.message
        }
        return (messages, report.hasFailed)
    }

    @Test func `of a long report the last step and everything but steps is kept`() {
        let finding = CheckLine.finding(CheckFinding(rule: .callFrees, message: "it leaks"))
        let lines = [CheckLine.step("1"), finding, .step("2"), .step("3"), .skipped("no hooks")]
        let report = lines.map { $0.text(mark: "#") + "\n" }.joined() + "# {\"st"
        let kept = CheckLine.withoutEarlierSteps(Array(report.utf8))
        let expected = [finding, .step("3"), .skipped("no hooks")]
        #expect(
            String(decoding: kept, as: UTF8.self)
                == expected.map { $0.text(mark: "#") + "\n" }.joined() + "# {\"st")
    }

    @Test func `a violation is reported after a warning of the same rule, and fails the test`()
        throws
    {
        let found = try findings {
            $0.find(.callFrees, "a", isWarning: true)
            $0.find(.callFrees, "b", isWarning: true)
            $0.find(.callFrees, "c")
            $0.find(.callFrees, "d")
        }
        #expect(found.messages == ["a", "c"])
        #expect(found.hasFailed)
    }

    @Test func `a later warning does not cancel a violation`() throws {
        let found = try findings {
            $0.find(.callFrees, "a")
            $0.find(.callFrees, "b", isWarning: true)
            $0.find(.noFork, "c", isWarning: true)
        }
        #expect(found.messages == ["a", "c"])
        #expect(found.hasFailed)
    }

    @Test func `warnings alone do not fail a test`() throws {
        #expect(try !findings { $0.find(.callFrees, "a", isWarning: true) }.hasFailed)
    }
}
