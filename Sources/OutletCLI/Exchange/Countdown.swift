import Dispatch
import Outlet
import OutletTransport

/// The time limit of the whole command (`--timeout`), which starts when this object is made.
///
/// It includes reading stdin and files, plugins, redirects, retries with their delays, and writing
/// the output.
final class Countdown: Sendable {
    private struct State {
        /// `nil` until ``begin(_:)``.
        var request: HTTPRequest?
        var work: Task<Exchange, Never>?
        var hasPassed = false
        /// The plugin call or the input that the program waited for when the time limit passed.
        var blocker: String?
        var isFinished = false
    }

    private let seconds: Double
    private let start = ContinuousClock.now
    private let state = Lock(State())

    /// How much later than the transfer's own timeout this one fires, in seconds.
    ///
    /// The transfer's timeout comes first, because its error says more.
    private static let grace = 0.05

    /// Starts the time limit.
    ///
    /// - Parameters:
    ///   - seconds: The time limit in seconds.
    ///   - console: Where to report the error if the process must be ended.
    init(_ seconds: Double, _ console: Console) {
        self.seconds = seconds
        SleepingThread.run(after: seconds + Countdown.grace) { self.pass(console) }
    }

    /// Sets the request, after it is made; from now on, the time limit cancels it.
    ///
    /// Before this call, the time limit ends the process.
    func begin(_ request: HTTPRequest) { state.withLock { $0.request = request } }

    /// Calls `send`, and cancels it when the time limit passes or the current task is cancelled.
    func send(_ send: @escaping @Sendable () async -> Exchange) async -> Exchange {
        let work = Task(operation: send)
        let isLate = state.withLock { state in
            state.work = work
            return state.hasPassed
        }
        if isLate { work.cancel() }
        var exchange = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
        let (hasPassed, blocker) = finish()
        if hasPassed, exchange.failure?.error.exitCode.isOfSignal == true {
            exchange.failure = Exchange.Failure(
                timedOutAfter: seconds, waitingFor: blocker ?? retryDelay(of: exchange.actions),
                request: exchange.request)
        }
        if exchange.failure?.error.exitCode == .timeout, let slowest = ActiveWrites.slowest,
            slowest.duration >= .seconds(seconds) / 2
        {
            exchange.failure = exchange.failure?.naming(
                output: slowest.name, taking: slowest.duration)
        }
        return exchange
    }

    /// Describes the delay of a retry that a plugin has asked for, if it is as long as the time limit.
    private func retryDelay(of actions: [PluginAction]) -> String? {
        for action in actions {
            guard let delay = action.retryDelay, delay >= seconds else { continue }
            return "plugin \(action.plugin) asks for the next attempt after \(delay) s"
        }
        return nil
    }

    /// Handles the end of the time limit: cancels the request, and makes the program end soon.
    private func pass(_ console: Console) {
        let blocker = ProcessEnd.pluginBlocker ?? AwaitedInput.blocker
        let state = state.withLock { state in
            state.hasPassed = !state.isFinished
            state.blocker = blocker
            return state
        }
        guard let request = state.request else {
            let error = CommandError(
                .timeout, "no request within \(seconds) s", advice: "--timeout allows more")
            ProcessEnd.endNow(console, with: error)
        }
        let error =
            state.isFinished
            ? CommandError(
                .timeout, "\(Exchange.Failure.place(of: request)): not done within \(seconds) s",
                advice: "--timeout allows more")
            : Exchange.Failure(timedOutAfter: seconds, waitingFor: nil, request: request).error
        ProcessEnd.endIfBlocked(console, with: error, finishesOutput: true)
        state.work?.cancel()
    }

    /// The remaining time in seconds; 0 after the end.
    var rest: Double { max(0, seconds - Double((ContinuousClock.now - start) / .seconds(1))) }

    /// Records that the request has ended.
    ///
    /// - Returns: Whether the time limit had passed before, and the plugin call or the input that the
    ///   program waited for at that time.
    private func finish() -> (hasPassed: Bool, blocker: String?) {
        state.withLock { state in
            state.isFinished = true
            state.work = nil
            return (state.hasPassed, state.blocker)
        }
    }
}
