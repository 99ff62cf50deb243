import OutletHTTP
import Testing

@testable import OutletCLI

@Suite struct ColorChoiceTests {
    @Test(
        arguments: [
            (ColorChoice.auto, true, [:], true),
            (.auto, false, [:], false),
            (.auto, true, ["NO_COLOR": "1"], false),
            (.auto, true, ["NO_COLOR": ""], true),
            (.auto, true, ["TERM": "dumb"], false),
            (.auto, false, ["CLICOLOR_FORCE": "1"], true),
            (.auto, false, ["CLICOLOR_FORCE": "0"], false),
            (.auto, false, ["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], false),
            (.always, false, ["NO_COLOR": "1"], true),
            (.never, true, ["CLICOLOR_FORCE": "1"], false),
        ] as [(ColorChoice, Bool, [String: String], Bool)])
    func `colours follow option, environment and terminal`(
        choice: ColorChoice, isTerminal: Bool, environment: [String: String], isOn: Bool
    ) {
        #expect(choice.isOn(isTerminal: isTerminal, environment: environment) == isOn)
    }
}

@Suite struct RedactionTests {
    @Test(arguments: [
        ("Authorization", "Basic dTpw", "Basic •••"),
        ("authorization", "raw", "•••"),
        ("Cookie", "a=b", "•••"),
        ("Set-Cookie", "sid=abc; Path=/", "sid=•••; Path=/"),
        ("X-Api-Key", "k", "•••"),
        ("X-My-Token", "k", "•••"),
        ("Accept", "text/html", "text/html"),
    ])
    func `secrets in fields are hidden`(name: String, value: String, shown: String) {
        #expect(Redaction.value(of: HTTPHeader(name: name, value: value)) == shown)
    }

    @Test(arguments: [
        ("http://u:p@h/x", "http://•••@h/x"),
        ("http://h/?a=1&access_token=abc&b", "http://h/?a=1&access_token=•••&b"),
        ("http://h/?KEY=abc", "http://h/?KEY=•••"),
        ("http://h/a@b", "http://h/a@b"),
    ])
    func `secrets in addresses are hidden`(url: String, shown: String) {
        #expect(Redaction.url(url) == shown)
    }
}

@Suite struct CommandErrorTests {
    @Test func `an error is one line that a terminal shows as it is`() {
        let error = CommandError(.failure, "a\nb\u{1B}[31m: wrong", advice: "do\tthis")
        #expect(error.description == "outlet: a b [31m: wrong (do this)")
    }

    @Test(arguments: [(200, 0), (204, 0), (304, 3), (404, 4), (500, 5), (599, 5), (101, 0)])
    func `a status has its exit code`(status: Int, code: Int32) {
        #expect(ExitCode(status: status).rawValue == code)
    }
}
