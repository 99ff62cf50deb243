import OutletTestSupport
import Testing

@Suite struct `A stress test of requests and cancels from many threads` {
    /// Runs in a separate process, so that no other test changes the number of descriptors and
    /// threads or the memory in use.
    @Test func `each request ends once, and no descriptor, thread or memory leaks`() async throws {
        let test = try await Program.run(
            Products.path("OutletStressTest"), ["2000"], deadline: .seconds(300))
        #expect(test.exitCode == 0, "\(test.output)\(test.errorOutput)")
    }
}

@Suite struct `A program that exits with open TLS connections` {
    /// OpenSSL's cleanup at exit would destroy locks that the transport's thread still uses.
    @Test func `the program exits with its own exit code`() async throws {
        let nginx = try await Nginx.shared()
        // The memory that its threads still use at exit would be reported as leaked.
        let sanitizer = (Program.environment["ASAN_OPTIONS"] ?? "") + ":detect_leaks=0"
        for _ in 0..<20 {
            let program = try await Program.run(
                Products.path("OutletStressTest"),
                ["leave", nginx.baseURL(.tls) + "/closing", nginx.authority.certificatePath],
                environment: ["ASAN_OPTIONS": sanitizer])
            #expect(
                program.exitCode == 7 && program.output == "",
                "signal \(program.signal ?? 0) \(program.output)\(program.errorOutput)")
        }
    }
}
