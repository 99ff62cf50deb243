import COutletPlugin
import Dispatch
import OutletHTTP
import OutletTransport

extension PluginInstance {
    // MARK: Hooks of requests

    /// The answer of a hook of a request.
    enum Asked {
        /// The answer; `token` is `nil` if the plugin has used no handle of the hook.
        case given(Completion.Answer, token: RequestHook?)
        /// The answer follows: ``Completion/whenAnswered(_:)`` delivers it.
        case follows(RequestHook)

        /// Whether the hook has succeeded and changed nothing, because it has used no handle.
        var isWithoutEffect: Bool {
            if case .given(.done, token: nil) = self { true } else { false }
        }
    }

    /// Calls a hook of a request: on this thread if the plugin never blocks, otherwise on a worker
    /// thread.
    ///
    /// - Parameters:
    ///   - subject: What the hook is called for.
    ///   - settled: The answer if the hook returns `OUTLET_OK`.
    ///   - function: The plugin's hook function.
    ///   - calls: The calls that this one follows directly.
    func ask(
        _ subject: borrowing RequestHook.Subject, settled: Completion.Answer,
        _ function: HookFunction, in calls: inout CallSequence
    ) -> Asked {
        guard isNonblocking else { return askLater(subject, settled: settled, function) }
        let isHeld = holdsInTurn(subject.hook)
        defer { if isHeld { endHold() } }
        let (hook, limit) = (subject.hook, limit(of: subject.hook, atMost: subject.limit))
        return withUnsafePointer(to: subject) { subject in
            var call = ActiveCall(
                hook, at: calls.begin(), limit: limit,
                from: .init(
                    type: RequestHook.self, subject: subject, instance: .passUnretained(self)))
            let returned: Returned
            do throws(PluginError) {
                returned = try perform(&call, about: subject.pointee.name, mayWait: false) {
                    self.call(function, $0, $1)
                }
            } catch {
                guard isPostponed(hook, error) else {
                    return .given(.failed(error), token: nil)
                }
                return askLater(subject.pointee, settled: settled, function)
            }
            noteBlocking(call, of: subject.pointee.name)
            guard let token = call.completion as? RequestHook else {
                calls.didEnd(at: call.end)
                return .given(settled, token: nil)
            }
            let answer = token.hookReturned(answer(returned, token, settled: settled))
            return answer.map { .given($0, token: token) } ?? .follows(token)
        }
    }

    /// Calls a hook of a request that follows no other directly, as ``ask(_:settled:_:in:)``.
    func ask(
        _ subject: borrowing RequestHook.Subject, settled: Completion.Answer,
        _ function: HookFunction
    ) -> Asked {
        var calls = CallSequence()
        return ask(subject, settled: settled, function, in: &calls)
    }

    /// Calls a hook of a service: on this thread if the plugin never blocks, otherwise on a worker
    /// thread.
    ///
    /// - Parameters:
    ///   - token: A new completion, which receives the answer.
    ///   - settled: The answer if the hook returns `OUTLET_OK`.
    ///   - function: The plugin's hook function.
    /// - Returns: The answer; `nil` if ``Completion/whenAnswered(_:)`` delivers it.
    func ask(
        _ token: ServiceHook, settled: Completion.Answer, _ function: HookFunction
    ) -> Completion.Answer? {
        guard isNonblocking else {
            askLater(token, about: token.name, settled: settled, function)
            return nil
        }
        let isHeld = holdsInTurn(token.hook)
        defer { if isHeld { endHold() } }
        var call = ActiveCall(token.hook, passing: token)
        do throws(PluginError) {
            let returned = try perform(&call, about: token.name, mayWait: false) {
                self.call(function, $0, $1)
            }
            noteBlocking(call, of: token.name)
            return token.hookReturned(answer(returned, token, settled: settled))
        } catch {
            if isPostponed(token.hook, error) {
                askLater(token, about: token.name, settled: settled, function)
            } else {
                token.cancel(error)
            }
            return nil
        }
    }

