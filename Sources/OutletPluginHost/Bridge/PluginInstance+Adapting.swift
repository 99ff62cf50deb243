import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

extension PluginInstance {
    /// Calls a hook that changes a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - hook: The hook, for errors and the observer.
    ///   - function: The plugin's hook function.
    ///   - access: The parts that the hook may change.
    ///   - wire: The header fields that the transport adds; `nil` if the plugin does not see them.
    ///   - limit: The time limit for the answer, in nanoseconds.
    /// - Returns: The changed request, or the failure; `nil` if the request is unchanged, also
    ///   because the plugin's failures are skipped.
    func change(
        _ request: HTTPRequest, by hook: PluginHook, _ function: HookFunction.Change,
        access: RequestHandle.Access = .answer, wire: WireFields? = nil, limit: UInt64
    ) -> HookAnswer<Result<HTTPRequest?, any Error>> {
        if case .stream = request.body {
            do throws(PluginError) {
                try request.scope?.rewindBody(of: request)
            } catch {
                return .given(.failure(error))
            }
        }
        let stopwatch = Stopwatch(owner.observer)
        let subject = RequestHook.Subject(
            hook: hook, request: request, access: access, wire: wire, limit: limit)
        let asked = ask(subject, settled: .done, .change(function))
        if asked.isWithoutEffect, !stopwatch.isRunning { return .given(.success(nil)) }
        switch asked {
        case .given(let answer, let token):
            return .given(changed(request, by: hook, answer, token, stopwatch))
        case .follows(let token):
            return .follows(token) { self.changed(request, by: hook, $0, token, stopwatch) }
        }
    }

    /// Calls a hook that changes a request before an attempt.
    ///
    /// - Parameters:
    ///   - request: The request, without the body of an upload.
    ///   - hook: The hook, for errors and the observer.
    ///   - function: The plugin's hook function.
    ///   - state: The context of the request.
    ///   - limit: The time limit for the answer, in nanoseconds.
    ///   - completion: Called once, on any thread, with the request to send.
    /// - Returns: A closure that abandons the answer; `nil` if the hook has answered.
    func adapt(
        _ request: HTTPRequest, by hook: PluginHook, _ function: HookFunction.Change,
        using state: RequestAdapterState, limit: UInt64,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
        let complete: HTTPRequest
        do {
            complete = try state.addingBody(to: request)
        } catch {
            completion(.failure(error))
            return nil
        }
        return change(complete, by: hook, function, limit: limit).deliver {
            completion($0.map { $0 ?? complete })
        }
    }

    /// The result of a hook that changes a request; `nil` if the request is unchanged.
    private func changed(
        _ request: HTTPRequest, by hook: PluginHook, _ answer: Completion.Answer,
        _ token: RequestHook?, _ stopwatch: Stopwatch
    ) -> Result<HTTPRequest?, any Error> {
        let used = token?.seal()
        let changed = used?.seal()
        let (failure, isFinal) = failure(
            of: hook, answer, used,
            sendsBody: changed.map { $0.answer == nil && $0.request.body == request.body } ?? true)
        stopwatch.report(
            owner, hook, requestID: request.context.id,
            effects: changed.map { Effects.of(request, $0.request, answer: $0.answer) } ?? [],
            failure: failure, refusals: token?.refusals ?? [])
        if let failure {
            return !isFinal && skips(failure, of: "\(request)")
                ? .success(nil) : .failure(failure)
        }
        guard let changed else { return .success(nil) }
        var adapted = changed.request
        if let reply = changed.answer { adapted.givenAnswer = GivenAnswer(reply) }
        return .success(adapted)
    }

    /// The failure of a hook that may have read the request's body; `nil` for none.
    ///
    /// Rewinds the body's stream, also if the request fails: another attempt may follow.
    ///
    /// - Parameters:
    ///   - hook: The hook.
    ///   - answer: Its answer.
    ///   - used: The request whose body it may have read; `nil` if it has used no handle of it.
    ///   - sendsBody: Whether that body is sent; false if the hook has replaced it, or has answered the
    ///     request.
    /// - Returns: The failure, and whether the request cannot continue in spite of it, because its
    ///   body cannot be read again.
    func failure(
        of hook: PluginHook, _ answer: Completion.Answer, _ used: RequestHandle?,
        sendsBody: @autoclosure () -> Bool
    ) -> (failure: PluginError?, isFinal: Bool) {
        var failed: PluginError?
        if case .failed(let error) = answer { failed = error }
        guard let used else { return (failed, false) }
        do throws(PluginError) {
            try used.rewindBody {
                failure(of: hook, "it read the body, which cannot be read again: \($0)")
            }
            return (failed, false)
        } catch {
            guard failed != nil || sendsBody() else { return (nil, false) }
            if let failed, !failsOpen || failed.isRefusal { return (failed, true) }
            return (error, true)
        }
    }
}

extension GivenAnswer {
    convenience init(_ answer: RequestHandle.Answer) {
        self.init(status: answer.status, headers: answer.headers, body: Data(answer.body))
    }
}
