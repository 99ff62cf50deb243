import Dispatch
import OutletSession
import OutletTransport

/// The instances of one host; shuts them down when released, if that has not happened before.
///
/// Thread: any.
final class RunningPlugins: Sendable {
    private let instances: [PluginInstance]
    /// The time limit of the shutdown in `deinit`, in nanoseconds.
    private let lastDeadline: UInt64
    /// The queues on which events of requests are passed on.
    private let eventQueues = Lock([DispatchQueue]())

    init(_ instances: [PluginInstance], deadline: UInt64) {
        self.instances = instances
        lastDeadline = deadline
    }

    deinit {
        RunningPlugins.shutDown(instances, deadline: lastDeadline) { _ in }
    }

    /// Adds a queue whose events are passed on before a shutdown begins.
    func add(eventQueue queue: DispatchQueue) { eventQueues.withLock { $0.append(queue) } }

    /// Removes a queue.
    func remove(eventQueue queue: DispatchQueue) {
        eventQueues.withLock { $0.removeAll { $0 === queue } }
    }

    /// How long a shutdown waits at most for events that were observed before, in ms.
    private static let longestEventWait = 100

    /// Shuts all instances down, after they were passed the events that were observed before.
    ///
    /// - Parameters:
    ///   - deadline: The time limit for all together, in nanoseconds.
    ///   - completion: Called once, on a global queue, with the sorted ids of abandoned instances.
    func shutDown(deadline: UInt64, completion: @escaping @Sendable ([String]) -> Void) {
        let queues = eventQueues.withLock { $0 }
        let begin: @Sendable () -> Void = { [instances] in
            RunningPlugins.shutDown(instances, deadline: deadline, completion: completion)
        }
        guard !queues.isEmpty else { return begin() }
        let passed = DispatchGroup()
        for queue in queues { queue.async(group: passed) {} }
        let limit = DispatchTimeInterval.milliseconds(Self.longestEventWait)
        DispatchQueue.global().async {
            _ = passed.wait(timeout: .now() + limit)
            begin()
        }
    }

    /// Abandons the instances that have not ended, without counting it as a violation.
    func abandon() {
        for instance in instances {
            instance.shutDown(deadline: .now(), isFault: false) { _ in }
        }
    }

    private static func shutDown(
        _ instances: [PluginInstance], deadline: UInt64,
        completion: @escaping @Sendable ([String]) -> Void
    ) {
        let group = DispatchGroup()
        let abandoned = AbandonedPlugins()
        let time = DispatchTime.now() + .nanoseconds(Int(clamping: deadline))
        for instance in instances {
            group.enter()
            instance.shutDown(deadline: time) { outcome in
                if case .abandoned = outcome { abandoned.ids.withLock { $0.append(instance.id) } }
                group.leave()
            }
        }
        group.notify(queue: .global()) { completion(abandoned.ids.withLock { $0.sorted() }) }
    }
}

/// Collects the ids of instances that did not end in time.
private final class AbandonedPlugins: Sendable {
    let ids = Lock([String]())
}
