import COutletPlugin
import Dispatch
import OutletSession
import OutletTransport

/// What a hook may change until its completion is settled.
protocol SettledSubject: AnyObject {
    /// Takes no change any more.
    func close()
}

/// One call of a hook, until it is answered: by what the hook returns, by the plugin later, or by the host
/// in its place.
///
/// Thread: any.
final class Completion: CallContext, @unchecked Sendable {
    // @unchecked because all is constant but what has its own lock.

    /// What the plugin, or the host in its place, decided.
    enum Answer: Sendable {
        case done
        case verdict(Verdict)
        /// A redirect is the response.
        case redirectTaken
        case failed(PluginError)
    }

    /// What a `retry` decided.
    enum Verdict: Sendable, Equatable {
        case doNotRetry
        case retry
        case retryAfter(nanoseconds: UInt64)
        case fail(PluginReason)
    }

    let hook: PluginHook
    private let instance: PluginInstance
    /// How long the answer is waited for, in nanoseconds.
    private let limit: UInt64
    private let machine = Lock(CompletionMachine<Answer>())
    private let timer = Lock(DeadlineTimer?.none)
    private let identifier = Lock(UInt64(0))
    /// What the hook was given beside this.
    let handles: [UInt64]
    /// What those stand for: the plugin may have borrowed of it as long as this lives.
    let lenders: [any AnyObject & Sendable]
    /// `nil` once it was called: what it holds is for the answer alone.
    private let deliver: Lock<(@Sendable (Answer) -> Void)?>

    /// - Parameters:
    ///   - lenders: What the hook is given beside the completion; live until there is an answer.
    ///   - limit: How long the answer is waited for, in nanoseconds.
    ///   - deliver: Called exactly once, with the ids of `lenders` ended, never on the plugin's stack.
    init(
        hook: PluginHook, instance: PluginInstance, lending lenders: [any AnyObject & Sendable],
        limit: UInt64, deliver: @escaping @Sendable (Answer) -> Void
    ) {
        self.hook = hook
        self.instance = instance
        self.lenders = lenders
        handles = lenders.map { HandleTable.shared.insert($0, owner: instance.owner.number) }
        self.limit = limit
        self.deliver = Lock(deliver)
        super.init(deadline: Stopwatch.now &+ limit)
    }

    /// The function of the host that settles it.
    enum Settler {
        case done
        case retryDone
        case redirectDone
    }

    /// What settles it; `nil` for hooks that only watch.
    var settler: Settler? {
        switch hook {
        case .willSend, .didReceive, .requestDone, .httpDone, .timerDone, .events: nil
        case .retry: .retryDone
        case .redirect: .redirectDone
        default: .done
        }
    }

    /// Whether the plugin may answer later, and is told when nobody waits any more.
    var isPromise: Bool { settler != nil }

    /// Makes the completion known to C.
    func register() -> outlet_completion {
        let id = HandleTable.shared.insert(self, owner: instance.owner.number)
        identifier.withLock { $0 = id }
        instance.add(self, id: id)
        return outlet_completion(id: id)
    }

    /// A failure in this completion's moment, in the plugin's words.
    func failure(_ reason: PluginReason) -> PluginError { instance.failure(of: hook, reason) }

    /// Takes note of a value that the contract does not know.
    func noteForbidden(_ fact: String) {
        instance.owner.note(.forbiddenValue, "\(hook.rawValue): \(fact)")
    }

    /// Whether nobody waits for an answer any more.
    var isCancelled: Bool { machine.withLock { $0.isOver } }

    /// Whether the hook is to be called; not when nobody waits for an answer any more.
    func begin() -> Bool { machine.withLock { $0.begin() } }

    /// The plugin answers, on any thread.
    func settle(_ answer: Answer) -> outlet_status {
        let action = machine.withLock { $0.settle(answer) }
        if case .refuse = action {} else { closeLenders() }
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
                instance.forgetCompletion(identifier.withLock { $0 })
            }
            return OUTLET_E_STALE
        }
    }

    /// What the hook was given stays as it is from now on.
    private func closeLenders() {
        for lender in lenders { (lender as? any SettledSubject)?.close() }
    }

    /// The hook returned, and is off the stack.
    ///
    /// - Parameter answer: What that means if nothing was settled; `nil` when an answer is to follow.
    func hookReturned(_ answer: Answer?) {
        var isFailure = false
        if case .failed = answer { isFailure = true }
        switch machine.withLock({ $0.hookReturned(answer, isFailure: isFailure) }) {
        case .deliver(let answer): finish(answer)
        case .deliverFailure(let answer):
            instance.owner.note(
                .forbiddenValue, "\(hook.rawValue): settled its completion, and then failed")
            finish(answer)
        // What the hook answered comes too late: nothing more is to follow.
        case .refuse: instance.forgetCompletion(identifier.withLock { $0 })
        case .nothing, .giveUp: startTimer()
        }
    }

    /// The host gives up.
    func cancel(_ error: PluginError) { giveUp(error, breach: nil) }

    /// Gives up, unless there is an answer; that may be the plugin's fault.
    private func giveUp(_ error: PluginError, breach: PluginMisbehaviour.Kind?) {
        guard
            case .giveUp(let answer, let tellsPlugin) = machine.withLock({
                $0.cancel(.failed(error))
            })
        else { return }
        if let breach { instance.owner.note(breach, error.message) }
        let id = identifier.withLock { $0 }
        instance.removeCompletion(id, isCancelled: tellsPlugin)
        if tellsPlugin, isPromise { instance.sendCancel(id) }
        hand(over: answer)
    }

    /// Begins to wait, once: before a hook that may block is called, or when one has promised an answer.
    func startTimer() {
        timer.withLock { timer in
            guard timer == nil else { return }
            timer = DeadlineTimer(limit) { [weak self] in self?.timedOut() }
        }
        // Settled between the two: nobody else would end the timer.
        if machine.withLock({ $0.isOver }) { endTimer() }
    }

    private func timedOut() {
        let seconds = Double(limit) / 1e9
        let error = PluginError(
            plugin: instance.id, hook: hook, kind: .timedOut,
            message: isPromise
                ? "its completion was not settled within \(seconds) s"
                : "it did not return within \(seconds) s")
        giveUp(error, breach: .neverSettled)
    }

    private func endTimer() {
        let timer = timer.withLock { timer -> DeadlineTimer? in
            defer { timer = nil }
            return timer
        }
        timer?.cancel()
    }

    private func finish(_ answer: Answer) {
        instance.removeCompletion(identifier.withLock { $0 }, isCancelled: false)
        hand(over: answer)
    }

    private func hand(over answer: Answer) {
        endTimer()
        for handle in handles { HandleTable.shared.remove(handle) }
        let deliver = deliver.withLock { deliver in
            defer { deliver = nil }
            return deliver
        }
        deliver?(answer)
    }
}
