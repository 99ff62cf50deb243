import Synchronization

/// What plugins did, in order, gathered from whatever thread they ran on.
final class ActionLog: Sendable {
    private let actions = Mutex<[PluginAction]>([])

    /// Notes what a plugin did.
    func note(_ action: PluginAction) { actions.withLock { $0.append(action) } }

    /// What was noted since the last call.
    func take() -> [PluginAction] {
        actions.withLock { actions in
            defer { actions = [] }
            return actions
        }
    }
}
