import Dispatch
import Outlet
import Synchronization

/// The time that a request may take, running from when this is made: reading stdin and files,
/// plugins, redirects, retries and the waits between them, and a reader that does not read.
final class Countdown: Sendable {
    private struct State {
        /// `nil` while there is none yet.
        var request: HTTPRequest?
        var work: Task<Exchange, Never>?
        var hasPassed = false
        /// Which plugin was waited for then.
        var hindrance: String?
        var isFinished = false
    }

    private let seconds: Double
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    /// A transfer that sees its own end coming can say more about it, so it goes first; in seconds.
    private static let grace = 0.05

    /// - Parameter seconds: How long the request may take.
    init(_ seconds: Double, _ console: Console) {
        self.seconds = seconds
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds + Countdown.grace) {
            self.pass(console)
        }
    }

    /// The request is made: from now on it is cancelled when the time has passed.
    func begin(_ request: HTTPRequest) { state.withLock { $0.request = request } }

    /// Sends, and cancels when the time has passed; cancelling the task cancels as well.
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
        let (hasPassed, hindrance) = finish()
        if hasPassed, exchange.failure?.error.exitCode == .interrupted {
            exchange.failure = Exchange.Failure(
                timedOutAfter: seconds, waitingFor: hindrance, request: exchange.request)
        }
        return exchange
    }

    /// Notes the end of the time, and sees to it that the program ends.
    private func pass(_ console: Console) {
        let hindrance = ProcessEnd.pluginHindrance
        let state = state.withLock { state in
            state.hasPassed = !state.isFinished
            state.hindrance = hindrance
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
        ProcessEnd.hasten(console, with: error, finishesOutput: true)
        state.work?.cancel()
    }

    /// How long is left, in seconds.
    var rest: Double { max(0, seconds - Double((ContinuousClock.now - start) / .seconds(1))) }

    /// Notes the answer; whether the time had passed, and which plugin was waited for then.
    private func finish() -> (hasPassed: Bool, hindrance: String?) {
        state.withLock { state in
            state.isFinished = true
            state.work = nil
            return (state.hasPassed, state.hindrance)
        }
    }
}
