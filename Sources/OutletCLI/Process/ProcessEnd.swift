import Dispatch
import Glibc
import Outlet
import OutletTransport

/// Ends the process if it should end but something blocks it.
///
/// That is a plugin that does not return, a reader that does not read, or an input that does not
/// end. A call into a plugin or the system cannot be cancelled from outside, so the process exits
/// during the call.
enum ProcessEnd {
    /// How long a plugin call or a write may take, if it runs when the program should end.
    private static let callLimit = Duration.milliseconds(500)
    /// How long all remaining work may take from that time.
    private static let limit = Duration.seconds(2)
    /// How long a hook that has not returned may exceed its time limit: the host reports it first,
    /// if it can.
    private static let hangGrace = Duration.seconds(1)
    /// The time between two checks for hooks that do not return.
    private static let hangCheck = Duration.seconds(1)
    /// The time between two checks for output that is not read.
    private static let unreadCheck = Duration.milliseconds(200)
    /// How long the write of the error message may take before the process exits without it, in
    /// seconds.
    private static let reportLimit = 0.2

    /// How long ``endingWork`` and the error message may take together, in seconds.
    private static let endingWorkLimit = 3.0

    private static let isActive = Lock(false)
    /// Called before the process ends by ``endNow(_:with:)``; `nil` for nothing.
    private static let endingWork = Lock<(@Sendable () -> Void)?>(nil)
    /// Makes the report for stdout if ``endNow(_:with:)`` ends the process; `nil` for none, also when a
    /// report has been printed.
    private static let endingReport = Lock<(@Sendable (CommandError) -> JSONValue)?>(nil)
    /// The exit code in a report that was printed whole; `nil` if there is none.
    private static let reportedCode = Lock<ExitCode?>(nil)
    /// The exit code of the last error that was reported.
    private static let reported = Lock<ExitCode?>(nil)

    /// Sets what has to be done before a signal or a time limit ends the process.
    static func setEndingWork(_ body: @escaping @Sendable () -> Void) {
        endingWork.withLock { $0 = body }
    }

    /// Sets the report that is printed if a signal or a time limit ends the process before another report
    /// is printed.
    static func setReport(_ make: @escaping @Sendable (CommandError) -> JSONValue) {
        endingReport.withLock { $0 = make }
    }

    /// Records that a report is being printed, so that the end of the process prints none.
    ///
    /// - Returns: What makes the report of the end; `nil` if there is none, or there was a report.
    @discardableResult
    static func takeReport() -> (@Sendable (CommandError) -> JSONValue)? {
        endingReport.withLock { $0.take() }
    }

    /// Does the same as ``takeReport()``, but does not return if the end of the process prints a report
    /// now.
    static func beginReport() {
        guard takeReport() == nil, isActive.withLock({ $0 }) else { return }
        while true { pause() }
    }

    /// Records that a report was printed whole: the program ends with the exit code that it has, also if
    /// a signal has come meanwhile.
    static func didPrintReport(with exitCode: ExitCode) {
        reportedCode.withLock { $0 = exitCode }
    }

    /// The exit code of ``didPrintReport(with:)``; `nil` before.
    static var codeOfReport: ExitCode? { reportedCode.withLock { $0 } }

    /// Records that an error was reported; ``endNow(_:with:)`` does not report the same end again.
    static func didReport(_ error: CommandError) { reported.withLock { $0 = error.exitCode } }

    /// Whether the end of the program by its time limit was reported already.
    private static func isReported(_ exitCode: ExitCode) -> Bool {
        exitCode == .timeout && reported.withLock { $0 } == .timeout
    }

    /// Ends the process if something blocks it from now on; returns immediately.
    ///
    /// - Parameters:
    ///   - console: Where to report the error.
    ///   - error: The error and exit code of the program. What blocks the process is added to the
    ///     message.
    ///   - finishesOutput: Whether output may take longer than the limit while its reader reads.
    static func endIfBlocked(_ console: Console, with error: CommandError, finishesOutput: Bool) {
        let start = ContinuousClock.now
        let taken = ActiveWrites.bytesTaken
        SleepingThread.run(after: 0.5) {
            check(console, error, since: start, finishesOutput ? taken : nil)
        }
    }

