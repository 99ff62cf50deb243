import Outlet
import Synchronization

/// Records the actions of plugins, and prints their log lines and faults to stderr.
final class PluginWatcher: PluginObserver {
    private let actions = Mutex<[PluginAction]>([])
    /// The kinds of violations that were printed.
    private let reported = Mutex<Set<String>>([])
    private let console: Console
    private let lowestLevel: PluginLogLine.Level
    /// The longest wait for another attempt that is not reported, in seconds.
    private static let shortDelay = 1.0

    /// Makes a watcher.
    ///
    /// - Parameters:
    ///   - console: Where to print.
    ///   - isVerbose: Whether to print log lines of all levels; else only warnings and errors.
    init(console: Console, isVerbose: Bool) {
        self.console = console
        lowestLevel = isVerbose ? .debug : .warning
    }

    /// Returns the actions since the last call, in order.
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
            retryDelay: activity.retryDelay,
            microseconds: Int64(activity.duration / 1000))
        actions.withLock { $0.append(action) }
        guard let delay = activity.retryDelay, delay > Self.shortDelay else { return }
        console.report(
            "outlet: plugin \(activity.plugin): the next attempt follows after \(delay) s")
    }

    func pluginDidLog(_ line: PluginLogLine) {
        guard line.level >= lowestLevel else { return }
        let facts = line.facts.map { " \($0.name)=\($0.value)" }.joined()
        console.report("outlet: plugin \(line.plugin): \(line.level): \(line.message)\(facts)")
    }

    func pluginDidMisbehave(_ misbehaviour: PluginMisbehaviour) {
        // Prints each kind of fault once per plugin and hook; the status counts all of them.
        let kind =
            "\(misbehaviour.plugin) \(misbehaviour.kind) \(misbehaviour.hook?.rawValue ?? "")"
        guard reported.withLock({ $0.insert(kind).inserted }) else { return }
        console.report(
            "outlet: plugin \(misbehaviour.plugin): breaks the contract: "
                + "\(misbehaviour.kind.rule.rawValue): \(misbehaviour)")
    }
}
