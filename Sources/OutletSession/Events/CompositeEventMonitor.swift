public import Dispatch

/// Passes each event to several monitors, each on its own queue.
public final class CompositeEventMonitor: EventMonitor {
    private let monitors: [(monitor: any EventMonitor, queue: DispatchQueue)]
    private let defaultQueue: DispatchQueue

    /// Makes a monitor of monitors.
    ///
    /// - Parameters:
    ///   - monitors: The monitors, in the order in which events are enqueued for them.
    ///   - defaultQueue: The queue of the monitors whose ``EventMonitor/queue`` is
    ///     `DispatchQueue.sessionCallbacks`.
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

    /// Returns a monitor with one more monitor after the present ones.
    func adding(_ monitor: any EventMonitor) -> CompositeEventMonitor {
        CompositeEventMonitor(
            monitors + [(monitor, monitor.queue(orElse: defaultQueue))], defaultQueue)
    }

    /// Enqueues the event on each monitor's queue; does not wait.
    ///
    /// - Parameters:
    ///   - event: The event; the request may have changed since it occurred.
    ///   - request: The request of the event; `nil` for the end of a session.
    public func observe(_ event: Event, of request: Request?) {
        for (monitor, queue) in monitors {
            queue.async { monitor.observe(event, of: request) }
        }
    }
}

extension DispatchQueue {
    /// A placeholder for ``Session/callbackQueue`` of the session that uses a monitor.
    ///
    /// Nothing runs on this queue itself.
    public static let sessionCallbacks = DispatchQueue(label: "outlet.session.callbacks")
}

extension EventMonitor {
    fileprivate func queue(orElse other: DispatchQueue) -> DispatchQueue {
        queue === DispatchQueue.sessionCallbacks ? other : queue
    }
}