    /// Delays the shutdown for a hook that may be postponed; ``endHold()`` follows.
    ///
    /// - Returns: Whether the shutdown is delayed.
    private func holdsInTurn(_ hook: PluginHook) -> Bool {
        !isConcurrent && hook.reportsEnd && hold()
    }

    /// Whether a hook that could not be called now is called later, on another thread.
    private func isPostponed(_ hook: PluginHook, _ error: PluginError) -> Bool {
        error.kind == .timedOut || hook.reportsEnd && error.kind == .reentered
    }

    /// Records a violation if a call that has returned took too long for a hook that never blocks.
    func noteBlocking(
        _ call: borrowing ActiveCall, of request: @autoclosure () -> String
    ) {
        guard call.duration > Self.longestNonblocking, !ProcessStatus().isDebugged else { return }
        owner.recordViolation(
            .blocked,
            "it took \(call.duration / 1_000_000) ms, though OUTLET_F_NONBLOCKING promises that "
                + "it never blocks", in: call.hook, of: request())
    }

    /// From which duration on a hook that never blocks counts as blocking, in nanoseconds: long
    /// enough for a thread that does not run meanwhile on a busy machine.
    private static let longestNonblocking: UInt64 = 1_000_000_000

    private func askLater(
        _ subject: borrowing RequestHook.Subject, settled: Completion.Answer,
        _ function: HookFunction
    ) -> Asked {
        let token = RequestHook(subject, of: self)
        askLater(token, about: subject.name, settled: settled, function)
        return .follows(token)
    }

    private func askLater(
        _ token: Completion, about name: @autoclosure () -> String, settled: Completion.Answer,
        _ function: HookFunction
    ) {
        token.keep()
        if !token.hook.reportsEnd { token.startTimer() }
        let name = PluginWatch.isOn ? name() : nil
        performLater(token.hook, about: name, passing: token) { pointer, call in
            self.call(function, pointer, call)
        } then: { result in
            switch result {
            case .success(let returned):
                token.hookReturned(self.answer(returned, token, settled: settled))
                    .map { token.deliver($0) }
            case .failure(let error): token.cancel(error)
            }
        }
    }

    /// How the call of a hook ended.
    private enum Returned {
        /// It was not called: the host has answered already.
        case withdrawn
        /// It was not called: it is too late for it.
        case tooLate
        /// It returned `OUTLET_PENDING`.
        case pending
        case status(outlet_status)
    }

    /// Calls a hook on this thread.
    private func call(
        _ function: HookFunction, _ pointer: OpaquePointer, _ call: ActiveCall.Pointer
    ) -> Returned {
        // One that is made later has begun, and must be entered for `request_done` only.
        let isMadeLater = call.pointee.makesCompletion
        let known =
            isMadeLater && hooks.request_done == nil ? nil : owner.completion(of: call)
        if let known {
            guard isMadeLater || known.begin(on: call.pointee.thread) else { return .withdrawn }
            guard known.enter() else { return .tooLate }
            guard isMadeLater || known.call() else {
                known.leave(wasCalled: false)
                return .withdrawn
            }
        }
        defer { known?.leave(wasCalled: true) }
        let status = CurrentCall.running(call, of: owner) {
            function(pointer, outlet_completion(id: call.pointee.id))
        }
        guard status != OUTLET_OK, let token = owner.completion(of: call) else {
            return .status(status)
        }
        guard status == OUTLET_PENDING, token.mayAnswerLater else { return .status(status) }
        // A pending answer can be cancelled from here on. Completions of plugins that may block are
        // kept already.
        if isNonblocking { token.keep() }
        token.recordPending()
        return .pending
    }

