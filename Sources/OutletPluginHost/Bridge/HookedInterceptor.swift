import COutletPlugin
import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession

/// A plugin's `adapt` and `retry` as the session's adapter and retrier.
final class HookedInterceptor: RequestInterceptor, InterceptorTiming {
    private let instance: PluginInstance
    /// How long a promised answer is waited for, in nanoseconds.
    private let limit: UInt64
    private let answers: AnswerStore
    private let running: RunningPlugins

    init(
        _ instance: PluginInstance, limit: UInt64, answers: AnswerStore,
        keeping running: RunningPlugins
    ) {
        self.running = running
        self.instance = instance
        self.limit = limit
        self.answers = answers
    }

    var adapts: Bool { instance.hooks.adapt != nil }
    var retries: Bool { instance.hooks.retry != nil }

    /// None of the session's: the completion has a deadline of its own, whose error names the plugin.
    var answerTimeout: TimeInterval? { 0 }

    // MARK: Adapt

    func adapt(
        _ request: HTTPRequest, using state: RequestAdapterState,
        completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) {
        guard let hook = instance.hooks.adapt else {
            completion(.success(request))
            return
        }
        let instance = instance
        let answers = answers
        let requestID = state.requestID.uuidString
        var described = request
        described.attributes["request.id"] = requestID
        described.attributes["request.attempt"] = "\(state.retryCount + 1)"
        let handle = RequestHandle(
            described, isMutable: true, canBeAnswered: answers.isServed)
        let id = HandleTable.shared.insert(handle, owner: instance.owner.number)
        let stopwatch = Stopwatch(instance.owner.observer)
        let token = Completion(hook: .adapt, instance: instance) { [described] answer in
            HandleTable.shared.remove(id)
            let (adapted, reply) = handle.seal()
            var failure: PluginError?
            if case .failed(let error) = answer { failure = error }
            stopwatch.report(
                instance.owner, .adapt, requestID: requestID,
                effects: { Effects.of(described, adapted, answer: reply) },
                failure: failure?.message)
            if let failure {
                completion(.failure(failure))
            } else {
                completion(.success(answers.attach(reply, to: adapted)))
            }
        }
        start(token, settled: .adapted) {
            hook($0, $1, outlet_request(id: id), $2)
        }
    }

    // MARK: Retry

    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        guard let hook = instance.hooks.retry else {
            completion(.doNotRetry)
            return
        }
        let instance = instance
        let requestID = request.id.uuidString
        let attempt = request.retryCount + 1
        var sent = request.request ?? HTTPRequest(url: nil)
        sent.attributes["request.id"] = requestID
        sent.attributes["request.attempt"] = "\(attempt)"
        let outcome = ResponseHandle.Outcome(
            response: request.response, body: (request as? DataRequest)?.data ?? Data(),
            failure: FailureText.of(error))
        let table = HandleTable.shared
        let owner = instance.owner.number
        let id = table.insert(RequestHandle(sent, isMutable: false), owner: owner)
        let response = table.insert(ResponseHandle(outcome, isMutable: false), owner: owner)
        let stopwatch = Stopwatch(instance.owner.observer)
        let token = Completion(hook: .retry, instance: instance) { answer in
            table.remove(id)
            table.remove(response)
            let verdict = Verdict(answer, instance: instance)
            stopwatch.report(
                instance.owner, .retry, requestID: requestID, effects: { verdict.effects },
                failure: verdict.failure)
            completion(verdict.result)
        }
        start(token, settled: .verdict(.doNotRetry)) {
            hook(
                $0, $1, outlet_request(id: id), outlet_response(id: response),
                UInt32(clamping: attempt), $2)
        }
    }

    /// What the session is told, and the observer.
    private struct Verdict {
        var result: RetryResult
        var effects: [String] = []
        var failure: String?

        init(_ answer: Completion.Answer, instance: PluginInstance) {
            switch answer {
            case .adapted, .verdict(.doNotRetry): result = .doNotRetry
            case .verdict(.retry):
                result = .retry
                effects = ["retry at once"]
            case .verdict(.retryAfter(let nanoseconds)):
                let seconds = Double(nanoseconds) / 1e9
                result = .retryWithDelay(seconds)
                effects = ["retry in \(seconds) s"]
            case .verdict(.fail(let message)):
                let error = PluginError(
                    plugin: instance.id, hook: .retry, kind: .failed, message: message)
                result = .doNotRetryWithError(error)
                failure = message
            case .failed(let error):
                result = .doNotRetryWithError(error)
                failure = error.message
            }
        }
    }

    // MARK: The call

    private typealias HookCall =
        @Sendable (OpaquePointer, outlet_call, outlet_completion) -> outlet_status

    /// Calls a hook, here if it cannot hold this thread up, else behind the others.
    private func start(
        _ token: Completion, settled: Completion.Answer, _ hook: @escaping HookCall
    ) {
        let completion = token.register()
        let (instance, limit) = (instance, limit)
        let call: @Sendable (OpaquePointer) -> Completion.Answer? = { pointer in
            let context = CallContext(deadline: Stopwatch.now &+ limit)
            let id = HandleTable.shared.insert(context, owner: instance.owner.number)
            let status = hook(pointer, outlet_call(id: id), completion)
            HandleTable.shared.remove(id)
            switch status {
            case OUTLET_OK: return settled
            case OUTLET_PENDING: return nil
            default: return .failed(token.failure(context.reason(status)))
            }
        }
        if instance.runsInline {
            do {
                let answer = try instance.perform(token.hook, call)
                token.hookReturned(answer, deadline: limit)
            } catch {
                token.cancel(error)
            }
        } else {
            instance.performLater(token.hook, call) { result in
                switch result {
                case .success(let answer): token.hookReturned(answer, deadline: limit)
                case .failure(let error): token.cancel(error)
                }
            }
        }
    }
}
