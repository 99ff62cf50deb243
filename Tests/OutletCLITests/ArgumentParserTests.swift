import Outlet
import Testing

@testable import OutletCLI

struct WrongLine: Sendable {
    let arguments: [String]
    let message: String
    let advice: String

    init(_ arguments: String..., message: String, advice: String = "see 'outlet --help'") {
        self.arguments = arguments
        self.message = message
        self.advice = advice
    }
}

private let wrongLines = [
    WrongLine(
        "--verbos", ":80", message: "--verbos: no such option",
        advice: "did you mean '--verbose'?"),
    WrongLine("--zzz", ":80", message: "--zzz: no such option"),
    WrongLine("-Z", ":80", message: "-Z: no such option"),
    WrongLine("-7", ":80", message: "-7: no such option"),
    WrongLine(
        "plugins", "call", "a.b", "-Z", message: "-Z: no such option",
        advice: "'--' goes before texts that begin with '-'"),
    WrongLine(
        "plugins", "call", "a.b", "--plugin", message: "--plugin: no such option",
        advice: "did you mean '--plugins'?"),
    WrongLine("--timeout", message: "--timeout: the value is missing: SECONDS"),
    WrongLine("--timeout", "", ":80", message: "--timeout: the value is empty: SECONDS"),
    WrongLine("-o", "", ":80", message: "-o: the value is empty: FILE"),
    WrongLine("--plugins=", ":80", message: "--plugins: the value is empty: DIR"),
    WrongLine("--json=1", message: "--json: takes no value"),
    WrongLine(
        "--color=allways", message: "--color: not one of auto, always, never",
        advice: "did you mean 'always'?"),
    WrongLine("demo", "--follow", message: "--follow: not an option of 'outlet demo'"),
    WrongLine(
        "plugins",
        message: "plugins: what to do is missing: one of list, inspect, config, call, check, "
            + "new"),
    WrongLine(
        "plugins", "lsit",
        message: "plugins lsit: no such verb: there are list, inspect, config, call, check, new",
        advice: "did you mean 'plugins list'?"),
    WrongLine(
        "plugin", "list", message: "plugin: no such verb",
        advice: "did you mean 'plugins'? a host of that name is 'http://plugin/'"),
]

@Suite struct ArgumentParserTests {
    @Test(arguments: [
        (["-h", "-b"], "--headers: contradicts --body"),
        (["-b", "-v"], "--verbose: contradicts --body"),
        (["-h", "--print=b"], "--headers: contradicts --print"),
    ])
    func `two choices of what to print contradict each other`(options: [String], message: String) {
        let error = #expect(throws: CommandError.self) {
            try OutputParts(ArgumentParser.parse(options + [":80"]))
        }
        #expect(error?.exitCode == .usage)
        #expect(error?.message == message)
    }

    @Test func `options may be at any position, with attached or separate values`() throws {
        let parsed = try ArgumentParser.parse([
            "--timeout=2.5", "GET", "-o", "file", ":80/", "--plugins", "a", "-vF", "--plugins=b",
            "x==1",
        ])
        #expect(parsed.verb == .request)
        #expect(parsed.operands == ["GET", ":80/", "x==1"])
        #expect(parsed.value(.timeout) == "2.5")
        #expect(parsed.value(.output) == "file")
        #expect(parsed.values(.plugins) == ["a", "b"])
        #expect(parsed.isOn(.verbose) && parsed.isOn(.follow))
    }

    @Test func `a value may follow a short option directly`() throws {
        #expect(try ArgumentParser.parse(["-vofile", ":80"]).value(.output) == "file")
    }

    @Test func `negative numbers are arguments of a function`() throws {
        let parsed = try ArgumentParser.parse([
            "plugins", "call", "a.add", "5", "-7", "--plugins", "d", "-1.5e3", "--json",
        ])
        #expect(parsed.verb == .pluginsCall && parsed.isOn(.json))
        #expect(parsed.operands == ["a.add", "5", "-7", "-1.5e3"])
        let texts = try ArgumentParser.parse(["plugins", "call", "a.say", "--", "-v", "--json"])
        #expect(texts.operands == ["a.say", "-v", "--json"])
    }

    @Test func `two dashes end the options`() throws {
        let parsed = try ArgumentParser.parse([":80", "--", "--verbose", "-x:1"])
        #expect(parsed.operands == [":80", "--verbose", "-x:1"])
        #expect(!parsed.isOn(.verbose))
    }

    @Test func `a switch that is on by default can be turned off`() throws {
        #expect(try ArgumentParser.parse([":80"]).isOn(.checkStatus))
        #expect(try !ArgumentParser.parse([":80", "--no-check-status"]).isOn(.checkStatus))
        #expect(try !ArgumentParser.parse([":80", "-F", "--no-follow"]).isOn(.follow))
    }

    @Test func `verbs take operands, and any other command line is a request`() throws {
        #expect(try ArgumentParser.parse(["plugins", "list", "dir"]).verb == .pluginsList)
        #expect(try ArgumentParser.parse(["plugins", "list", "dir"]).operands == ["dir"])
        #expect(try ArgumentParser.parse(["--plugins", "d", "demo"]).verb == .demo)
        #expect(try ArgumentParser.parse(["demo.example"]).verb == .request)
    }

    @Test(arguments: wrongLines)
    func `the error for a wrong command line has the fault and a suggestion`(line: WrongLine) {
        let error = #expect(throws: CommandError.self) { try ArgumentParser.parse(line.arguments) }
        #expect(error?.exitCode == .usage)
        #expect(error?.message == line.message)
        #expect(error?.advice == line.advice)
    }

    @Test func `the option --help has priority over errors of the command line`() throws {
        let parsed = try ArgumentParser.parse(["plugins", "--help"])
        #expect(parsed.isOn(.help))
    }

    @Test func `long and short options are unique, and each has a verb`() {
        #expect(Set(OptionTable.all.map(\.long)).count == Option.ID.allCases.count)
        #expect(OptionTable.all.count == Option.ID.allCases.count)
        let letters = OptionTable.all.compactMap(\.short)
        #expect(Set(letters).count == letters.count)
        #expect(OptionTable.all.allSatisfy { !$0.verbs.isEmpty && $0.summary.hasSuffix(".") })
    }

    @Test(arguments: [
        ("verbose", "verbsoe", 1), ("plugins", "plugin", 1), ("a", "xyz", 3), ("", "ab", 2),
    ])
    func `the edit distance counts deleted, added, changed and swapped letters`(
        a: String, b: String, distance: Int
    ) {
        #expect(Suggestion.distance(a, b) == distance)
    }
}

@Suite struct HelpTests {
    @Test func `the overview names every verb, option and exit code within 80 columns`() {
        let text = Help.overview(style: .plain)
        for verb in Verb.allCases { #expect(text.contains(verb.synopses[0])) }
        for option in OptionTable.all where option.verbs.contains(.request) {
            #expect(text.contains("--\(option.long)"))
        }
        for code in ExitCode.allCases { #expect(text.contains(code.explanation)) }
        for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }

    @Test(arguments: Verb.allCases)
    func `each verb has a help page with only its own options`(verb: Verb) {
        let text = Help.page(for: verb, style: .plain)
        #expect(text.contains(verb.synopses[0]))
        for option in OptionTable.all where !option.verbs.contains(verb) {
            #expect(!text.contains("--\(option.long) "))
        }
    }
}
