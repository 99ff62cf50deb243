import Dispatch
import OutletTransport

/// Runs a closure once at a time, unless cancelled before.
///
/// Thread: any.
final class DeadlineTimer: @unchecked Sendable {
    // @unchecked because a dispatch source may be used from any thread.
    private let source = DispatchSource.makeTimerSource(queue: queue)
    private static let queue = DispatchQueue(label: "outlet.plugin.deadlines")

    /// Starts the timer.
    ///
    /// - Parameters:
    ///   - nanoseconds: The delay.
    ///   - body: Called once, on a thread of ``WorkerThreads/prompt``.
    convenience init(_ nanoseconds: UInt64, _ body: @escaping @Sendable () -> Void) {
        self.init(at: .now() + .nanoseconds(Int(clamping: nanoseconds)), body)
    }

    /// Starts the timer.
    ///
    /// - Parameters:
    ///   - deadline: When the closure is called.
    ///   - body: Called once, on a thread of ``WorkerThreads/prompt``.
    init(at deadline: DispatchTime, _ body: @escaping @Sendable () -> Void) {
        source.schedule(deadline: deadline)
        source.setEventHandler { WorkerThreads.prompt.run(body) }
        source.activate()
    }

    /// Stops the timer and releases the closure.
    func cancel() {
        source.cancel()
    }
}
