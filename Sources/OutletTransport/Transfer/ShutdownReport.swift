/// How the running requests ended when a session or a transport was shut down with a deadline.
public struct ShutdownReport: Sendable, Equatable {
    /// The number of requests that ended by themselves, successfully or not.
    public var finished: Int
    /// The number of requests that the deadline ended.
    public var cut: Int

    /// Makes a report; by default an empty one.
    ///
    /// - Parameters:
    ///   - finished: The number of requests that ended by themselves, successfully or not.
    ///   - cut: The number of requests that the deadline ended.
    public init(finished: Int = 0, cut: Int = 0) {
        self.finished = finished
        self.cut = cut
    }
}
