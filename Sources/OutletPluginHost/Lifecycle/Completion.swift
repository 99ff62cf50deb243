import COutletPlugin
import Dispatch
import OutletSession
import OutletTransport
import Synchronization

/// One call of a hook until its answer: by the hook's return value, by the plugin later, or by the
/// host in its place.
///
/// Subclasses provide the objects that are passed to the hook.
///
/// Thread: any.
class Completion: CallContext, @unchecked Sendable {
    // @unchecked: everything is constant except what has its own lock.

    /// The decision of the plugin, or of the host in its place.
    enum Answer: Sendable {
        case done
        // Indirect, so that copying the usual answer costs little.
        indirect case verdict(Verdict)
        /// The redirect is not followed; its response is the response.
        case redirectTaken
        indirect case failed(PluginError)

        /// The answer in place of another one; that one if it is a refusal, after which the request
        /// fails also if the plugin fails open.
        func replacing(_ settled: Answer?) -> Answer {
            switch settled {
            case .failed(let error)? where error.isRefusal: return .failed(error)
            case .verdict(.fail(let reason))? where reason.isRefusal:
                guard case .failed(var error) = self else { return self }
                (error.kind, error.code, error.message) = (.failed, reason.code, reason.message)
                error.isRefusal = true
                return .failed(error)
            default: return self
            }
        }
    }

    /// The decision of a `retry` hook.
    enum Verdict: Sendable, Equatable {
        case doNotRetry
        case retry
        case retryAfter(nanoseconds: UInt64)
        case fail(PluginReason)
    }

    private struct State {
        var machine = CompletionMachine<Answer>()
        /// The timer of a completion that is kept.
        var timer: DeadlineTimer?
        /// How many threads of the plugin run code of the program now, whose time does not count.
        var pauses = 0
        /// When the first of them began, in nanoseconds of the monotonic clock.
        var pause: UInt64 = 0
        /// Whether the instance retains the completion, to cancel it at shutdown.
        var isKept = false
        /// The answer, until it is taken.
        var answer: Answer?
        /// Receives the answer; `nil` after the call, so that captured objects are released.
        var deliver: (@Sendable (Answer) -> Void)?
        var cancelling = Cancelling.no
        /// The record for crash reports while the plugin may still answer; `nil` without reports.
        var pending: PluginWatch.PendingHook?

        /// Answers in the plugin's place.
        mutating func giveUp(_ answer: Answer) -> CompletionMachine<Answer>.Action {
            let action = machine.cancel(answer)
            if case .giveUp = action { cancelling = .begun([]) }
            return action
        }
    }

    /// Whether the plugin knows that its answer is no longer needed.
    private enum Cancelling {
        case no
        /// Its `cancel` has not returned yet, or has not been called; with closures to call then.
        case begun([@Sendable () -> Void])
        case done
    }

    let hook: PluginHook
    let instance: PluginInstance
    /// The time limit for the answer, in nanoseconds.
    let limit: UInt64
    /// The handle's value; plugins can use it while the hook runs and while its answer is pending.
    final let id: UInt64
    private let state = Lock(State())
    /// Whether the machine is over, because each use of a request's handle asks for it.
    private let isOver = Atomic(false)

    /// Creates a completion; its deadline starts now.
    ///
    /// - Parameters:
    ///   - hook: The hook.
    ///   - instance: The plugin's instance.
    ///   - limit: The time limit for the answer in nanoseconds; settings may shorten it.
    init(hook: PluginHook, instance: PluginInstance, limit: UInt64) {
        self.hook = hook
        self.instance = instance
        let limit = instance.limit(of: hook, atMost: limit)
        self.limit = limit
        id = instance.owner.makeCompletionID()
        super.init(deadline: Stopwatch.now.adding(limit))
    }

    /// Creates the completion of a hook that is running.
    ///
    /// - Parameters:
    ///   - call: The call of the hook, with the id and the deadline of the completion.
    ///   - instance: The plugin's instance.
    ///   - limit: The time limit for the answer in nanoseconds; settings may shorten it.
    init(of call: borrowing ActiveCall, instance: PluginInstance, limit: UInt64) {
        hook = call.hook
        self.instance = instance
        self.limit = instance.limit(of: call.hook, atMost: limit)
        id = call.id
        super.init(deadline: call.deadline)
        _ = begin(on: call.thread)
        _ = self.call()
    }

    /// The host functions that settle a completion.
    enum Settler: String {
        case done
        case retryDone = "retry_done"
        case redirectDone = "redirect_done"
    }

    /// The function that settles this completion; `nil` for hooks without an answer.
    var settler: Settler? {
        switch hook {
        case .willSend, .didReceive, .requestDone, .httpDone, .timerDone, .streamEnd, .events: nil
        case .retry: .retryDone
        case .redirect: .redirectDone
        default: .done
        }
    }

