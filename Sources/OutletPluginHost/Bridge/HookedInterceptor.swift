import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// Calls a plugin's `adapt` and `retry` as an adapter and retrier of the session.
final class HookedInterceptor: RequestInterceptor, AbandonableAdapter, AbandonableRetrier {
    private let instance: PluginInstance
    /// The time limit for an answer, in nanoseconds.
    private let limit: UInt64
    /// The maximum number of retries of a request that a plugin may request.
    private let maximumRetries: Int
    private let running: RunningPlugins
    /// Adapts synchronously; `nil` for plugins that may block.
    let synchronous: (any SynchronousRequestAdapter)?

    init(
        _ instance: PluginInstance, limit: UInt64, maximumRetries: Int,
        keeping running: RunningPlugins
    ) {
        self.running = running
        self.maximumRetries = maximumRetries
        self.instance = instance
        self.limit = limit
        synchronous = QuickAdapter(instance, .adapt, instance.hooks.adapt, limit: limit)
    }

    var adapts: Bool { instance.hooks.adapt != nil }
    var retries: Bool { instance.hooks.retry != nil }

    /// 0, which disables the session's timeout: the completion has its own, whose error names the
    /// plugin.
    var answerTimeout: TimeInterval? { 0 }

    // MARK: Adapt

    func beginAdapting(
        _ request: HTTPRequest, using state: RequestAdapterState,
        _ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
        guard let hook = instance.hooks.adapt, !request.excludes(instance) else {
            completion(.success(request))
            return nil
        }
        return instance.adapt(
            request, by: .adapt, hook, using: state, limit: limit, completion: completion)
    }

    // MARK: Retry

    func beginRetrying(
        _ request: Request, for session: Session, dueTo error: any Error,
        _ completion: @escaping @Sendable (RetryResult) -> Void
    ) -> (@Sendable () -> Void)? {
        guard let hook = instance.hooks.retry,
            request.request?.excludes(instance) != true
        else {
            completion(.doNotRetry)
            return nil
        }
        let (instance, maximumRetries) = (instance, maximumRetries)
        let requestID = request.id
        let attempt = request.retryCount + 1
        let sent = request.request ?? HTTPRequest(url: nil)
        let outcome = ResponseHandle.Outcome(
            response: request.response, body: (request as? DataRequest)?.data ?? Data(),
            failure: FailureText.of(error))
        let subject = RequestHook.Subject(
            hook: .retry, request: sent, outcome: .attempt(outcome), limit: limit)
        let stopwatch = Stopwatch(instance.owner.observer)
        let function = HookFunction.other {
            hook($0, $1, $2.request, $2.response, UInt32(clamping: attempt), $2)
        }
        @Sendable func finish(
            _ answer: Completion.Answer, _ token: RequestHook?
        ) -> RetryResult {
            _ = token?.seal()
            var verdict = Verdict(answer, instance: instance, of: sent)
            if verdict.result.retryRequired, attempt > maximumRetries {
                verdict = .refused(after: maximumRetries, of: instance, dueTo: error)
            }
            stopwatch.report(
                instance.owner, .retry, requestID: requestID, effects: verdict.effects,
                failure: verdict.failure, retryDelay: verdict.result.delay,
                refusals: token?.refusals ?? [])
            return verdict.result
        }
        return HookAnswer(
            instance.ask(subject, settled: .verdict(.doNotRetry), function), meaning: finish
        ).deliver(to: completion)
    }

    /// The result for the session, with the effects and the failure for the observer.
    private struct Verdict {
        var result: RetryResult
        var effects: [String] = []
        var failure: PluginError?

        /// Returns the verdict for a retry beyond the limit; the refusal of a plugin stays the error.
        static func refused(
            after count: Int, of instance: PluginInstance, dueTo original: any Error
        ) -> Verdict {
            let error = instance.failure(
                of: .retry,
                "it asks for another attempt, but plugins may ask for at most \(count)")
            let isRefusal = PluginError.isRefusal(original)
            return Verdict(
                result: isRefusal ? .doNotRetry : .doNotRetryWithError(error), failure: error)
        }

        private init(result: RetryResult, failure: PluginError?) {
            self.result = result
            self.failure = failure
        }

        init(_ answer: Completion.Answer, instance: PluginInstance, of request: HTTPRequest) {
            switch answer {
            case .done, .redirectTaken, .verdict(.doNotRetry): result = .doNotRetry
            case .verdict(.retry):
                result = .retry
                effects = ["retry at once"]
            case .verdict(.retryAfter(let nanoseconds)):
                let seconds = Double(nanoseconds) / 1e9
                result = .retryWithDelay(seconds)
                effects = ["retry in \(seconds) s"]
            case .verdict(.fail(let reason)):
                let error = instance.failure(of: .retry, reason)
                result = .doNotRetryWithError(error)
                failure = error
            case .failed(let error):
                result =
                    instance.skips(error, of: "\(request)")
                    ? .doNotRetry : .doNotRetryWithError(error)
                failure = error
            }
        }
    }
}
