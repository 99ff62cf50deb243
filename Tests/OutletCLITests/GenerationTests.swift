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

    @Test func `bash completes file names with quotes, and keeps what is before them`() async throws
    {
        let folder = try TemporaryDirectory()
        try folder.write("x", to: "my file;touch PWNED.json")
        try folder.write("x", to: "there/x")
        try folder.write("x", to: "z`touch PWNED.json`$x")
        // Completes in an interactive shell, in a terminal: readline quotes the names.
        let program = #"""
            import os, pty, select, sys
            child, terminal = pty.fork()
            if child == 0:
                os.chdir(sys.argv[2])
                os.execv("/bin/bash", ["bash", "--norc", "--noprofile", "-i"])
            def until(text):
                seen = b""
                while text not in seen:
                    if not select.select([terminal], [], [], 60)[0]: sys.exit(repr(seen))
                    seen += os.read(terminal, 65536)
            def send(text): os.write(terminal, text.encode())
            send("PS1=; stty -echo; bind 'set bell-style none'; outlet() { printf '<%s>' \"$@\"; echo .; }\n")
            send("eval \"$('" + sys.argv[1] + "' --generate bash)\"; echo rea''dy\n")
            until(b"ready")
            for line, result in [
                ("outlet -o my\t", b"<-o><my file;touch PWNED.json>"),
                ("outlet POST :1/x doc=@my\t", b"<doc=@my file;touch PWNED.json>"),
                ("outlet POST :1/x @the\tx", b"<@there/x>"),
                ("outlet POST :1/x a=@z\t", b"<a=@z`touch PWNED.json`$x>"),
                ("outlet --pretty=al\t", b"<--pretty=all>"),
            ]:
                send(line + "\n")
                until(result)
            send("exit\n")
            os.waitpid(child, 0)
            sys.exit(os.path.exists("PWNED.json"))
            """#
        let result = try await Program.run(
            "/usr/bin/python3", ["-c", program, Products.path("outlet"), folder.path])
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
