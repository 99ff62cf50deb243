import COutletPlugin
import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Calling the hooks of a request.
extension PluginInstance {
    /// Calls a hook with the instance, the call and the completion.
    typealias HookCall =
        @Sendable (_ instance: OpaquePointer, _ call: outlet_call, _ completion: outlet_completion)
        -> outlet_status

    /// Calls a hook: here if it cannot hold this thread up, else behind the others.
    ///
    /// - Parameters:
    ///   - token: Told what the hook answers; made for this call.
    ///   - subject: What it is about.
    ///   - settled: What `OUTLET_OK` means.
    /// - Returns: What tells the plugin that nobody waits for its answer any more; `nil` when it has answered.
    @discardableResult
    func ask(
        _ token: Completion, about subject: any WatchedSubject, settled: Completion.Answer,
        _ hook: @escaping HookCall
    ) -> (@Sendable () -> Void)? {
        let completion = token.register()
        let call: @Sendable (OpaquePointer) -> Completion.Answer? = { [self] pointer in
            guard token.begin() else { return nil }
            guard subject.enter(self, for: token.hook) else {
                return token.hook.isNeeded ? .failed(token.tooLate) : settled
            }
            defer { subject.leave(self) }
            let status = hook(pointer, outlet_call(id: completion.id), completion)
            switch status {
            case OUTLET_OK: return settled
            case OUTLET_PENDING where token.isPromise:
                // From here on there is something to cancel; the others are.
                if isNonblocking { token.keep() }
                return nil
            default: return .failed(token.failure(token.reason(status)))
            }
        }
        if !isNonblocking {
            token.keep()
            token.startTimer()
        }
        run(token.hook, about: subject, call) { result in
            switch result {
            case .success(let answer): token.hookReturned(answer)
            case .failure(let error): token.cancel(error)
            }
        }
        guard !token.isCancelled else { return nil }
        return { token.abandon() }
    }

    /// Calls a hook that only watches; a plugin that is closed misses it.
    ///
    /// - Parameters:
    ///   - limit: How long it is waited for, in nanoseconds.
    ///   - then: Called once, when the hook is off the stack, or has taken too long.
    func tell(
        _ hook: PluginHook, _ handle: RequestHandle, _ response: ResponseHandle? = nil,
        requestID: UUID?, limit: UInt64,
        _ body: @escaping @Sendable (OpaquePointer, outlet_call, outlet_completion) -> Void,
        then: @escaping @Sendable () -> Void
    ) {
        let stopwatch = Stopwatch(owner.observer)
        let token = Completion(
            hook: hook, instance: self, lending: .init(request: handle, response: response),
            limit: limit
        ) { [self] answer in
            if case .done = answer {
                stopwatch.report(
                    owner, hook, requestID: requestID, effects: { [] }, failure: nil)
            }
            then()
        }
        ask(token, about: handle, settled: .done) { pointer, call, completion in
            body(pointer, call, completion)
            return OUTLET_OK
        }
    }

    /// Tells what came of something that the plugin asked for, or that it watches.
    ///
    /// - Parameter then: Called once, when the hook is off the stack, or has taken too long.
    func report(
        _ hook: PluginHook, about subject: any WatchedSubject,
        lending response: ResponseHandle? = nil,
        _ body: @escaping @Sendable (OpaquePointer, outlet_call, outlet_completion) -> Void,
        then: @escaping @Sendable () -> Void = {}
    ) {
        let stopwatch = Stopwatch(owner.observer)
        let token = Completion(
            hook: hook, instance: self, lending: .init(response: response), limit: Self.limitOfDone
        ) { [owner] answer in
            if case .done = answer {
                stopwatch.report(owner, hook, requestID: nil, effects: { [] }, failure: nil)
            }
            then()
        }
        ask(token, about: subject, settled: .done) { pointer, call, completion in
            body(pointer, call, completion)
            return OUTLET_OK
        }
    }

    /// Says that a call is over, of which the instance has seen something.
    func tellDone(_ handle: RequestHandle, id: UUID?) {
        guard let hook = hooks.request_done else { return }
        tell(
            .requestDone, handle, requestID: id, limit: Self.limitOfDone,
            { hook($0, $1, $2.request) }, then: {})
    }

    /// How long what frees something may take before it is held against a plugin, in nanoseconds; nobody waits
    /// for it.
    private static let limitOfDone: UInt64 = 30_000_000_000
}
