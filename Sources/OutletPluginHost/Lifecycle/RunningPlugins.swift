import Dispatch
import OutletSession
import OutletTransport

/// The instances of one host, shut down at the latest when nobody holds them any more.
///
/// Thread: any.
final class RunningPlugins: Sendable {
    private let instances: [PluginInstance]
    /// In nanoseconds.
    private let lastDeadline: UInt64

    init(_ instances: [PluginInstance], deadline: UInt64) {
        self.instances = instances
        lastDeadline = deadline
    }

    deinit {
        RunningPlugins.shutDown(instances, deadline: lastDeadline) { _ in }
    }

    /// Shuts all down.
    ///
    /// - Parameters:
    ///   - deadline: How long to wait for those that take their time, in nanoseconds.
    ///   - completion: Called once, with the ids of those that were abandoned.
    func shutDown(deadline: UInt64, completion: @escaping @Sendable ([String]) -> Void) {
        RunningPlugins.shutDown(instances, deadline: deadline, completion: completion)
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

/// Gathers who did not end in time.
private final class AbandonedPlugins: Sendable {
    let ids = Lock([String]())
}
