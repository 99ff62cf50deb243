import Outlet
import Synchronization

/// Gathers what plugins do, and passes on to stderr what they have to say.
final class PluginWatcher: PluginObserver {
    private let actions = Mutex<[PluginAction]>([])
    private let console: Console
    private let lowestLevel: PluginLogLine.Level

    /// - Parameter isVerbose: Whether lines that are no warnings are passed on, too.
    init(console: Console, isVerbose: Bool) {
        self.console = console
        lowestLevel = isVerbose ? .debug : .warning
    }

    /// What was done since the last call, in order.
    func take() -> [PluginAction] {
        actions.withLock { actions in
            defer { actions = [] }
            return actions
        }
    }

    func pluginDidAct(_ activity: PluginActivity) {
        guard ![.create, .quiesce, .call].contains(activity.hook) else { return }
        let action = PluginAction(
            plugin: activity.plugin, hook: activity.hook.rawValue, effects: activity.effects,
            failure: activity.failure.map { Redaction.standard.text($0) },
            microseconds: Int64(activity.duration / 1000))
        actions.withLock { $0.append(action) }
    }

    func pluginDidLog(_ line: PluginLogLine) {
        guard line.level >= lowestLevel else { return }
        let facts = line.facts.map { " \($0.name)=\($0.value)" }.joined()
        console.report("outlet: plugin \(line.plugin): \(line.level): \(line.message)\(facts)")
    }

    func pluginDidMisbehave(_ misbehaviour: PluginMisbehaviour) {
        // Once is enough to know; the count is in the plugin's own books.
        guard misbehaviour.count == 1 else { return }
        console.report(
            "outlet: plugin \(misbehaviour.plugin): breaks the contract: "
                + "\(misbehaviour.kind.rule.rawValue): \(misbehaviour.fact)")
    }
}
