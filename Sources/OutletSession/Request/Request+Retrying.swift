import Dispatch
import OutletTransport

/// The evaluation of an attempt: validation, then retries.
extension Request {
    func evaluate(
        _ task: any TransferTask, _ evaluation: Evaluation, at place: FinishingPlace
    ) {
        didTransfer(task)
        if isMonitored { notifyUnreportedEnd(of: task) }
        if evaluation.validates { runValidators() }
        if isMonitored { monitors?.observe(.didCompleteTask(task, error: error), of: self) }
        retryOrFinish(attempt: evaluation.attempt, at: place)
    }

    func retryOrFinish(attempt: Int, at place: FinishingPlace) {
        var step = FinishingStep()
        var end = EndOfAttempts.none
        let error = mutable.withLock { mutable -> SessionError? in
            guard let error = mutable.attempt.error, mutable.machine.state != .cancelled else {
                end = mutable.endAttempts(&step)
                return nil
            }
            return error
        }
        guard let error else {
            conclude(end, &step, at: place)
            return
        }
        guard let session = core.session,
            case let retriers = core.retriers(for: interceptor), !retriers.isEmpty
        else { return finish(at: place) }
        consult {
            self.ask(
                retriers[...], of: session, about: error, attempt: attempt, in: .evaluating
            ) {
                switch $0 {
                case .retry(let delay): self.retry(attempt: attempt, after: delay)
                case .leave: self.onFinishingQueue { self.finish(at: $0) }
                case .fail(let failed):
                    self.mutable.withLock { mutable in
                        if mutable.machine.isCurrent(attempt, in: .evaluating) {
                            mutable.attempt.overrule(failed)
                        }
                    }
                    self.onFinishingQueue { self.finish(at: $0) }
                }
            }
        }
    }

    /// Calls the retriers on the root queue, or at once with inline delivery.
    ///
    /// The next attempt starts on the same serial queue, so that a retrier which changes its state
    /// after calling its completion has changed it before its own adapter is called.
    func consult(_ question: @escaping @Sendable () -> Void) {
        if core.deliversInline { question() } else { core.rootQueue.async(execute: question) }
    }

    /// Resets the request and starts the next attempt after a delay in seconds.
    func retry(attempt: Int, after delay: Double) {
        let pause = Wait<Void>(core.deadlines) {
            self.core.rootQueue.async {
                let action = self.mutable.withLock { mutable in
                    let action = mutable.machine.retryNow(attempt: attempt)
                    if action != .nothing { self.monitors(mutable)?.observe(.isRetrying, of: self) }
                    return action
                }
                self.perform(action)
            }
        }
        let isMine = mutable.withLock { mutable in
            guard mutable.machine.willRetry(attempt: attempt) else { return false }
            reset(&mutable)
            mutable.wait = pause
            return true
        }
        guard isMine else { return }
        if delay > 0 {
            pause.begin(for: delay) {}
        } else {
            pause.answer(())
        }
    }
}
