import Dispatch
import Glibc
import Outlet
import Synchronization

/// Ends the process when it is to end and something holds it up: a plugin that does not come back, a
/// reader that does not read, a file that does not come to its end.
///
/// Nobody can end a call into a plugin or the system from outside, so the process ends around it.
enum ProcessEnd {
    /// How long a call that is under way when the program is to end may still take.
    private static let patience = Duration.milliseconds(500)
    /// How long all that is left to do may take from then on.
    private static let limit = Duration.seconds(2)
    /// How long the last line may take.
    private static let farewell = DispatchTimeInterval.milliseconds(200)

    private static let isUnderWay = Mutex(false)

    /// Ends the process from now on as soon as something holds it up.
    ///
    /// - Parameters:
    ///   - error: Why the program is to end, and its exit code; what holds it up is added to the
    ///     message.
    ///   - finishesOutput: Whether output may take its time as long as its reader goes on reading.
    static func hasten(_ console: Console, with error: CommandError, finishesOutput: Bool) {
        let start = ContinuousClock.now
        let taken = WritesUnderWay.bytesTaken
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(500)) {
            check(console, error, since: start, finishesOutput ? taken : nil)
        }
    }

    /// - Parameter taken: How much output was taken at the last look; `nil` where that is no excuse.
    private static func check(
        _ console: Console, _ error: CommandError, since start: ContinuousClock.Instant,
        _ taken: Int64?
    ) {
        let calls = PluginHost.callsUnderWay
        let isHung = calls.contains {
            !$0.hasOwnTime && !$0.isPromise
                && Duration.nanoseconds(Int64(clamping: $0.duration)) >= patience
        }
        let isUnread = WritesUnderWay.longest.map { $0.duration >= patience } ?? false
        let now = WritesUnderWay.bytesTaken
        let isLate =
            start.duration(to: .now) >= limit && !calls.contains(where: \.hasOwnTime)
            && taken.map { $0 == now } ?? true
        if isHung || isUnread || isLate { endNow(console, with: error) }
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100)) {
            check(console, error, since: start, taken == nil ? nil : now)
        }
    }

    /// Ends the process; says what held it up, if something did.
    static func endNow(_ console: Console, with error: CommandError) -> Never {
        let isFirst = isUnderWay.withLock { isUnderWay in
            defer { isUnderWay = true }
            return !isUnderWay
        }
        // The first thread writes the last line; a second one ends the process without waiting.
        guard isFirst else { _exit(error.exitCode.rawValue) }
        // The reader of stderr may have stopped reading.
        DispatchQueue.global().asyncAfter(deadline: .now() + farewell) {
            _exit(error.exitCode.rawValue)
        }
        let message = hindrance.map { "\(error.message): \($0)" } ?? error.message
        if console.outputIsTerminal, console.outputStyle.isOn, WritesUnderWay.longest != nil {
            // What was being written ends in the middle, and maybe in a colour.
            try? console.output.write("\u{1B}[0m\n")
        }
        console.report(CommandError(error.exitCode, message, advice: error.advice))
        // The plugin's thread runs on: nothing may be taken down under it.
        _exit(error.exitCode.rawValue)
    }

    /// Which plugin is waited for, in words.
    static var pluginHindrance: String? {
        let calls = PluginHost.callsUnderWay
        guard let call = calls.first(where: { !$0.isPromise }) ?? calls.first else { return nil }
        let time = Quantity.duration(Int64(clamping: call.duration / 1000))
        let what = call.isPromise ? "has promised an answer to" : "has not come back from"
        return "plugin \(call.plugin) \(what) \(call.hook.rawValue) for \(time)"
    }

    /// What holds the process up, in words.
    private static var hindrance: String? {
        if let text = pluginHindrance { return text }
        let input = AwaitedInput.name.map { "\($0) is not at its end" }
        guard let write = WritesUnderWay.longest else { return input }
        // A write that has just begun holds up nobody, if there is something else.
        if write.duration < patience, let input { return input }
        let time = Quantity.duration(Int64(write.duration / .microseconds(1)))
        return "\(write.name) has taken nothing for \(time)"
    }
}

extension PluginCall {
    /// Whether it is one of those that end a plugin's work, which have a time of their own.
    fileprivate var hasOwnTime: Bool { hook == .quiesce || hook == .destroy }
}

extension Console {
    /// Says which plugins did not end in time, and where they are.
    func report(abandoned plugins: [String]) {
        let calls = PluginHost.callsUnderWay
        for id in plugins {
            let hook = calls.first { $0.plugin == id }?.hook.rawValue
            report(
                "outlet: plugin \(id): "
                    + (hook.map { "has not come back from \($0)" } ?? "did not end in time")
                    + ", and was left behind")
        }
    }
}
