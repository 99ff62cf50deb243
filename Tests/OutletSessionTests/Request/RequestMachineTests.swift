import Testing

@testable import OutletSession

@Suite struct RequestMachineTests {
    @Test func `a request passes all states from setup to finished`() {
        var machine = RequestMachine()
        #expect(machine.resume() == .setUp(attempt: 1))
        #expect(machine.didSetUp(attempt: 1) == .startTransfer)
        #expect(machine.beginEvaluating(attempt: 1) == true)
        #expect(machine.beginFinishing() == true)
        machine.didFinish()
        #expect(machine.state == .finished)
    }

    @Test func `repeated resume, suspend and cancel calls have no effect`() {
        var machine = RequestMachine()
        #expect(machine.resume() != nil)
        #expect(machine.resume() == nil)
        #expect(machine.suspend() != nil)
        #expect(machine.suspend() == nil)
        #expect(machine.cancel() != nil)
        #expect(machine.cancel() == nil)
        #expect(machine.resume() == nil)
    }

    @Test func `a request suspended during setup waits for resume`() {
        var machine = RequestMachine()
        _ = machine.resume()
        #expect(machine.suspend() == .nothing)
        #expect(machine.didSetUp(attempt: 1) == .nothing)
        #expect(machine.resume() == .startTransfer)
    }

    @Test func `a cancel during setup finishes at once and ignores the late result`() {
        var machine = RequestMachine()
        _ = machine.resume()
        #expect(machine.cancel() == .finish)
        #expect(machine.didSetUp(attempt: 1) == .nothing)
    }

