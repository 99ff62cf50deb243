import Outlet
import OutletTransport

/// Records the actions of plugins, and prints their log lines and faults to stderr.
final class PluginWatcher: PluginObserver {
    private struct Actions {
        var kept: [PluginAction] = []
        /// Whether there were more than are kept.
        var isFull = false
    }
    private let actions = Lock(Actions())
    private let reported = Lock<[PluginMisbehaviour]>([])
    private let console: Console
    private let lowestLevel: PluginLogLine.Level
    /// The number of actions that are kept: a plugin may send any number of requests.
    private static let most = 10_000
    /// The longest wait for another attempt that is not reported, in seconds.
    private static let shortDelay = 1.0

    /// Makes a watcher.
    ///
    /// - Parameters:
    ///   - console: Where to print.
    ///   - isVerbose: Whether to print log lines of all levels; else only warnings and
    ///     errors, or if only errors are printed, these.
    init(console: Console, isVerbose: Bool) {
        self.console = console
        lowestLevel = isVerbose ? .debug : console.isQuiet ? .error : .warning
    }

    /// The violations that were printed: for each plugin and hook, the first of each kind; the status
    /// counts all of them but those that ``PluginWatch`` has found.
    var violations: [PluginMisbehaviour] {
        var violations = reported.withLock { $0 }
        for misbehaviour in PluginWatch.misbehaviours
        where !violations.contains(where: { $0.isLike(misbehaviour) }) {
            violations.append(misbehaviour)
        }
        return violations
    }

    /// Returns the actions since the last call, in order, at most 10,000.
    func take() -> [PluginAction] {
        actions.withLock { actions in
            defer { actions = Actions() }
            return actions.kept
        }
    }

    func pluginDidAct(_ activity: PluginActivity) {
        guard ![.create, .quiesce, .call].contains(activity.hook) else { return }
        let action = PluginAction(
            plugin: activity.plugin, hook: activity.hook.rawValue, effects: activity.effects,
            failure: activity.failure.map { Redaction.standard.text($0) },
            retryDelay: activity.retryDelay,
            microseconds: Int64(activity.duration / 1000))
        let isFirstOther = actions.withLock { actions in
            if actions.kept.count < Self.most {
                actions.kept.append(action)
                return false
            }
            defer { actions.isFull = true }
            return !actions.isFull
        }
        if isFirstOther {
            console.report(
                "outlet: plugins have acted more than \(Self.most) times; later actions are not listed"
            )
        }
        guard let delay = activity.retryDelay, delay > Self.shortDelay else { return }
        console.note(
            "outlet: plugin \(activity.plugin): asks for another attempt after \(delay) s")
    }

    func pluginDidLog(_ line: PluginLogLine) {
        guard line.level >= lowestLevel else { return }
        let facts = line.facts.map { " \($0.name)=\($0.value)" }.joined()
        console.report("outlet: plugin \(line.plugin): \(line.level.name): \(line.message)\(facts)")
    }

    func pluginDidMisbehave(_ misbehaviour: PluginMisbehaviour) {
        let isFirst = reported.withLock { reported in
            let isKnown = reported.contains { $0.isLike(misbehaviour) }
            if !isKnown { reported.append(misbehaviour) }
            return !isKnown
        }
        guard isFirst else { return }
        console.report(
            "outlet: plugin \(misbehaviour.plugin): breaks the contract: "
                + "\(misbehaviour.kind.rule.rawValue): \(misbehaviour)")
    }
}

extension PluginMisbehaviour {
    /// Whether another one is of the same kind, plugin and hook.
    fileprivate func isLike(_ other: PluginMisbehaviour) -> Bool {
        plugin == other.plugin && kind == other.kind && hook == other.hook
    }
}
