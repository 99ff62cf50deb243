public import Dispatch

/// Passes each event on to several monitors, each on its own queue, in order.
public final class CompositeEventMonitor: EventMonitor {
    private let monitors: [(monitor: any EventMonitor, queue: DispatchQueue)]
    private let defaultQueue: DispatchQueue

    /// Makes a monitor of monitors.
    ///
    /// - Parameters:
    ///   - monitors: Told of each event, in this order.
    ///   - defaultQueue: For those that name no queue.
    public init(monitors: [any EventMonitor], defaultQueue: DispatchQueue) {
        self.monitors = monitors.map { ($0, $0.queue ?? defaultQueue) }
        self.defaultQueue = defaultQueue
    }

    private init(
        _ monitors: [(monitor: any EventMonitor, queue: DispatchQueue)],
        _ defaultQueue: DispatchQueue
    ) {
        self.monitors = monitors
        self.defaultQueue = defaultQueue
    }

    /// The same monitors, and one more behind them.
    func adding(_ monitor: any EventMonitor) -> CompositeEventMonitor {
        CompositeEventMonitor(
            monitors + [(monitor, monitor.queue ?? defaultQueue)], defaultQueue)
    }

    func perform(_ event: @escaping @Sendable (any EventMonitor) -> Void) {
        for (monitor, queue) in monitors { queue.async { event(monitor) } }
    }
}
