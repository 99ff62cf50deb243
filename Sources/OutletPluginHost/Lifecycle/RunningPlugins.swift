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
        RunningPlugins.shutDown(instances, deadline: Self.time(after: lastDeadline)) { _ in }
    }

    private static func time(after nanoseconds: UInt64) -> DispatchTime {
        .now() + .nanoseconds(Int(clamping: nanoseconds))
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
    ///   - completion: Called once, on a thread of ``WorkerThreads/prompt``, with the sorted ids of
    ///     abandoned instances.
    func shutDown(deadline: UInt64, completion: @escaping @Sendable ([String]) -> Void) {
        let queues = eventQueues.withLock { $0 }
        let time = Self.time(after: deadline)
        let begin: @Sendable () -> Void = { [instances] in
            RunningPlugins.shutDown(instances, deadline: time, completion: completion)
        }
        guard !queues.isEmpty else { return begin() }
        let passed = DispatchGroup()
        for queue in queues { queue.async(group: passed) {} }
        let limit = DispatchTimeInterval.milliseconds(Self.longestEventWait)
        // Not on a global queue: the program may use all its threads.
        WorkerThreads.prompt.run {
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
        _ instances: [PluginInstance], deadline: DispatchTime,
        completion: @escaping @Sendable ([String]) -> Void
    ) {
        let ends = ShutdownEnds(of: instances.count + 1, completion)
        for instance in instances {
            instance.shutDown(deadline: deadline) { outcome in
                var abandoned: String?
                if case .abandoned = outcome { abandoned = instance.id }
                ends.add(abandoned: abandoned)
            }
        }
        ends.add(abandoned: nil)
    }
}

/// Counts the ends of instances, and collects the ids of those that did not end in time.
private final class ShutdownEnds: Sendable {
    private struct State {
        var left: Int
        var abandoned: [String] = []
    }

    private let state: Lock<State>
    private let completion: @Sendable ([String]) -> Void

    init(of count: Int, _ completion: @escaping @Sendable ([String]) -> Void) {
        state = Lock(State(left: count))
        self.completion = completion
    }

    /// Adds an end; the last one calls the completion on another thread.
    ///
    /// - Parameter abandoned: The id of the instance if it did not end in time.
    func add(abandoned: String?) {
        let all = state.withLock { state -> [String]? in
            if let abandoned { state.abandoned.append(abandoned) }
            state.left -= 1
            return state.left == 0 ? state.abandoned.sorted() : nil
        }
        if let all { WorkerThreads.prompt.run { self.completion(all) } }
    }
}
