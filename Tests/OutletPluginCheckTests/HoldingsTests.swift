import Glibc
import Testing

@testable import OutletPluginCheck

@Suite struct HoldingsTests {
    @Test func `stacks of threads that run are counted as threads, not as mappings`() throws {
        let meter = HoldingsMeter()
        #expect(meter.fault == nil)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let before = meter.measure()
        var threads: [pthread_t] = []
        for _ in 0..<32 {
            var thread = pthread_t()
            let reader = UnsafeMutableRawPointer(bitPattern: Int(ends[0]))
            // Waits for the end of the pipe.
            let code = pthread_create(
                &thread, nil,
                { reader in
                    var byte: UInt8 = 0
                    _ = read(Int32(Int(bitPattern: reader)), &byte, 1)
                    return nil
                }, reader)
            if code == 0 { threads.append(thread) }
        }
        let after = meter.measure()
        close(ends[1])
        for thread in threads { pthread_join(thread, nil) }
        #expect(threads.count == 32)
        // Other tests may map memory and end threads meanwhile; these stacks have 256 MiB.
        #expect(after[.mappings] - before[.mappings] < 128 << 20)
        #expect(after[.threads] - before[.threads] > 16)
    }
}
