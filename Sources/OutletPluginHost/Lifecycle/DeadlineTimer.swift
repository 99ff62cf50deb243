import Dispatch

/// Calls once, after a while, unless it is cancelled before.
///
/// Thread: any.
final class DeadlineTimer: @unchecked Sendable {
    // because a dispatch source may be used from any thread.
    private let source = DispatchSource.makeTimerSource(queue: .global())

    init(_ nanoseconds: UInt64, _ body: @escaping @Sendable () -> Void) {
        source.schedule(deadline: .now() + .nanoseconds(Int(clamping: nanoseconds)))
        source.setEventHandler(handler: body)
        source.activate()
    }

    /// Frees what the body holds.
    func cancel() {
        source.cancel()
    }
}
