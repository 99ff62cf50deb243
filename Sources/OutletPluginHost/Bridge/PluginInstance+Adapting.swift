import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

extension PluginInstance {
    /// The shape of `adapt`, `prepare` and `finalize`.
    typealias AdaptFunction =
        @convention(c) (OpaquePointer, outlet_call, outlet_request, outlet_completion)
        -> outlet_status

    /// Has a request changed by a hook.
    ///
    /// - Parameters:
    ///   - access: What the hook may change.
    ///   - wire: What the transport adds to the fields, where the plugin is to see that.
    ///   - limit: How long the answer is waited for, in nanoseconds.
    ///   - completion: Called once, never on the plugin's stack.
    /// - Returns: What tells the plugin that nobody waits for its answer any more; `nil` when it has
    ///   answered.
    func change(
        _ request: HTTPRequest, by hook: PluginHook, _ function: @escaping AdaptFunction,
        access: RequestHandle.Access = .answer, wire: WireFields? = nil, limit: UInt64,
        _ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
        let handle = RequestHandle(
            request, access: access, wire: wire)
        let stopwatch = Stopwatch(owner.observer)
        let token = Completion(
            hook: hook, instance: self, lending: .init(request: handle), limit: limit
        ) { [self] answer in
            var (adapted, reply) = handle.seal()
            var failure: PluginError?
            if case .failed(let error) = answer { failure = error }
            if failure == nil { failure = rewind(handle, in: hook) }
            stopwatch.report(
                owner, hook, requestID: request.context.id,
                effects: { Effects.of(request, adapted, answer: reply) },
                failure: failure?.message)
            if let failure {
                return completion(passesOver(failure) ? .success(request) : .failure(failure))
            }
            if let reply { adapted.givenAnswer = GivenAnswer(reply) }
            completion(.success(adapted))
        }
        return ask(token, about: handle, settled: .done) { function($0, $1, $2.request, $2) }
    }

    /// Takes the body's stream back to its start, if the plugin has read it; why that cannot be done.
    func rewind(_ handle: RequestHandle, in hook: PluginHook) -> PluginError? {
        do {
            try handle.rewindBody()
            return nil
        } catch {
            return failure(of: hook, "it read the body, which cannot be read again: \(error)")
        }
    }
}

extension GivenAnswer {
    convenience init(_ answer: RequestHandle.Answer) {
        self.init(status: answer.status, headers: answer.headers, body: Data(answer.body))
    }
}
