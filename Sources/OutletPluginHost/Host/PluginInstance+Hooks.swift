import COutletPlugin
import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Calling the hooks of a request.
extension PluginInstance {
    /// Calls a hook: on this thread if the plugin never blocks, otherwise on a worker thread.
    ///
    /// - Parameters:
    ///   - token: Told what the hook answers; made for this call.
    ///   - subject: What it is about.
    ///   - settled: What `OUTLET_OK` means.
    /// - Returns: The answer; `nil` where `token` gives it (``Completion/whenAnswered(_:)``).
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
            case .success(let answer): token.hookReturned(answer).map { token.hand(over: $0) }
            case .failure(let error): token.cancel(error)
            }
        }
    }

    /// Calls a hook, now.
    ///
    /// - Returns: What it answers by what it returns; `nil` where an answer is to follow.
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
            // The promised answer can be cancelled from here on. Completions of blocking plugins are
            // kept already.
            if isNonblocking { token.keep() }
            return nil
        case let status: return .failed(token.failure(token.reason(status)))
        }
    }

    /// Calls a hook that only watches; a plugin that is closed misses it.
    ///
    /// - Parameter limit: The time limit, in nanoseconds.
    /// - Returns: That it is over: off the stack, or given up.
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

    /// Notifies a plugin of the outcome of something that it requested or watches.
    ///
    /// - Returns: That it is over: off the stack, or given up.
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

    /// Says that a call is over, of which the instance has seen something.
    func notifyDone(_ handle: RequestHandle, id: UUID?) {
        guard let hook = hooks.request_done else { return }
        let reported = notify(
            .requestDone, handle, requestID: id, limit: Self.limitOfDone, .seeRequest(hook))
        // Only delivers the answer: nothing follows it.
        reported.deliver {}
    }

    /// The time after which a hook that only releases something counts as a fault of the plugin, in
    /// nanoseconds; no request waits for it.
    private static let limitOfDone: UInt64 = 30_000_000_000
}