    /// Ends the process if it is blocked; else checks again 100 ms later.
    ///
    /// - Parameters:
    ///   - console: Where to report the error.
    ///   - error: The error and exit code of the program.
    ///   - start: When the program should have ended.
    ///   - taken: The number of bytes written at the last check; `nil` if output must not extend
    ///     the limit.
    private static func check(
        _ console: Console, _ error: CommandError, since start: ContinuousClock.Instant,
        _ taken: Int64?
    ) {
        let calls = PluginHost.activeCalls
        let isHung = calls.contains {
            !$0.hasOwnTime && !$0.isPending
                && Duration.nanoseconds(Int64(clamping: $0.duration)) >= callLimit
        }
        let isUnread = ActiveWrites.longest.map { $0.duration >= callLimit } ?? false
        let now = ActiveWrites.bytesTaken
        let isLate =
            start.duration(to: .now) >= limit && !calls.contains(where: \.hasOwnTime)
            && taken.map { $0 == now } ?? true
        if isHung || isUnread || isLate { endNow(console, with: error) }
        SleepingThread.run(after: 0.1) {
            check(console, error, since: start, taken == nil ? nil : now)
        }
    }

    /// Ends the process when a plugin does not return from a hook within its time limit, and the
    /// host cannot go on without it.
    ///
    /// Only for hooks for which the host waits (``PluginCall/mustReturn``). Functions that the
    /// command line calls may take any time, and shutting down has a time limit of its own. Time in
    /// which the process was stopped, as by a debugger, or output was not read does not count.
    ///
    /// - Parameters:
    ///   - console: Where to report the error.
    ///   - deadline: The time limit of hooks whose plugin has none in its settings.
    static func endIfPluginHangs(_ console: Console, after deadline: Duration) {
        endIfPluginHangs(console, after: deadline, since: .now, lastCheck: .now)
    }

    /// Ends the process if a plugin does not return, as ``endIfPluginHangs(_:after:)``; else checks
    /// again within a second.
    ///
    /// - Parameters:
    ///   - console: Where to report the error.
    ///   - deadline: The time limit of hooks whose plugin has none in its settings.
    ///   - start: When the time began that counts; before, the process was stopped.
    ///   - lastCheck: When this was called last.
    private static func endIfPluginHangs(
        _ console: Console, after deadline: Duration, since start: ContinuousClock.Instant,
        lastCheck: ContinuousClock.Instant
    ) {
        let now = ContinuousClock.now
        let wasStopped = lastCheck.duration(to: now) > hangCheck * 2
        let isUnread = ActiveWrites.longest.map { $0.duration >= callLimit } ?? false
        let start = wasStopped || isUnread ? now : start
        let rests = PluginHost.activeCalls.filter {
            $0.mustReturn && !$0.hasOwnTime && $0.hook != .call
        }.map { call in
            let limit = call.limit.map { Duration.nanoseconds(Int64(clamping: $0)) } ?? deadline
            let taken = Duration.nanoseconds(Int64(clamping: call.duration))
            return min(limit, deadline) + hangGrace - min(taken, start.duration(to: now))
        }
        guard let next = rests.min(), next <= .zero else {
            let rest = min(hangCheck, rests.min() ?? hangCheck)
            return SleepingThread.run(after: rest / .seconds(1)) {
                endIfPluginHangs(console, after: deadline, since: start, lastCheck: now)
            }
        }
        let error = CommandError(
            .plugin, "a plugin holds up the program",
            advice: "its author finds the cause with 'outlet plugins check FILE'")
        endNow(console, with: error)
    }

    /// Ends the process when a reader of its output accepts nothing for a time.
    ///
    /// - Parameters:
    ///   - console: Where to report the error.
    ///   - limit: The longest time of a write.
    ///   - error: The error and exit code of the program; the message gets the name of the output.
    static func endIfUnread(_ console: Console, after limit: Duration, with error: CommandError) {
        let rest = limit - (ActiveWrites.longest?.duration ?? .zero)
        guard rest > .zero else { endNow(console, with: error) }
        SleepingThread.run(after: min(rest, unreadCheck) / .seconds(1)) {
            endIfUnread(console, after: limit, with: error)
        }
    }

