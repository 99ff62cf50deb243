import Glibc
import OutletTestSupport
import Testing

/// What is left of something once it is over; for processes that run nothing else.
enum LeakCheck {
    /// Does it twice, because much is made once and kept, and compares after the second time.
    ///
    /// - Parameter heap: So many bytes more than before are not worth a word.
    static func none(
        heap: Int = 1 << 20, of body: () async throws -> Void,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        try await body()
        let pools: Set = [ProcessResources.threadName, ProcessResources.processName]
        // The first one's remains are awaited, lest they count as having been there before.
        let empty = try await settled()
        try await body()
        let excess = await ProcessResources.settle(to: empty, pools: pools, heap: heap)
        #expect(excess.isEmpty, "\(excess)", sourceLocation: location)
    }

    /// What there is once nothing of the transport's runs any more, nor of the servers'.
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
