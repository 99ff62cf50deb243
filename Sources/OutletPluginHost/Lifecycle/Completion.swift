import COutletPlugin
import Dispatch
import OutletSession
import OutletTransport

/// One call of a hook, until it is answered: by what the hook returns, by the plugin later, or by the host
/// in its place.
///
/// Thread: any.
final class Completion: CallContext, @unchecked Sendable {
    // @unchecked because all is constant but what has its own lock.

    /// What the plugin, or the host in its place, decided.
    enum Answer: Sendable {
        case done
        // Indirect, as failures are, so that the usual answer is copied without looking for more.
        indirect case verdict(Verdict)
        /// A redirect is the response.
        case redirectTaken
        indirect case failed(PluginError)
    }

    /// What a `retry` decided.
    enum Verdict: Sendable, Equatable {
        case doNotRetry
        case retry
        case retryAfter(nanoseconds: UInt64)
        case fail(PluginReason)
    }

    /// What a hook is given beside its completion.
    struct Lent: Sendable {
        var request: (any SettledSubject)?
        var response: (any SettledSubject)?
        /// The request that a redirect leads to.
        var next: (any SettledSubject)?
    }

    private struct State {
        var machine = CompletionMachine<Answer>()
        var timer: DeadlineTimer?
        var id: UInt64 = 0
        /// Whether the instance keeps it, to cancel it at its end.
        var isKept = false
        /// The answer, until somebody takes it.
        var answer: Answer?
        /// Takes the answer; `nil` once it was called: what it holds is for the answer alone.
        var deliver: (@Sendable (Answer) -> Void)?
    }

    let hook: PluginHook
    private let instance: PluginInstance
    /// How long the answer is waited for, in nanoseconds.
    let limit: UInt64
    /// What the hook is given; the plugin may have borrowed of it as long as this lives.
    let lent: Lent
    private let state: Lock<State>

    /// - Parameters:
    ///   - lent: What the hook is given beside the completion, until there is an answer.
    ///   - limit: How long the answer is waited for, in nanoseconds.
    init(hook: PluginHook, instance: PluginInstance, lending lent: Lent, limit: UInt64) {
        self.hook = hook
        self.instance = instance
        self.lent = lent
        let limit = instance.limit(of: hook, atMost: limit)
        self.limit = limit
        state = Lock(State())
        super.init(deadline: Stopwatch.now &+ limit)
    }

    /// The function of the host that settles it.
    enum Settler: String {
        case done
        case retryDone = "retry_done"
        case redirectDone = "redirect_done"
    }

    /// What settles it; `nil` for hooks that only watch.
    var settler: Settler? {
        switch hook {
        case .willSend, .didReceive, .requestDone, .httpDone, .timerDone, .streamEnd, .events: nil
        case .retry: .retryDone
        case .redirect: .redirectDone
        default: .done
        }
    }

    /// Whether the plugin may answer later; `cancel` is called when nothing waits for it any more.
    var isPromise: Bool { settler != nil }

    /// Makes the completion known to C.
    func register() -> outlet_completion {
        let id = HandleTable.shared.insert(self, owner: instance.owner.number)
        state.withLock { $0.id = id }
        return outlet_completion(id: id)
    }

    /// What C knows it by.
    var id: UInt64 { state.withLock { $0.id } }

    /// What the hook was given under an id of this completion, as long as nobody has given the answer.
    func subject(_ part: UInt8) -> (any SettledSubject)? {
        guard !isCancelled else { return nil }
        return switch part {
        case outlet_completion.requestPart: lent.request
        case outlet_completion.responsePart: lent.response
        default: lent.next
        }
    }

    /// Has the instance cancel it at its end, from now on.
    func keep() {
        let id = state.withLock { state in
            state.isKept = true
            return state.id
        }
        instance.add(self, id: id)
    }

    /// A failure in this completion's moment, in the plugin's words.
    func failure(_ reason: PluginReason) -> PluginError { instance.failure(of: hook, reason) }

    /// What a hook that is needed fails with when its call is over.
    var tooLate: PluginError {
        PluginError(
            plugin: instance.id, hook: hook, kind: .cancelled, message: "the call is over")
    }

    /// Takes note of a value that the contract does not know.
    func noteForbidden(_ fact: String) {
        instance.owner.note(.forbiddenValue, "\(hook.rawValue): \(fact)")
    }

    /// Whether nobody waits for an answer any more.
    var isCancelled: Bool { state.withLock { $0.machine.isOver } }

    /// The promise of an answer; `nil` where none was made, or it was kept.
    var promise: PluginCall? {
        guard state.withLock({ $0.machine.isWaiting }) else { return nil }
        let start = deadline &- limit
        return PluginCall(
            plugin: instance.id, hook: hook, duration: Stopwatch.now &- start, isPromise: true)
    }

    /// Whether the hook is to be called; not when nobody waits for an answer any more.
    func begin() -> Bool { state.withLock { $0.machine.begin() } }

