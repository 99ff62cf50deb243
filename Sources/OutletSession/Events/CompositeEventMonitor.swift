public import Dispatch

/// Passes each event on to several monitors, each on its own queue, in order.
public final class CompositeEventMonitor: EventMonitor {
    private let monitors: [(monitor: any EventMonitor, queue: DispatchQueue)]
    private let defaultQueue: DispatchQueue

    /// Makes a monitor of monitors.
    ///
    /// - Parameters:
    ///   - monitors: Told of each event, in this order.
    ///   - defaultQueue: For those whose queue is `DispatchQueue.sessionCallbacks`.
    public init(monitors: [any EventMonitor], defaultQueue: DispatchQueue) {
        self.monitors = monitors.map { ($0, $0.queue(orElse: defaultQueue)) }
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
            monitors + [(monitor, monitor.queue(orElse: defaultQueue))], defaultQueue)
    }

    /// Calls each monitor in turn.
    public func observe(_ event: Event, of request: Request?) {
        for (monitor, queue) in monitors {
            queue.async { monitor.observe(event, of: request) }
        }
    }
}

extension DispatchQueue {
    /// Stands for the callback queue of whichever session uses a monitor: nothing runs on this one.
    public static let sessionCallbacks = DispatchQueue(label: "outlet.session.callbacks")
}

extension EventMonitor {
    fileprivate func queue(orElse other: DispatchQueue) -> DispatchQueue {
        queue === DispatchQueue.sessionCallbacks ? other : queue
    }
}
