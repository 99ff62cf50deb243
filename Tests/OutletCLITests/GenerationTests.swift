import FoundationEssentials
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
        ("outlet --no-ch", "--no-check-status"), ("outlet --pretty = al", "all"),
        ("outlet plugins check fil", ""),
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

    /// A shell, and how completions are tried in it.
    struct Shell: Sendable, CustomTestStringConvertible {
        let arguments: [String]
        /// Commands of the shell that define `outlet` to print its arguments, and quieten it.
        let setup: String
        /// The command that reads the completions from the output of `$program`.
        let reading: String
        /// Lines that this shell completes, and what `outlet` then prints.
        let lines: [[String]]

        var testDescription: String { arguments[0] }

        static let all = [
            Shell(
                arguments: ["bash", "--norc", "--noprofile", "-i"],
                setup: #"""
                    PS1=; stty -echo; bind 'set bell-style none'; outlet() { printf '<%s>' "$@"; echo .; }
                    """#,
                reading: #"eval "$("$program" --generate bash)""#, lines: []),
            Shell(
                arguments: ["zsh", "-f", "-i"],
                setup: #"""
                    PS1=; unsetopt zle_bracketed_paste; outlet() { printf '<%s>' "$@"; echo .; }
                    """#,
                reading: #"""
                    "$program" --generate zsh > _outlet; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D
                    """#,
                lines: [
                    ["outlet --json plugins l\t", "<--json><plugins><list>"],
                    ["outlet --pretty al\t", "<--pretty><all>"],
                    ["outlet -omy\t", "<-omy file;touch PWNED.json>"],
                    ["outlet --no-ch\t", "<--no-check-status>"],
                ]),
            Shell(
                arguments: ["fish", "--no-config", "-i"],
                setup: "function outlet; printf '<%s>' $argv; echo .; end",
                reading: "$program --generate fish | source",
                lines: [
                    ["outlet --json plugins l\t", "<--json><plugins><list>"],
                    ["outlet --pretty al\t", "<--pretty><all>"],
                    ["outlet --no-ch\t", "<--no-check-status>"],
                ]),
        ]
    }

    @Test(arguments: Shell.all)
    func `shells complete verbs, values and file names, which they quote`(
        shell: Shell
    ) async throws {
        let folder = try TemporaryDirectory()
        try folder.write("x", to: "my file;touch PWNED.json")
        try folder.write("x", to: "there/x")
        try folder.write("x", to: "z`touch PWNED.json`$x")
        // Completes in an interactive shell, in a terminal: the shell quotes the names.
        let program = #"""
            import json, os, pty, select, sys
            folder, arguments, setup, lines = sys.argv[2], *map(json.loads, sys.argv[3:])
            os.chdir(folder)
            os.environ.update(program=sys.argv[1], HOME=folder, TERM="dumb")
            child, terminal = pty.fork()
            if child == 0: os.execvp(arguments[0], arguments)
            def until(text):
                seen = b""
                while text.encode() not in seen:
                    if not select.select([terminal], [], [], 60)[0]: sys.exit(repr(seen))
                    seen += os.read(terminal, 65536)
            def send(text): os.write(terminal, text.encode())
            for line in setup: send(line.strip() + "\n")
            send("echo rea''dy\n")
            until("ready")
            for line, result in lines + [
                ("outlet plugins in\t", "<plugins><inspect>"),
                ("outlet -o my\t", "<-o><my file;touch PWNED.json>"),
                ("outlet POST :1/x doc=@my\t", "<doc=@my file;touch PWNED.json>"),
                ("outlet POST :1/x @the\tx", "<@there/x>"),
                ("outlet POST :1/x a=@z\t", "<a=@z`touch PWNED.json`$x>"),
                ("outlet --pretty=al\t", "<--pretty=all>"),
            ]:
                send(line + "\n")
                until(result)
            send("exit\n")
            os.waitpid(child, 0)
            sys.exit(os.path.exists("PWNED.json"))
            """#
        func json(_ value: some Encodable) throws -> String {
            String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        }
        let result = try await Program.run(
            "/usr/bin/python3",
            [
                "-c", program, Products.path("outlet"), folder.path, try json(shell.arguments),
                try json([shell.setup, shell.reading]), try json(shell.lines),
            ])
        #expect(result.errorOutput == "" && result.exitCode == 0)
    }

    @Test func `no text line of the manual page is a roff request by mistake`() {
        let requests = [".TH", ".SH", ".TP", ".B", ".br"]
        for line in ManualPage.text.split(separator: "\n") where line.hasPrefix(".") {
            #expect(requests.contains { line.hasPrefix($0) })
        }
        #expect(!ManualPage.text.contains("\n'"))
    }
}
