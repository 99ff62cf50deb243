import Dispatch

/// Runs a closure once after a delay, unless cancelled before.
///
/// Thread: any.
final class DeadlineTimer: @unchecked Sendable {
    // @unchecked because a dispatch source may be used from any thread.
    private let source = DispatchSource.makeTimerSource(queue: .global())

    /// Starts the timer.
    ///
    /// - Parameters:
    ///   - nanoseconds: The delay.
    ///   - body: Called once, on a global queue.
    init(_ nanoseconds: UInt64, _ body: @escaping @Sendable () -> Void) {
        source.schedule(deadline: .now() + .nanoseconds(Int(clamping: nanoseconds)))
        source.setEventHandler(handler: body)
        source.activate()
    }

    /// Stops the timer and releases the closure.
    func cancel() {
        source.cancel()
    }
}
