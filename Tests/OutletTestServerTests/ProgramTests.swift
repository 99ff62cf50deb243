import OutletTestSupport
import Testing

@Suite struct `Programs that tests run` {
    @Test func `a program that does not exist is an error with its path`() async throws {
        let error = await #expect(throws: TestSupportError.self) {
            try await Program.run("/nonexistent/program")
        }
        #expect(error?.description == "program: /nonexistent/program: No such file or directory")
    }

    @Test func `exit code, output and error output are returned separately`() async throws {
        let result = try await Program.run(
            "/bin/sh", ["-c", "cat; echo problem >&2; exit 7"], standardInput: Array("in".utf8))
        #expect(result.exitCode == 7)
        #expect(result.signal == nil)
        #expect(result.output == "in")
        #expect(result.errorOutput == "problem\n")
    }

    @Test func `a program that exceeds its deadline is killed with its children`() async throws {
        let error = await #expect(throws: TestSupportError.self) {
            try await Program.run(
                "/bin/sh", ["-c", "echo begun; sleep 600 & wait"], deadline: .milliseconds(50))
        }
        #expect(error?.description.contains("/bin/sh: still ran after") == true)
    }

    @Test func `standard input that the program does not read is no error`() async throws {
        let input = [UInt8](repeating: 0, count: 1 << 20)
        let result = try await Program.run("/bin/true", standardInput: input)
        #expect(result.exitCode == 0)
    }

    @Test func `the environment is fixed except for variables that a test adds`() async throws {
        let result = try await Program.run("/usr/bin/env", environment: ["HOME": "/h", "A": "b"])
        let names = Set(
            result.output.split(separator: "\n").compactMap { $0.split(separator: "=").first })
        let ours = Set(names.filter { !$0.hasSuffix("SAN_OPTIONS") })
        #expect(ours == ["PATH", "HOME", "LANG", "TZ", "TERM", "A"])
        #expect(result.output.contains("HOME=/h\n"))
    }

    @Test func `a signal reaches a running program`() async throws {
        let program = try RunningProgram(
            "/bin/sh", ["-c", "trap 'echo caught; exit 130' INT; echo ready; read line"],
            standardInput: .open)
        try await program.output(containing: "ready")
        program.signal(2)
        let result = try await program.result()
        #expect(result.exitCode == 130)
        #expect(result.output == "ready\ncaught\n")
    }

    @Test func `a program can run with a terminal as output`() async throws {
        let program = try RunningProgram(
            "/bin/sh", ["-c", "test -t 1 && test -t 2 && stty size <&1"],
            standardOutput: .terminal(columns: 72))
        let result = try await program.result()
        #expect(result.exitCode == 0)
        #expect(result.output == "50 72\r\n")
    }

    @Test func `products are found in the directory of the tests`() throws {
        #expect(try Products.path("OutletPackageTests.xctest").hasPrefix("/"))
        #expect(throws: TestSupportError.self) { try Products.path("no-such-product") }
    }

    @Test func `the error of a recorder contains the number of values it has`() async throws {
        let recorder = Recorder<Int>()
        recorder.record(1)
        let error = await #expect(throws: TestSupportError.self) {
            try await recorder.values(2, within: .milliseconds(10))
        }
        #expect(error?.description.hasPrefix("recorder: 1 of 2 values after") == true)
        #expect(try await recorder.values(1) == [1])
    }

    @Test func `Once keeps the first value and counts the calls`() async throws {
        let once = Once<Int>()
        once.set(1)
        once.set(2)
        #expect(try await once.value() == 1)
        #expect(once.callCount == 2)
    }
}
