import OutletTestSupport

extension Recorder {
    /// Waits until `isLast` accepts a value; returns all values up to it.
    @discardableResult
    func values(until isLast: (Value) -> Bool) async throws -> [Value] {
        var seen: [Value] = []
        while true {
            let next = try await values(seen.count + 1)[seen.count]
            seen.append(next)
            if isLast(next) { return seen }
        }
    }
}