    /// The plugin answers, on any thread.
    func settle(_ answer: Answer) -> outlet_status {
        let action = state.withLock { $0.machine.settle(answer) }
        if case .refuse = action {} else { closeLent() }
        switch action {
        case .nothing, .giveUp:
            return OUTLET_OK
        case .deliver(let answer), .deliverFailure(let answer):
            // Off the plugin's stack and thread: what follows may call the plugin again.
            DispatchQueue.global().async { self.finish(answer) }
            return OUTLET_OK
        case .refuse(let isBreach):
            if isBreach {
                instance.owner.note(
                    .settledTwice, "\(hook.rawValue): its completion was settled before")
            } else {
                // The one late answer that a cancelled completion was kept for.
                instance.forgetCompletion(id)
            }
            return OUTLET_E_STALE
        }
    }

    /// What the hook was given stays as it is from now on.
    private func closeLent() {
        lent.request?.close()
        lent.response?.close()
        lent.next?.close()
    }

    /// The hook returned, and is off the stack.
    ///
    /// - Parameter answer: What that means if nothing was settled; `nil` when an answer is to follow.
    /// - Returns: The answer, which nobody else is given; `nil` where ``whenAnswered(_:)`` gives it.
    func hookReturned(_ answer: Answer?) -> Answer? {
        var isFailure = false
        if case .failed = answer { isFailure = true }
        switch state.withLock({ $0.machine.hookReturned(answer, isFailure: isFailure) }) {
        case .deliver(let answer):
            endID()
            return answer
        case .deliverFailure(let answer):
            instance.owner.note(
                .forbiddenValue, "\(hook.rawValue): settled its completion, and then failed")
            endID()
            return answer
        // What the hook answered comes too late: nothing more is to follow.
        case .refuse: instance.forgetCompletion(id)
        case .nothing, .giveUp: startTimer()
        }
        return nil
    }

    /// Has the answer given, once, with the ids of ``lent`` ended, never on the plugin's stack: now where
    /// it is there.
    func whenAnswered(_ deliver: @escaping @Sendable (Answer) -> Void) {
        let answer = state.withLock { state in
            if state.answer == nil { state.deliver = deliver }
            return state.answer.take()
        }
        if let answer { deliver(answer) }
    }

    /// The host gives up.
    func cancel(_ error: PluginError) {
        withdraw(error).map { act(on: $0, error, breach: nil) }
    }

    /// The host gives up, on a thread that may not wait for a plugin: what follows is done on another.
    func abandon() {
        let error = PluginError(
            plugin: instance.id, hook: hook, kind: .cancelled,
            message: "nobody waits for its answer any more")
        guard let action = withdraw(error) else { return }
        DispatchQueue.global().async { self.act(on: action, error, breach: nil) }
    }

    /// From here on no hook begins.
    private func withdraw(_ error: PluginError) -> CompletionMachine<Answer>.Action? {
        let action = state.withLock { $0.machine.cancel(.failed(error)) }
        guard case .giveUp = action else { return nil }
        return action
    }

    private func act(
        on action: CompletionMachine<Answer>.Action, _ error: PluginError,
        breach: PluginMisbehaviour.Kind?
    ) {
        guard case .giveUp(let answer, let tellsPlugin) = action else { return }
        if let breach { instance.owner.note(breach, error.message) }
        let id = id
        instance.removeCompletion(self, id, isCancelled: tellsPlugin)
        if tellsPlugin, isPromise { instance.sendCancel(id) }
        hand(over: answer)
    }

    /// Begins to wait, once: before a hook that may block is called, or when one has promised an answer.
    func startTimer() {
        state.withLock { state in
            // Settled between the two: nobody else would end the timer.
            guard state.timer == nil, !state.machine.isOver else { return }
            state.timer = DeadlineTimer(limit) { [weak self] in self?.timedOut() }
        }
    }

    private func timedOut() {
        let seconds = Double(limit) / 1e9
        let error = PluginError(
            plugin: instance.id, hook: hook, kind: .timedOut,
            message: isPromise
                ? "its completion was not settled within \(seconds) s"
                : "it did not return within \(seconds) s")
        withdraw(error).map { act(on: $0, error, breach: .neverSettled) }
    }

    private func finish(_ answer: Answer) {
        endID()
        hand(over: answer)
    }

    /// Ends what C knows it by, and the waiting.
    private func endID() {
        let (id, isKept, timer) = state.withLock { ($0.id, $0.isKept, $0.timer.take()) }
        timer?.cancel()
        if isKept {
            instance.removeCompletion(self, id, isCancelled: false)
        } else {
            HandleTable.shared.remove(id)
        }
    }

    /// Gives the answer to who waits for it, or keeps it until somebody does.
    func hand(over answer: Answer) {
        let (timer, deliver) = state.withLock { state in
            if state.deliver == nil { state.answer = answer }
            return (state.timer.take(), state.deliver.take())
        }
        timer?.cancel()
        deliver?(answer)
    }
}

extension outlet_completion {
    fileprivate static let requestPart: UInt8 = 1
    fileprivate static let responsePart: UInt8 = 2
    fileprivate static let nextPart: UInt8 = 3

    /// The request that a hook is given beside this.
    var request: outlet_request { outlet_request(id: id | UInt64(Self.requestPart)) }
    /// The response that a hook is given beside this.
    var response: outlet_response { outlet_response(id: id | UInt64(Self.responsePart)) }
    /// The request that a redirect leads to.
    var next: outlet_request { outlet_request(id: id | UInt64(Self.nextPart)) }
}
