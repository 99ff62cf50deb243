import OutletTestSupport
import Testing

@testable import OutletCLI

@Suite struct GenerationTests {
    @Test func `every option is in the manual page and in all completions`() {
        let texts = [Completions.bash, Completions.zsh, Completions.fish]
        for option in OptionTable.all {
            for text in texts { #expect(text.contains(option.long)) }
            let name = "--\(option.long)".replacing("-", with: "\\-")
            #expect(ManualPage.text.contains(name))
        }
        for code in ExitCode.allCases { #expect(ManualPage.text.contains(".B \(code.rawValue)\n")) }
    }

    @Test(arguments: [
        ("outlet --foll", "--follow"), ("outlet pl", "plugins"),
        ("outlet plugins in", "inspect"), ("outlet --color al", "always"),
        ("outlet --no-ch", "--no-check-status"),
    ])
    func `bash completes verbs, options and values`(line: String, word: String) async throws {
        let script = """
            eval "$("$0" --generate bash)"
            COMP_WORDS=(\(line)) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _outlet
            echo "${COMPREPLY[@]}"
            """
        let result = try await Program.run(
            "/bin/bash", ["-c", script, Products.path("outlet")])
        #expect(result.output == "\(word)\n")
        #expect(result.errorOutput == "")
    }

    @Test func `no text line of the manual page is a roff request by mistake`() {
        let requests = [".TH", ".SH", ".TP", ".B", ".br"]
        for line in ManualPage.text.split(separator: "\n") where line.hasPrefix(".") {
            #expect(requests.contains { line.hasPrefix($0) })
        }
        #expect(!ManualPage.text.contains("\n'"))
    }
}
