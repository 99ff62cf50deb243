/// How what was under way came to its end when a session or a transport was shut down in good time.
public struct ShutdownReport: Sendable, Equatable {
    /// How many ended by themselves, with whatever result.
    public var finished: Int
    /// How many were ended at the deadline.
    public var cut: Int

    /// Makes a report.
    public init(finished: Int = 0, cut: Int = 0) {
        self.finished = finished
        self.cut = cut
    }
}
