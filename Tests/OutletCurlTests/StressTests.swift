import OutletTestSupport
import Testing

@Suite struct `A stress test of requests and cancels from many threads` {
    /// In a program of its own, where all descriptors, threads and memory are the test's.
    @Test func `ends each request once and leaves nothing behind`() async throws {
        let test = try await Program.run(
            Products.path("OutletStressTest"), ["2000"], deadline: .seconds(300))
        #expect(test.exitCode == 0, "\(test.output)\(test.errorOutput)")
    }
}

@Suite struct `A program that ends in the middle of connections over TLS` {
    /// OpenSSL's own clearing up at exit would take locks from under the transport's thread.
    @Test func `ends with its own code`() async throws {
        let nginx = try await Nginx.shared()
        // What its threads are at work on is no leak.
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