    /// Ends the process immediately, and reports the error with what blocked the process.
    ///
    /// Thread: any. A second call ends the process without waiting for the report of the first.
    static func endNow(_ console: Console, with error: CommandError) -> Never {
        let isFirst = isActive.withLock { isActive in
            defer { isActive = true }
            return !isActive
        }
        // The first call reports the error; a second one ends the process without waiting for it.
        guard isFirst else { PluginWatch.endProcess(error.exitCode.rawValue) }
        if let codeOfReport { PluginWatch.endProcess(codeOfReport.rawValue) }
        // The reader of stderr may have stopped reading, and the write below would block.
        let work = endingWork.withLock { $0 }
        SleepingThread.run(after: work == nil ? reportLimit : endingWorkLimit) {
            PluginWatch.endProcess(error.exitCode.rawValue)
        }
        work?()
        PluginOutput.copyRest()
        let message = blocker.map { "\(error.message): \($0)" } ?? error.message
        // The interrupted output may end within a colour sequence, so this resets the style.
        let mayBeColoured =
            console.outputIsTerminal && console.outputStyle.isOn && ActiveWrites.longest != nil
        let reset = "\u{1B}[0m\n"
        if mayBeColoured, console.errorsAreTerminal { try? console.errors.write(reset) }
        let whole = CommandError(error.exitCode, message, advice: error.advice)
        if !isReported(error.exitCode) { console.report(whole) }
        // After the error, because stdout may be what blocks.
        if mayBeColoured, !console.errorsAreTerminal { try? console.output.write(reset) }
        if let make = takeReport() { try? console.show(report: make(whole)) }
        // Without exit handlers, because a plugin's thread may still run: these and static
        // destructors would free what it uses.
        PluginWatch.endProcess(error.exitCode.rawValue)
    }

    /// A description of the plugin call that the program waits for; `nil` if there is none.
    static var pluginBlocker: String? {
        let calls = PluginHost.activeCalls.filter { !$0.waitsForProgram }
        guard let call = calls.first(where: { !$0.isPending }) ?? calls.first else { return nil }
        let time = Quantity.duration(Int64(clamping: call.duration / 1000))
        let what = call.isPending ? "has not settled" : "has not returned from"
        return "plugin \(call.plugin) \(what) \(call.hook.rawValue) for \(time)"
    }

    /// A description of what blocks the process; `nil` if nothing does.
    private static var blocker: String? {
        if let text = pluginBlocker { return text }
        let input = AwaitedInput.blocker
        guard let write = ActiveWrites.longest else { return input }
        // If an input is being read as well, a write that has just begun is not the cause.
        if write.duration < callLimit, let input { return input }
        let time = Quantity.duration(Int64(write.duration / .microseconds(1)))
        return "\(write.name) has accepted nothing for \(time)"
    }
}

extension PluginCall {
    /// Whether the call shuts a plugin down; such calls have a separate time limit.
    fileprivate var hasOwnTime: Bool { hook == .quiesce || hook == .destroy }
}

extension Console {
    /// Reports the plugins that were abandoned when they were shut down, and the hooks they have not
    /// left.
    func report(abandoned plugins: [String]) {
        let calls = PluginHost.activeCalls
        for id in plugins {
            let hook = calls.first { $0.plugin == id }?.hook.rawValue
            report(
                "outlet: plugin \(id): "
                    + (hook.map { "has not returned from \($0)" } ?? "has not ended its work")
                    + ", and was abandoned")
        }
    }

    /// Reports what the plugins of a host have changed in the process.
    func report(_ changes: [String], by host: PluginHost) {
        let plugins = host.status.map(\.id).joined(separator: " or ")
        for change in changes {
            report(
                "outlet: plugin \(plugins): breaks the contract: "
                    + "\(PluginRule.stateProcess.rawValue): it changed \(change)")
        }
    }
}
