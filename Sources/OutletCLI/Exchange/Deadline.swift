import Dispatch
import Outlet
import Synchronization

/// The end of a request's time, redirects, retries and the waits between them included.
struct Deadline: Sendable {
    /// In seconds.
    let seconds: Double

    /// A transfer that sees its own end coming can say more about it, so it goes first.
    private static let grace = 0.05

    /// Sends, and cancels when the time has passed; cancelling the task cancels as well.
    func send(_ send: @escaping @Sendable () async -> Exchange) async -> Exchange {
        let work = Task(operation: send)
        let state = State()
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds + Deadline.grace) {
            if state.pass() { work.cancel() }
        }
        var exchange = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
        if state.finish(), exchange.failure?.error.exitCode == .interrupted {
            exchange.failure = Exchange.Failure(timedOutAfter: seconds, request: exchange.request)
        }
        return exchange
    }

    /// Who came first: the answer or the end of the time.
    private final class State: Sendable {
        private let value = Mutex((hasPassed: false, isFinished: false))

        /// Notes the end of the time; whether there is something to cancel.
        func pass() -> Bool {
            value.withLock { value in
                value.hasPassed = !value.isFinished
                return value.hasPassed
            }
        }

        /// Notes the answer; whether the time had passed.
        func finish() -> Bool {
            value.withLock { value in
                value.isFinished = true
                return value.hasPassed
            }
        }
    }
}
