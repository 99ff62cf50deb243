import Dispatch
import Outlet
import Synchronization

/// How long a request may take, plugins, redirects, retries and the waits between them included.
struct Deadline: Sendable {
    /// In seconds.
    let seconds: Double
}

/// The time of one request, running from when this is made.
final class Countdown: Sendable {
    private struct State {
        var work: Task<Exchange, Never>?
        var hasPassed = false
        var isFinished = false
    }

    private let deadline: Deadline
    private let state = Mutex(State())

    /// A transfer that sees its own end coming can say more about it, so it goes first; in seconds.
    private static let grace = 0.05

    init(_ deadline: Deadline, of request: HTTPRequest, _ console: Console) {
        self.deadline = deadline
        DispatchQueue.global().asyncAfter(deadline: .now() + deadline.seconds + Countdown.grace) {
            guard self.pass() else { return }
            let failure = Exchange.Failure(timedOutAfter: deadline.seconds, request: request)
            HungPlugins.end(console, with: failure.error)
        }
    }

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
        if finish(), exchange.failure?.error.exitCode == .interrupted {
            exchange.failure = Exchange.Failure(
                timedOutAfter: deadline.seconds, request: exchange.request)
        }
        return exchange
    }

    /// Notes the end of the time, and cancels; whether the answer is not there.
    private func pass() -> Bool {
        let (isFinished, work) = state.withLock { state in
            state.hasPassed = !state.isFinished
            return (state.isFinished, state.work)
        }
        if !isFinished { work?.cancel() }
        return !isFinished
    }

    /// Notes the answer; whether the time had passed.
    private func finish() -> Bool {
        state.withLock { state in
            state.isFinished = true
            state.work = nil
            return state.hasPassed
        }
    }
}