    /// Whether `request_done` of the call with this number ends the hook.
    func belongs(toCall number: UInt64) -> Bool { false }

    /// Whether the plugin may answer later.
    ///
    /// Its `cancel` is then called when the answer is no longer needed.
    var mayAnswerLater: Bool { settler != nil }

    // MARK: What the hook is called with

    /// An object passed to a hook together with its completion.
    enum Part: UInt8 {
        case request = 1
        case response = 2
        /// The request that follows a redirect.
        case next = 3
    }

    /// Returns an object passed to the hook; `nil` if the hook has no such object.
    ///
    /// Views into the object stay valid as long as this completion exists.
    func argument(_ part: Part) -> (any AnyObject & Sendable)? { nil }

    /// Makes the objects passed to the hook read-only.
    func closeArguments() {}

    /// Called before the hook is called.
    ///
    /// - Returns: `false` where it is too late for the hook, which is then not called.
    func enter() -> Bool { true }

    /// Called after the hook has returned, or was not called after ``enter()``.
    func leave(wasCalled: Bool) {}

    /// The completion itself, or an object passed to the hook under a handle derived from it.
    ///
    /// - Parameter part: The part of the handle; `nil` for the completion itself.
    /// - Returns: `nil` for an object after the answer.
    final func object(_ part: UInt8?) -> (any AnyObject & Sendable)? {
        guard let part else { return self }
        guard !isCancelled, let part = Part(rawValue: part) else { return nil }
        return argument(part)
    }

    // MARK: The answer

    /// Makes the instance retain the completion and cancel it at shutdown.
    func keep() {
        state.withLock { $0.isKept = true }
        instance.add(self)
    }

    /// An error of this completion's hook with the plugin's reason.
    func failure(_ reason: PluginReason) -> PluginError { instance.failure(of: hook, reason) }

    /// The error of a required hook that is called after its request has ended.
    var tooLate: PluginError {
        PluginError(
            plugin: instance.id, hook: hook, kind: .cancelled, message: "the call is over")
    }

    /// A description of what the hook is called for, without secrets; `nil` if it is not known.
    var subjectName: String? { nil }

    /// Records a contract violation by this hook.
    private func recordViolation(_ kind: PluginMisbehaviour.Kind, _ fact: String) {
        instance.owner.recordViolation(kind, fact, in: hook, of: subjectName)
    }

    /// Records a contract violation: a value that the contract forbids.
    func recordForbiddenValue(_ fact: String) {
        recordViolation(.forbiddenValue, fact)
    }

    /// Whether the answer has been given, by the plugin or by the host.
    final var isCancelled: Bool { isOver.load(ordering: .acquiring) }

    /// Whether the host has answered in the plugin's place, after the hook had begun, and the plugin
    /// may still answer.
    var isGivenUp: Bool { state.withLock { $0.machine.isGivenUp } }

    /// This completion while its answer is pending after the hook has returned; else `nil`.
    var pendingCall: PluginCall? {
        let (isWaiting, pause) = state.withLock {
            ($0.machine.isWaiting, $0.pauses > 0 ? $0.pause : nil)
        }
        guard isWaiting else { return nil }
        let start = deadline &- limit
        return PluginCall(
            plugin: instance.id, hook: hook, duration: (pause ?? Stopwatch.now) &- start,
            isPending: true, waitsForProgram: pause != nil)
    }

    /// Stops the time limit while the plugin runs code of the program; ``resumeTime(at:)`` follows.
    func pauseTime(at now: UInt64) {
        state.withLock { state in
            state.pauses += 1
            if state.pauses == 1 { state.pause = now }
        }
    }

    /// Continues the time limit.
    func resumeTime(at now: UInt64) {
        state.withLock { state in
            state.pauses -= 1
            guard state.pauses == 0 else { return }
            postpone(to: deadline.adding(now &- state.pause))
            // If settled, nothing would cancel another timer.
            guard state.timer != nil, !state.machine.isOver else { return }
            state.timer?.cancel()
            let rest = deadline > now ? deadline - now : 0
            state.timer = DeadlineTimer(rest) { [weak self] in self?.timedOut() }
        }
    }

    /// Begins the hook, on the thread that calls it.
    ///
    /// Handles of a hook without an answer can then be used on this thread only. Other hooks may
    /// return `OUTLET_PENDING`, so their handles can be used on any thread.
    ///
    /// The time limit begins again if the hook has waited for other calls of the plugin.
    ///
    /// - Parameter thread: The thread that calls the hook (`pthread_self`).
    /// - Returns: `false` if the host has answered already; the hook is then not called.
    func begin(on thread: UInt) -> Bool {
        if !mayAnswerLater { confine(to: thread) }
        return state.withLock { state in
            guard state.machine.begin() else { return false }
            // A report of an end is never withdrawn while it waits, so its time begins here.
            let begins = state.isKept && hook.reportsEnd
            guard state.timer != nil || begins else { return true }
            let due = Stopwatch.now.adding(limit)
            // Threads need some time to start, too.
            guard begins || due &- deadline > limit / 100 else { return true }
            postpone(to: due)
            state.timer?.cancel()
            state.timer = DeadlineTimer(limit) { [weak self] in self?.timedOut() }
            return true
        }
    }

