import OutletTestSupport
import Testing

@Suite struct `A storm of requests and cancels from many threads` {
    /// In a program of its own, where all descriptors, threads and memory are the storm's.
    @Test func `ends each request once and leaves nothing behind`() async throws {
        let storm = try await Program.run(
            Products.path("OutletStorm"), ["2000"], deadline: .seconds(300))
        #expect(storm.exitCode == 0, "\(storm.output)\(storm.errorOutput)")
    }
}
