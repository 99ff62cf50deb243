import Glibc
import OutletTestSupport
import Testing

/// Checks for leaked resources; for processes that run nothing else.
enum LeakCheck {
    /// Runs `body` twice, because some resources are created once and kept, and compares then.
    ///
    /// - Parameter heap: The number of additional bytes that is not reported as a leak.
    static func none(
        heap: Int = 1 << 20, of body: () async throws -> Void,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        try await body()
        let pools: Set = [ProcessResources.threadName, ProcessResources.processName]
        // Waits until the resources of the first run are released, so that they do not count.
        let empty = try await settled()
        try await body()
        let excess = await ProcessResources.settle(to: empty, pools: pools, heap: heap)
        #expect(excess.isEmpty, "\(excess)", sourceLocation: location)
    }

    /// The resources after the transport and the servers have ended.
    private static func settled() async throws -> ProcessResources {
        var last = ProcessResources.now()
        var quiet = 0
        for _ in 0..<2000 {
            try await Task.sleep(for: .milliseconds(5))
            let now = ProcessResources.now()
            let isQuiet = now.threads["outlet-loop"] == nil && now.descriptors == last.descriptors
            quiet = isQuiet ? quiet + 1 : 0
            if quiet == 20 { return now }
            last = now
        }
        throw TestSupportError("remains: something still runs: \(last)")
    }
}