    /// The answer given by a hook's return value; `nil` if the answer follows.
    private func answer(
        _ returned: Returned, _ token: Completion, settled: Completion.Answer
    ) -> Completion.Answer? {
        switch returned {
        case .status(OUTLET_OK): settled
        case .status(let status): .failed(token.failure(token.reason(status)))
        case .tooLate: token.hook.isNeeded ? .failed(token.tooLate) : settled
        case .withdrawn, .pending: nil
        }
    }

    /// Calls a hook that only observes a request; does nothing if the plugin is closed.
    ///
    /// - Parameters:
    ///   - subject: What the hook is called for; the observer receives the request's id.
    ///   - function: The plugin's hook function.
    ///   - calls: The calls that this one follows directly.
    /// - Returns: An answer that is given when the hook has returned or was abandoned.
    func notify(
        _ subject: borrowing RequestHook.Subject, _ function: HookFunction,
        in calls: inout CallSequence
    ) -> HookAnswer<Void> {
        let stopwatch = Stopwatch(owner.observer)
        switch ask(subject, settled: .done, function, in: &calls) {
        case .given(let answer, let token):
            report(answer, to: subject.hook, of: subject.request, token, stopwatch)
            if stopwatch.isRunning { calls.interrupt() }
            return .given(())
        case .follows(let token):
            let request = subject.request
            return .follows(token) {
                self.report($0, to: token.hook, of: request, token, stopwatch)
            }
        }
    }

    /// Calls a hook that follows no other directly, as ``notify(_:_:in:)``.
    func notify(
        _ subject: borrowing RequestHook.Subject, _ function: HookFunction
    ) -> HookAnswer<Void> {
        var calls = CallSequence()
        return notify(subject, function, in: &calls)
    }

    private func report(
        _ answer: Completion.Answer, to hook: PluginHook, of request: HTTPRequest,
        _ token: RequestHook?, _ stopwatch: Stopwatch
    ) {
        guard case .done = answer else { return }
        stopwatch.report(
            owner, hook, requestID: request.context.id, effects: [], failure: nil,
            refusals: token?.refusals ?? [])
    }

    /// Calls a hook that reports an event or the outcome of a service.
    ///
    /// - Parameters:
    ///   - hook: The hook.
    ///   - subject: The service or the events that the hook is called for.
    ///   - response: The response passed to the hook; `nil` for none.
    ///   - body: Calls the plugin's function.
    /// - Returns: An answer that is given when the hook has returned or was abandoned.
    func report(
        _ hook: PluginHook, about subject: any ServiceSubject,
        passing response: ResponseHandle? = nil,
        _ body: @escaping @Sendable (OpaquePointer, outlet_call, outlet_completion) -> Void
    ) -> HookAnswer<Void> {
        let stopwatch = Stopwatch(owner.observer)
        let token = ServiceHook(
            hook, of: self, about: subject, passing: .init(response: response),
            limit: Self.limitOfDone)
        @Sendable func finish(_ answer: Completion.Answer) {
            guard case .done = answer else { return }
            stopwatch.report(owner, hook, requestID: nil, effects: [], failure: nil)
        }
        let function = HookFunction.other { pointer, call, completion in
            body(pointer, call, completion)
            return OUTLET_OK
        }
        guard let answer = ask(token, settled: .done, function) else {
            return .follows(token, meaning: finish)
        }
        return .given(finish(answer))
    }

    /// Calls `request_done` for a call that has ended.
    func notifyDone(_ request: HTTPRequest, scope: RequestScope) {
        guard let hook = hooks.request_done else { return }
        let subject = RequestHook.Subject(
            hook: .requestDone, request: request, scope: scope, limit: Self.limitOfDone)
        // Nothing follows `request_done`.
        notify(subject, .seeRequest(hook)).deliver {}
    }

    /// The time limit of hooks that no request waits for, in nanoseconds.
    ///
    /// A hook that takes longer counts as a fault of the plugin.
    private static let limitOfDone: UInt64 = 30_000_000_000
}
