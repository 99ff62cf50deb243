import COutletPlugin
import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

extension PluginInstance {
    // MARK: Hooks of requests

    /// Calls a hook: on this thread if the plugin never blocks, otherwise on a worker thread.
    ///
    /// - Parameters:
    ///   - token: A new completion, which receives the answer.
    ///   - subject: The request, stream or service that the hook is called for.
    ///   - settled: The answer if the hook returns `OUTLET_OK`.
    ///   - function: The plugin's hook function.
    /// - Returns: The answer; `nil` if ``Completion/whenAnswered(_:)`` delivers it.
    func ask(
        _ token: Completion, about subject: any WatchedSubject, settled: Completion.Answer,
        _ function: HookFunction
    ) -> Completion.Answer? {
        let completion = token.register()
        guard isNonblocking else {
            token.keep()
            token.startTimer()
            askLater(token, completion, about: subject, settled: settled, function)
            return nil
        }
        let name = PluginWatch.isOn ? subject.name : nil
        do throws(PluginError) {
            let answer = try perform(token.hook, about: name) { pointer in
                call(function, pointer, token, completion, about: subject, settled: settled)
            }
            return token.hookReturned(answer)
        } catch {
            token.cancel(error)
            return nil
        }
    }

    private func askLater(
        _ token: Completion, _ completion: outlet_completion, about subject: any WatchedSubject,
        settled: Completion.Answer, _ function: HookFunction
    ) {
        performLater(token.hook, about: PluginWatch.isOn ? subject.name : nil) { pointer in
            self.call(function, pointer, token, completion, about: subject, settled: settled)
        } then: { result in
            switch result {
            case .success(let answer): token.hookReturned(answer).map { token.deliver($0) }
            case .failure(let error): token.cancel(error)
            }
        }
    }

    /// Calls a hook on this thread.
    ///
    /// - Returns: The answer given by the hook's return value; `nil` if the answer follows.
    private func call(
        _ function: HookFunction, _ pointer: OpaquePointer, _ token: Completion,
        _ completion: outlet_completion, about subject: any WatchedSubject,
        settled: Completion.Answer
    ) -> Completion.Answer? {
        guard token.begin() else { return nil }
        guard subject.enter(self, for: token.hook) else {
            return token.hook.isNeeded ? .failed(token.tooLate) : settled
        }
        defer { subject.leave(self) }
        switch function(pointer, completion) {
        case OUTLET_OK: return settled
        case OUTLET_PENDING where token.isPromise:
            // A pending answer can be cancelled from here on. Completions of plugins that may block
            // are kept already.
            if isNonblocking { token.keep() }
            return nil
        case let status: return .failed(token.failure(token.reason(status)))
        }
    }

    /// Calls a hook that only observes a request; does nothing if the plugin is closed.
    ///
    /// - Parameters:
    ///   - hook: The hook.
    ///   - handle: The request.
    ///   - response: The response; `nil` for hooks without one.
    ///   - requestID: The id of the request, for the observer.
    ///   - limit: The time limit, in nanoseconds.
    ///   - function: The plugin's hook function.
    /// - Returns: An answer that is given when the hook has returned or was abandoned.
    func notify(
        _ hook: PluginHook, _ handle: RequestHandle, _ response: ResponseHandle? = nil,
        requestID: UUID?, limit: UInt64, _ function: HookFunction
    ) -> HookAnswer<Void> {
        let stopwatch = Stopwatch(owner.observer)
        let token = Completion(
            hook: hook, instance: self, passing: .init(request: handle, response: response),
            limit: limit)
        @Sendable func finish(_ answer: Completion.Answer) {
            guard case .done = answer else { return }
            stopwatch.report(owner, hook, requestID: requestID, effects: [], failure: nil)
        }
        guard let answer = ask(token, about: handle, settled: .done, function) else {
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
        _ hook: PluginHook, about subject: any WatchedSubject,
        passing response: ResponseHandle? = nil,
        _ body: @escaping @Sendable (OpaquePointer, outlet_call, outlet_completion) -> Void
    ) -> HookAnswer<Void> {
        let stopwatch = Stopwatch(owner.observer)
        let token = Completion(
            hook: hook, instance: self, passing: .init(response: response), limit: Self.limitOfDone)
        @Sendable func finish(_ answer: Completion.Answer) {
            guard case .done = answer else { return }
            stopwatch.report(owner, hook, requestID: nil, effects: [], failure: nil)
        }
        let function = HookFunction.other { pointer, call, completion in
            body(pointer, call, completion)
            return OUTLET_OK
        }
        guard let answer = ask(token, about: subject, settled: .done, function) else {
            return .follows(token, meaning: finish)
        }
        return .given(finish(answer))
    }

    /// Calls `request_done` for a call that has ended.
    func notifyDone(_ handle: RequestHandle, id: UUID?) {
        guard let hook = hooks.request_done else { return }
        let reported = notify(
            .requestDone, handle, requestID: id, limit: Self.limitOfDone, .seeRequest(hook))
        // Nothing follows `request_done`.
        reported.deliver {}
    }

    /// The time limit of hooks that no request waits for, in nanoseconds.
    ///
    /// A hook that takes longer counts as a fault of the plugin.
    private static let limitOfDone: UInt64 = 30_000_000_000
}
