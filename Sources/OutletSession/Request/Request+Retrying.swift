import Dispatch

/// Is an attempt good? If not, do the retriers want another?
extension Request {
    /// What retriers are asked about, and who of them is the request's own.
    private struct Question {
        let error: SessionError
        let interceptor: (any RequestInterceptor)?
    }

    func evaluate(
        _ task: any TransferTask, _ evaluation: Evaluation, at place: FinishingPlace
    ) {
        didTransfer(task)
        let monitors = monitors
        if monitors != nil { tellUntoldEnd(of: task) }
        if evaluation.validates { runValidators() }
        if let monitors { monitors.request(self, didCompleteTask: task, with: error) }
        retryOrFinish(attempt: evaluation.attempt, at: place)
    }

    func retryOrFinish(attempt: Int, at place: FinishingPlace) {
        var step = FinishingStep()
        var isMine = false
        let question = mutable.withLock { mutable -> Question? in
            // The retriers were asked about a shared result already, by the request that brought it.
            guard let error = mutable.error, mutable.machine.state != .cancelled,
                !mutable.sharesResult
            else {
                isMine = mutable.beginFinishing(&step)
                return nil
            }
            return Question(error: error, interceptor: mutable.interceptor)
        }
        guard let question else {
            if isMine { finish(&step, at: place) }
            return
        }
        guard let session = core.session,
            case let retriers = core.retriers(for: question.interceptor), !retriers.isEmpty
        else { return finish(at: place) }
        consult {
            self.ask(
                retriers[...], of: session, about: question.error, attempt: attempt, in: .evaluating
            ) {
                switch $0 {
                case .retry(let delay): self.retry(attempt: attempt, after: delay)
                case .leave: self.onFinishingQueue { self.finish(at: $0) }
                case .fail(let failed):
                    self.mutable.withLock { mutable in
                        if mutable.machine.isCurrent(attempt, in: .evaluating) {
                            mutable.error = failed
                        }
                    }
                    self.onFinishingQueue { self.finish(at: $0) }
                }
            }
        }
    }

    /// Runs what asks the retriers on the root queue, one after the other.
    ///
    /// The next attempt is made there too, so that a retrier which notes its answer after giving it
    /// has noted it before its own adapter is asked.
    func consult(_ question: @escaping @Sendable () -> Void) {
        if core.deliversInline { question() } else { core.rootQueue.async(execute: question) }
    }

    /// Forgets the attempt and begins the next, after so many seconds.
    func retry(attempt: Int, after delay: Double) {
        let pause = Wait<Void>(core.deadlines) {
            self.core.rootQueue.async {
                let monitors = self.monitors
                let action = self.mutable.withLock { mutable in
                    let action = mutable.machine.retryNow(attempt: attempt)
                    if action != .nothing { monitors?.requestIsRetrying(self) }
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
