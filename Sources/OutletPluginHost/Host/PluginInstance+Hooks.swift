import COutletPlugin
import Dispatch
import OutletHTTP
import OutletTransport

extension PluginInstance {
    // MARK: Hooks of requests

    /// Calls a hook: on this thread if the plugin never blocks, otherwise on a worker thread.
    ///
    /// - Parameters:
    ///   - token: A new completion, which receives the answer.
    ///   - settled: The answer if the hook returns `OUTLET_OK`.
    ///   - function: The plugin's hook function.
    /// - Returns: The answer; `nil` if ``Completion/whenAnswered(_:)`` delivers it.
    func ask(
        _ token: Completion, settled: Completion.Answer, _ function: HookFunction
    ) -> Completion.Answer? {
        guard isNonblocking else {
            token.keep()
            token.startTimer()
            askLater(token, settled: settled, function)
            return nil
        }
        let name = PluginWatch.isOn ? token.name : nil
        do throws(PluginError) {
            let returned = try perform(token.hook, about: name, passing: token) { pointer in
                call(function, pointer, token)
            }
            return token.hookReturned(answer(returned, token, settled: settled))
        } catch {
            token.cancel(error)
            return nil
        }
    }

    private func askLater(
        _ token: Completion, settled: Completion.Answer, _ function: HookFunction
    ) {
        performLater(
            token.hook, about: PluginWatch.isOn ? token.name : nil, passing: token
        ) { pointer in
            self.call(function, pointer, token)
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
        _ function: HookFunction, _ pointer: OpaquePointer, _ token: Completion
    ) -> Returned {
        guard token.begin() else { return .withdrawn }
        guard token.enter() else { return .tooLate }
        defer { token.leave() }
        let status = CurrentCall.running(token) {
            function(pointer, outlet_completion(id: token.id))
        }
        guard status == OUTLET_PENDING, token.isPromise else { return .status(status) }
        // A pending answer can be cancelled from here on. Completions of plugins that may block are
        // kept already.
        if isNonblocking { token.keep() }
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
    ///   - token: A new completion.
    ///   - request: The request, whose id the observer receives.
    ///   - function: The plugin's hook function.
    /// - Returns: An answer that is given when the hook has returned or was abandoned.
    func notify(
        _ token: RequestHook, of request: HTTPRequest, _ function: HookFunction
    ) -> HookAnswer<Void> {
        let stopwatch = Stopwatch(owner.observer)
        @Sendable func finish(_ answer: Completion.Answer) {
            guard case .done = answer else { return }
            stopwatch.report(
                owner, token.hook, requestID: request.context.id, effects: [], failure: nil)
        }
        guard let answer = ask(token, settled: .done, function) else {
            return .follows(token, meaning: finish)
        }
        return .given(finish(answer))
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
        let token = RequestHook(
            .requestDone, of: self, for: request, scope: scope, limit: Self.limitOfDone)
        // Nothing follows `request_done`.
        notify(token, of: request, .seeRequest(hook)).deliver {}
    }

    /// The time limit of hooks that no request waits for, in nanoseconds.
    ///
    /// A hook that takes longer counts as a fault of the plugin.
    private static let limitOfDone: UInt64 = 30_000_000_000
}