    @Test func `a cancel during the transfer waits for the transfer's end`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        #expect(machine.cancel() == .cancelTransfer)
        #expect(machine.beginEvaluating(attempt: 1) == true)
        #expect(machine.beginFinishing() == true)
        machine.didFinish()
        #expect(machine.state == .cancelled)
    }

    @Test func `a cancel waits for a file that is being moved, but not after that`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        #expect(machine.beginPlacing() == false)
        _ = machine.beginEvaluating(attempt: 1)
        #expect(machine.beginPlacing() == true)
        var waiting = machine
        #expect(waiting.cancel() == .nothing)
        #expect(waiting.endPlacing() == false)
        #expect(waiting.beginFinishing() == true)
        #expect(machine.endPlacing() == true)
        #expect(machine.cancel() == .finish)
        #expect(machine.beginPlacing() == false)
    }

    @Test func `a retry begins another attempt and increases the retry count`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        _ = machine.beginEvaluating(attempt: 1)
        #expect(machine.willRetry(attempt: 1) == true)
        #expect(machine.willRetry(attempt: 1) == false)
        #expect(machine.retryNow(attempt: 1) == .setUp(attempt: 2))
        #expect(machine.retryCount == 1)
        #expect(machine.didSetUp(attempt: 1) == .nothing)
        #expect(machine.didSetUp(attempt: 2) == .startTransfer)
    }

    @Test func `a cancelled request is not retried`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        _ = machine.beginEvaluating(attempt: 1)
        #expect(machine.cancel() == .finish)
        #expect(machine.willRetry(attempt: 1) == false)
    }

    @Test func `only one caller finishes the request`() {
        var machine = RequestMachine()
        _ = machine.resume()
        #expect(machine.beginFinishing() == true)
        #expect(machine.beginFinishing() == false)
    }

    @Test func `a finished request is reopened for another handler`() {
        var machine = RequestMachine()
        _ = machine.resume()
        #expect(machine.reopen() == false)
        _ = machine.beginFinishing()
        machine.didFinish()
        #expect(machine.reopen() == true)
        #expect(machine.state == .resumed)
        machine.didFinish()
        #expect(machine.state == .finished)
    }

    @Test func `results of an earlier attempt are ignored`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        _ = machine.beginEvaluating(attempt: 1)
        _ = machine.willRetry(attempt: 1)
        _ = machine.retryNow(attempt: 1)
        // Late results of the first attempt do not change the second one, which is being set up.
        #expect(machine.didSetUp(attempt: 1) == .nothing)
        #expect(machine.beginEvaluating(attempt: 1) == false)
        #expect(machine.willRetry(attempt: 1) == false)
        #expect(machine.retryNow(attempt: 1) == .nothing)
        #expect(machine.phase == .settingUp && machine.attempt == 2 && machine.retryCount == 1)
        _ = machine.didSetUp(attempt: 2)
        #expect(machine.beginEvaluating(attempt: 1) == false)
        #expect(machine.phase == .transferring)
    }

    @Test func `a cancel during the delay of a retry finishes and prevents the retry`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        _ = machine.beginEvaluating(attempt: 1)
        _ = machine.willRetry(attempt: 1)
        #expect(machine.cancel() == .finish)
        #expect(machine.retryNow(attempt: 1) == .nothing)
        #expect(machine.retryCount == 0)
    }

    @Test func `a cancel of a ready request starts the transfer in order to cancel it`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.suspend()
        _ = machine.didSetUp(attempt: 1)
        #expect(machine.cancel() == .startTransfer)
        #expect(machine.phase == .transferring && machine.state == .cancelled)
    }

    @Test func `a cancel during a retrier call of a serializer ends the wait once`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        _ = machine.beginEvaluating(attempt: 1)
        _ = machine.beginFinishing()
        // No retrier is called: values are being delivered, and it is too late to cancel.
        #expect(machine.cancel() == nil)
        machine.beginConsulting()
        #expect(machine.isConsulting)
        #expect(machine.cancel() == .endWait)
        #expect(machine.endConsulting() == false)
        #expect(machine.willRetry(attempt: 1) == false)
        machine.didFinish()
        #expect(machine.state == .cancelled)
    }

    @Test func `a retrier call of a serializer does not begin after a cancel or before delivery`() {
        var early = RequestMachine()
        _ = early.resume()
        _ = early.didSetUp(attempt: 1)
        early.beginConsulting()
        #expect(!early.isConsulting)
        var cancelled = RequestMachine()
        _ = cancelled.resume()
        _ = cancelled.cancel()
        cancelled.beginConsulting()
        #expect(!cancelled.isConsulting)
    }

    @Test func `a request that is set up eagerly waits for resume and is set up once`() {
        var machine = RequestMachine()
        #expect(machine.setUpAhead() == .setUp(attempt: 1))
        #expect(machine.setUpAhead() == .nothing)
        #expect(machine.didSetUp(attempt: 1) == .nothing)
        #expect(machine.phase == .ready)
        #expect(machine.resume() == .startTransfer)
        #expect(machine.setUpAhead() == .nothing)
        var cancelled = RequestMachine()
        _ = cancelled.cancel()
        #expect(cancelled.setUpAhead() == .nothing)
    }

    @Test func `suspend and resume affect a running transfer, but nothing that has ended`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        #expect(machine.suspend() == .suspendTransfer)
        #expect(machine.resume() == .resumeTransfer)
        _ = machine.beginEvaluating(attempt: 1)
        #expect(machine.suspend() == .nothing)
        #expect(machine.resume() == .nothing)
        _ = machine.beginFinishing()
        #expect(machine.suspend() == nil)
        machine.didFinish()
        #expect(machine.suspend() == nil)
        #expect(machine.resume() == nil)
        #expect(machine.cancel() == nil)
    }

    /// A transition of the state machine.
    private enum Step: CaseIterable {
        case resume, suspend, cancel, ahead, setUp, lateSetUp, evaluate, retry, retryNow, finish
        case didFinish
    }

    @Test func `each attempt is sent and ends once in any order of events`() {
        struct Run {
            var machine = RequestMachine()
            var sent: [Int] = []
            var finishes = 0
        }
        // Tens of thousands of orders: only failures are recorded.
        var faults: [String] = []
        func check(_ isRight: Bool, _ path: [Step], _ fault: @autoclosure () -> String) {
            if !isRight { faults.append("\(path): \(fault())") }
        }
        func go(_ run: Run, _ path: [Step]) {
            check(Set(run.sent).count == run.sent.count, path, "sent twice: \(run.sent)")
            check(run.finishes <= 1, path, "finished twice")
            check(run.machine.retryCount <= max(0, run.machine.attempt - 1), path, "retries")
            guard path.count < 7, faults.count < 10 else { return }
            for step in Step.allCases {
                var next = run
                let attempt = run.machine.attempt
                var action: RequestMachine.Action?
                switch step {
                case .resume: action = next.machine.resume()
                case .suspend: action = next.machine.suspend()
                case .cancel: action = next.machine.cancel()
                case .ahead: action = next.machine.setUpAhead()
                case .setUp: action = next.machine.didSetUp(attempt: attempt)
                case .lateSetUp:
                    guard attempt > 1 else { continue }
                    let isDropped =
                        next.machine.didSetUp(attempt: attempt - 1) == .nothing
                        && !next.machine.beginEvaluating(attempt: attempt - 1)
                    check(isDropped && next.machine.phase == run.machine.phase, path, "late")
                case .evaluate:
                    guard attempt > 0, next.machine.beginEvaluating(attempt: attempt) else {
                        continue
                    }
                case .retry:
                    guard attempt > 0, next.machine.willRetry(attempt: attempt) else { continue }
                    check(run.machine.state != .cancelled, path, "retried after a cancel")
                    // A serializer's failure starts another attempt, so the request has not ended.
                    next.finishes = 0
                case .retryNow: action = next.machine.retryNow(attempt: attempt)
                case .finish:
                    guard next.machine.beginFinishing() else { continue }
                    next.finishes += 1
                case .didFinish:
                    guard run.machine.phase == .finishing else { continue }
                    next.machine.didFinish()
                    check(
                        [.finished, .cancelled].contains(next.machine.state), path, "not over")
                }
                if action == .finish { next.finishes += 1 }
                if action == .startTransfer { next.sent.append(next.machine.attempt) }
                // Steps that change nothing are not followed.
                let isSame =
                    next.machine.phase == run.machine.phase
                    && next.machine.state == run.machine.state
                guard !isSame else { continue }
                if run.machine.state == .cancelled {
                    check(next.machine.state == .cancelled, path, "cancelled, then \(step)")
                }
                go(next, path + [step])
            }
        }
        go(Run(), [])
        #expect(faults == [])
    }

    // MARK: Middleware

    /// Returns the machine of a request whose middleware is running.
    private func intercepted() -> RequestMachine {
        var machine = RequestMachine()
        _ = machine.resume()
        #expect(machine.beginIntercepting(attempt: 1) == true)
        return machine
    }

    @Test func `middleware starts one attempt at a time and receives each result`() {
        var machine = intercepted()
        #expect(machine.proceed() == 2)
        #expect(machine.proceed() == nil)
        #expect(machine.didSetUp(attempt: 1) == .nothing)
        #expect(machine.didSetUp(attempt: 2) == .startTransfer)
        #expect(machine.beginEvaluating(attempt: 2) == true)
        #expect(machine.endAttempts() == true)
        #expect(machine.endAttempts() == false)
        #expect(machine.proceed() == 3)
        #expect(machine.didSetUp(attempt: 3) == .startTransfer)
        #expect(machine.retryCount == 0)
    }

    @Test func `a cancel while middleware runs finishes at once`() {
        var machine = intercepted()
        #expect(machine.cancel() == .finish)
        #expect(machine.proceed() == nil)
    }

    @Test func `middleware receives no result of a cancelled attempt`() {
        var machine = intercepted()
        _ = machine.proceed()
        _ = machine.didSetUp(attempt: 2)
        #expect(machine.cancel() == .cancelTransfer)
        #expect(machine.beginEvaluating(attempt: 2) == true)
        #expect(machine.endAttempts() == false)
        #expect(machine.beginFinishing() == true)
    }

    @Test func `middleware does not begin after the setup`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        #expect(machine.beginIntercepting(attempt: 1) == false)
    }

    // MARK: Holds and redirects

    // MARK: Middleware that sees outcomes

    @Test func `an expected outcome is judged once, before middleware receives it`() {
        var machine = intercepted()
        _ = machine.proceed()
        machine.expectJudgement()
        _ = machine.didSetUp(attempt: 2)
        #expect(machine.beginEvaluating(attempt: 2) == true)
        #expect(machine.beginJudging() == true)
        #expect(machine.isCurrent(2, in: .judging))
        #expect(machine.beginJudging() == false)
        #expect(machine.skipJudging() == false)
        #expect(machine.endAttempts() == true)
    }

    @Test func `an outcome that nothing expects is not judged`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        #expect(machine.beginEvaluating(attempt: 1) == true)
        #expect(machine.beginJudging() == false)
        #expect(machine.skipJudging() == false)
        #expect(machine.beginFinishing() == true)
    }

    @Test func `the end of a cancelled request is reported once without a judgement`() {
        var machine = RequestMachine()
        _ = machine.resume()
        machine.expectJudgement()
        _ = machine.didSetUp(attempt: 1)
        #expect(machine.cancel() == .cancelTransfer)
        #expect(machine.beginEvaluating(attempt: 1) == true)
        #expect(machine.beginJudging() == false)
        #expect(machine.skipJudging() == true)
        #expect(machine.skipJudging() == false)
    }

    @Test func `a cancel while an outcome is judged finishes at once`() {
        var machine = RequestMachine()
        _ = machine.resume()
        machine.expectJudgement()
        _ = machine.didSetUp(attempt: 1)
        #expect(machine.beginEvaluating(attempt: 1) == true)
        #expect(machine.beginJudging() == true)
        #expect(machine.cancel() == .finish)
        #expect(!machine.isCurrent(1, in: .judging))
    }

    @Test func `a transfer continues when its last hold is released`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        machine.hold(.judgement)
        machine.hold(.backPressure)
        #expect(machine.release(.judgement, attempt: 1) == false)
        #expect(machine.release(.backPressure, attempt: 2) == false)
        #expect(machine.release(.backPressure, attempt: 1) == true)
        machine.hold(.judgement)
        _ = machine.suspend()
        #expect(machine.release(.judgement, attempt: 1) == false)
    }

    @Test func `a new attempt has no holds and its own redirect count`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        machine.beginHop()
        machine.hold(.judgement)
        #expect(machine.mayProceed(attempt: 1) && machine.redirects == 1)
        _ = machine.beginEvaluating(attempt: 1)
        #expect(!machine.mayProceed(attempt: 1))
        _ = machine.willRetry(attempt: 1)
        #expect(machine.redirects == 0 && machine.holds.isEmpty)
    }
}
