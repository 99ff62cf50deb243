import OutletHTTP
import OutletPluginHost
import OutletTransport

/// Reports contract violations and failures without a reason as findings.
final class CheckObserver: PluginObserver {
    private let report: CheckReport
    private let ignored: Set<PluginMisbehaviour.Kind>
    /// Closures that cancel a request that waits long for a retry, by the request's id.
    private let endings = Lock([String: @Sendable () -> Void]())

    /// What the hooks have answered, by plugin.
    private let outcomes = Lock([String: [PluginHook: Outcomes]]())

    /// The longest wait for a retry in seconds; after longer ones the request is cancelled.
    private static let longestDelay = 0.05

    /// Creates an observer.
    ///
    /// - Parameters:
    ///   - report: Receives the findings.
    ///   - ignored: Kinds of violations that the test itself provokes.
    init(_ report: CheckReport, ignoring ignored: Set<PluginMisbehaviour.Kind> = []) {
        self.report = report
        self.ignored = ignored
    }

    /// Sets the closure to call when a plugin delays the retry of a request for long.
    ///
    /// - Parameters:
    ///   - requestID: The request's id.
    ///   - end: Cancels the request; `nil` once the request has ended. Called on any thread.
    func watch(_ requestID: String, end: (@Sendable () -> Void)?) {
        endings.withLock { $0[requestID] = end }
    }

    func pluginDidAct(_ activity: PluginActivity) {
        note(activity)
        // A hook that fails with a reason has seen that its change was refused. `pluginDidLog` reports
        // those that read a view after its end.
        if activity.failure == nil,
            let first = activity.refusals.first(where: { !$0.containsBytes(of: EndedViews.fact) })
        {
            // Another change may replace the refused one. It may also be unrelated. Functions and
            // serialize change nothing.
            let effects =
                [.call, .serialize].contains(activity.hook)
                ? "" : activity.effects.joined(separator: ", ")
            report.find(
                .valueKnown,
                "\(activity.plugin): \(Self.place(of: activity)): \(first): the host refused it, and "
                    + "the \(activity.hook == .call ? "function" : "hook") did not fail"
                    + (effects.isEmpty ? "" : "; it made another change: \(effects)"),
                isWarning: !effects.isEmpty)
        }
        if let failure = activity.failure, let fault = activity.reasonFault {
            report.find(
                Self.rule(of: failure, or: fault.rule),
                "\(activity.plugin): \(Self.place(of: activity)) failed: \(failure)")
        }
        guard activity.hook == .retry, let id = activity.requestID,
            let seconds = activity.retryDelay, seconds > Self.longestDelay
        else { return }
        endings.withLock { $0[id] }?()
    }

    /// The hook, or the function that was called.
    private static func place(of activity: PluginActivity) -> String {
        // The effect of a call is the function.
        guard activity.hook == .call, let name = activity.effects.first else {
            return activity.hook.rawValue
        }
        return "\(activity.hook.rawValue) of '\(name)'"
    }

    /// Reports what the host has refused, except for changes, and texts that are not UTF-8.
    ///
    /// The host writes a line in the plugin's name about them. Only warns of a text that is too long.
    func pluginDidLog(_ line: PluginLogLine) {
        guard line.refused != nil || line.isOfChange else { return }
        if line.message.containsBytes(of: EndedViews.fact) {
            return report.find(.viewLate, "\(line.plugin): \(line.message)")
        }
        guard let refused = line.refused else { return }
        var (isText, isLong) = (false, false)
        if case .notUTF8 = refused { isText = true }
        if case .tooLong = refused { isLong = true }
        guard isText || !line.isOfChange else { return }
        report.find(.valueKnown, "\(line.plugin): \(line.message)", isWarning: isLong)
    }

    func pluginDidMisbehave(_ misbehaviour: PluginMisbehaviour) {
        guard !ignored.contains(misbehaviour.kind) else { return }
        report.find(
            Self.rule(of: "\(misbehaviour)", or: misbehaviour.kind.rule),
            "\(misbehaviour.plugin): \(misbehaviour)")
    }

    /// The rule that is broken where the host has said something; `other` unless that is of a view
    /// after its end.
    private static func rule(of text: String, or other: PluginRule) -> PluginRule {
        text.containsBytes(of: EndedViews.fact) ? .viewLate : other
    }

    // MARK: Refused requests

    /// How often a hook was called, and failed, for a request that was not sent yet.
    private struct Outcomes {
        var calls = 0
        var failures = 0
        /// The first failure.
        var reason = ""
    }

    /// Counts the calls and failures of the hooks that can keep a request from being sent.
    private func note(_ activity: PluginActivity) {
        guard [.adapt, .prepare, .finalize].contains(activity.hook) else { return }
        outcomes.withLock { outcomes in
            var outcome = outcomes[activity.plugin, default: [:]][activity.hook] ?? Outcomes()
            outcome.calls += 1
            if let failure = activity.failure {
                if outcome.failures == 0 { outcome.reason = failure }
                outcome.failures += 1
            }
            outcomes[activity.plugin, default: [:]][activity.hook] = outcome
        }
    }

    /// Says of each hook that has failed for every request that the test has proved little; nothing
    /// if the test has found why.
    func noteRefusals() {
        guard !report.hasFailed else { return }
        for (plugin, hooks) in outcomes.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            for (hook, outcome) in hooks where outcome.failures == outcome.calls {
                report.note(
                    "\(plugin): \(hook.rawValue) has refused all \(outcome.calls) requests "
                        + "(\(outcome.reason)), so that little was tested; better is a configuration with "
                        + "which requests to check.example and other.example pass: "
                        + "--plugin-config \(plugin)=JSON")
            }
        }
    }
}

extension ReasonFault {
    /// The rule that a hook or function has violated whose failure has this fault.
    var rule: PluginRule {
        switch self {
        case .missing: .callReason
        case .unreadable, .undefinedStatus: .valueKnown
        }
    }
}
