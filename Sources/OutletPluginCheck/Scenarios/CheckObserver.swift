import OutletHTTP
import OutletPluginHost
import OutletTransport

/// Makes findings of what the host notes about a plugin.
final class CheckObserver: PluginObserver {
    private let report: CheckReport
    private let ignored: Set<PluginMisbehaviour.Kind>
    /// What ends a request whose retrier wants to wait for long, by the request's id.
    private let endings = Lock([String: @Sendable () -> Void]())

    /// The longest wait for another attempt, in seconds; a test has more to do than to wait.
    private static let longestDelay = 0.05

    /// - Parameter ignored: What the test itself makes plugins do.
    init(_ report: CheckReport, ignoring ignored: Set<PluginMisbehaviour.Kind> = []) {
        self.report = report
        self.ignored = ignored
    }

    /// Calls `end` when a request is to wait for long; `nil` when it has ended.
    func watch(_ requestID: String, end: (@Sendable () -> Void)?) {
        endings.withLock { $0[requestID] = end }
    }

    func pluginDidAct(_ activity: PluginActivity) {
        if let failure = activity.failure {
            if failure.endsWithBytes(of: "without a reason") {
                report.find(
                    .callReason,
                    "\(activity.plugin): \(activity.hook.rawValue) failed: \(failure)")
            } else if failure.hasSameBytes(as: "its text is not UTF-8") {
                report.find(.valueKnown, "\(activity.plugin): \(activity.effects): \(failure)")
            }
        }
        guard activity.hook == .retry, let id = activity.requestID,
            let words = activity.effects.first?.parts(separatedBy: " "), words.count == 4,
            let seconds = Double(words[2]), seconds > Self.longestDelay
        else { return }
        endings.withLock { $0[id] }?()
    }

    func pluginDidMisbehave(_ misbehaviour: PluginMisbehaviour) {
        guard !ignored.contains(misbehaviour.kind) else { return }
        report.find(
            misbehaviour.kind.rule, "\(misbehaviour.plugin): \(misbehaviour.fact)")
    }
}