    /// Begins the time limit again after its timer has fired.
    private func extendTime() {
        state.withLock { state in
            guard !state.machine.isOver, state.pauses == 0 else { return }
            postpone(to: Stopwatch.now.adding(limit))
            state.timer = DeadlineTimer(limit) { [weak self] in self?.timedOut() }
        }
    }

    /// Records that the hook is called now, after ``begin(on:)`` and ``enter()``.
    ///
    /// - Returns: `false` if the host has answered meanwhile; the hook is then not called.
    func call() -> Bool { state.withLock { $0.machine.call() } }

    /// Changes the state of the machine.
    private func advance<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            let result = body(&state)
            if state.machine.isOver { isOver.store(true, ordering: .releasing) }
            if state.pending != nil, !state.machine.isOpen { state.pending = nil }
            return result
        }
    }

    /// Records for crash reports that the hook has returned `OUTLET_PENDING`.
    ///
    /// Thread: that of the hook, within the call.
    func recordPending() {
        guard PluginWatch.isOn else { return }
        state.withLock { state in
            guard state.machine.isOpen else { return }
            state.pending = PluginWatch.PendingHook()
            // The host may have answered, and `cancel` have returned, before the hook did.
            if case .done = state.cancelling { state.pending?.cancel() }
        }
    }

    /// Settles the completion with the plugin's answer.
    ///
    /// - Parameter answer: The plugin's answer.
    /// - Returns: `OUTLET_OK`, or `OUTLET_E_STALE` if the completion has been settled or cancelled
    ///   before.
    func settle(_ answer: Answer) -> outlet_status {
        let action = advance { $0.machine.settle(answer) }
        if case .refuse = action {} else { closeArguments() }
        switch action {
        case .nothing, .giveUp:
            return OUTLET_OK
        case .deliver(let answer), .deliverFailure(let answer, _):
            // On another thread: what follows may call the plugin again.
            WorkerThreads.prompt.run { self.finish(answer) }
            return OUTLET_OK
        case .refuse(let isBreach):
            if isBreach {
                recordViolation(.settledTwice, "its completion was settled before")
            } else {
                // The late answer for which the cancelled completion was retained.
                instance.completions.forget(id)
            }
            return OUTLET_E_STALE
        }
    }

    /// Handles the return of the hook.
    ///
    /// - Parameter answer: The answer if nothing was settled; `nil` when the hook returned
    ///   `OUTLET_PENDING`.
    /// - Returns: The answer, for the caller to deliver; `nil` where ``whenAnswered(_:)`` delivers
    ///   it.
    func hookReturned(_ answer: Answer?) -> Answer? {
        var isFailure = false
        if case .failed = answer { isFailure = true }
        let (action, isKept) = advance { state in
            (state.machine.hookReturned(answer, isFailure: isFailure), state.isKept)
        }
        switch action {
        case .deliver(let answer):
            endID(isKept: isKept)
            return answer
        case .deliverFailure(let answer, let settled):
            recordViolation(.forbiddenValue, "it settled its completion, and then failed")
            endID(isKept: isKept)
            return answer.replacing(settled)
        // The host answered before: this answer is too late, and no other follows.
        case .refuse: instance.completions.forget(id)
        case .nothing, .giveUp: startTimer()
        }
        return nil
    }

    /// Delivers the answer once, after the handles of the arguments have ended.
    ///
    /// - Parameter deliver: Called at once if the answer is there, else later on a thread that is
    ///   not inside the plugin.
    func whenAnswered(_ deliver: @escaping @Sendable (Answer) -> Void) {
        let answer = state.withLock { state in
            if state.answer == nil { state.deliver = deliver }
            return state.answer.take()
        }
        if let answer { deliver(answer) }
    }

    /// Stops waiting for the plugin, and answers with an error in its place.
    func cancel(_ error: PluginError) {
        withdraw(error).map { act(on: $0, error, breach: nil) }
    }

    /// Stops waiting for the plugin, on a thread that must not block.
    ///
    /// Answers with an error in the plugin's place, on another thread.
    ///
    /// - Parameter run: Runs a closure on another thread.
    func abandon(
        finishingBy run: (@escaping WorkerThreads.Work) -> Void = WorkerThreads.prompt.run
    ) {
        let error = PluginError(
            plugin: instance.id, hook: hook, kind: .cancelled,
            message: "its answer is no longer needed")
        guard let action = withdraw(error) else { return }
        run { self.act(on: action, error, breach: nil) }
    }

    /// Cancels the state machine, so that the hook does not begin after this.
    ///
    /// - Returns: The action to take; `nil` if there has been an answer already.
    private func withdraw(_ error: PluginError) -> CompletionMachine<Answer>.Action? {
        let action = advance { $0.giveUp(.failed(error)) }
        guard case .giveUp = action else { return nil }
        instance.completions.beginCancelling(self)
        return action
    }

    /// Calls a closure when the plugin's `cancel` for this completion has returned; at once if it
    /// has already, or is not going to be called.
    ///
    /// Thread: `body` is called on any thread that is not inside a call of the plugin.
    func whenCancelled(_ body: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            guard case .begun(let waiting) = state.cancelling else { return true }
            state.cancelling = .begun(waiting + [body])
            return false
        }
        if isOver { body() }
    }

    private func endCancelling() {
        let waiting = state.withLock { state -> [@Sendable () -> Void] in
            guard case .begun(let waiting) = state.cancelling else { return [] }
            state.cancelling = .done
            state.pending?.cancel()
            return waiting
        }
        instance.completions.endCancelling(self)
        for body in waiting { body() }
    }

    private func act(
        on action: CompletionMachine<Answer>.Action, _ error: PluginError,
        breach: PluginMisbehaviour.Kind?
    ) {
        guard case .giveUp(let answer, let settled, let notifiesPlugin) = action else { return }
        if let breach { recordViolation(breach, error.message) }
        instance.completions.remove(self, isCancelled: notifiesPlugin)
        if notifiesPlugin, mayAnswerLater {
            instance.sendCancel(id) { self.endCancelling() }
        } else {
            endCancelling()
        }
        deliver(answer.replacing(settled))
    }

    /// Starts the deadline timer, once.
    ///
    /// Called before a hook that may block, except for one that reports an end, or when a hook
    /// returned `OUTLET_PENDING`.
    func startTimer() {
        state.withLock { state in
            // If already settled, nothing would cancel the timer.
            guard state.timer == nil, !state.machine.isOver else { return }
            state.timer = DeadlineTimer(limit) { [weak self] in self?.timedOut() }
        }
    }

    private func timedOut() {
        guard !ProcessStatus().isDebugged else { return extendTime() }
        // A plugin without OUTLET_F_CONCURRENT is called once at a time.
        let (queued, running) = (instance.couldNotBegin(hook, within: limit), lateError)
        let (action, isQueued) = advance { state in
            let isQueued = state.machine.isQueued
            // A timer that has fired already cannot be cancelled when the hook begins late.
            guard isQueued || state.pauses == 0 && Stopwatch.now >= deadline else {
                return (CompletionMachine<Answer>.Action?.none, false)
            }
            return (state.giveUp(.failed(isQueued ? queued : running)), isQueued)
        }
        guard case .giveUp = action, let action else { return }
        instance.completions.beginCancelling(self)
        if !isQueued { instance.refuseTurns(behind: id) }
        // The wait is the fault of the other calls, which have time limits of their own.
        if isQueued { instance.logSkipped(queued) }
        act(on: action, isQueued ? queued : running, breach: isQueued ? nil : .neverSettled)
    }

    /// The error of a hook that has begun, but not answered in time.
    private var lateError: PluginError {
        let seconds = Double(limit) / 1e9
        return PluginError(
            plugin: instance.id, hook: hook, kind: .timedOut,
            message: mayAnswerLater
                ? "its completion was not settled within \(seconds) s"
                : "it did not return within \(seconds) s")
    }

    private func finish(_ answer: Answer) {
        endID(isKept: state.withLock { $0.isKept })
        deliver(answer)
    }

    /// Ends the handle and the timer.
    private func endID(isKept: Bool) {
        guard isKept else { return }
        state.withLock { $0.timer.take() }?.cancel()
        instance.completions.remove(self, isCancelled: false)
    }

    /// Delivers the answer, or keeps it until ``whenAnswered(_:)`` is called.
    func deliver(_ answer: Answer) {
        let (timer, deliver) = state.withLock { state in
            if state.deliver == nil { state.answer = answer }
            return (state.timer.take(), state.deliver.take())
        }
        timer?.cancel()
        deliver?(answer)
    }
}

extension outlet_completion {
    /// The handle of the request passed to the hook.
    var request: outlet_request { outlet_request(id: handle(of: .request)) }
    /// The handle of the response passed to the hook.
    var response: outlet_response { outlet_response(id: handle(of: .response)) }
    /// The handle of the request that follows a redirect.
    var next: outlet_request { outlet_request(id: handle(of: .next)) }

    private func handle(of part: Completion.Part) -> UInt64 { id | UInt64(part.rawValue) }
}
