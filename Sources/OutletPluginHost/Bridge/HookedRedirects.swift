import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession

/// Calls a plugin's `redirect` hook.
final class HookedRedirects: RedirectDecider {
    private let instance: PluginInstance
    /// The time limit for the answer, in nanoseconds.
    private let limit: UInt64

    private let running: RunningPlugins

    init(_ instance: PluginInstance, limit: UInt64, keeping running: RunningPlugins) {
        self.running = running
        self.instance = instance
        self.limit = limit
    }

    func decide(
        _ redirect: ProposedRedirect,
        completion: @escaping @Sendable (RedirectDecision) -> Void
    ) -> (@Sendable () -> Void)? {
        guard let hook = instance.hooks.redirect, !redirect.request.excludes(instance) else {
            completion(.follow(redirect.next))
            return nil
        }
        let instance = instance
        let subject = RequestHook.Subject(
            hook: .redirect, request: redirect.request, next: redirect.next, access: .request,
            outcome: .attempt(.init(response: redirect.response, body: Data())), limit: limit)
        let stopwatch = Stopwatch(instance.owner.observer)
        let function = HookFunction.other { hook($0, $1, $2.request, $2.response, $2.next, $2) }
        @Sendable func finish(
            _ decision: Completion.Answer, _ token: RequestHook?
        ) -> RedirectDecision {
            let used = token?.seal()
            let changed = used?.seal().request ?? redirect.next
            let verdict: RedirectDecision
            var effects: [String] = []
            let (failure, isFinal) = instance.failure(
                of: .redirect, decision, used,
                sendsBody: changed.body == redirect.next.body)
            if let failure {
                verdict =
                    !isFinal && instance.skips(failure, of: "\(redirect.next)")
                    ? .follow(redirect.next) : .fail(failure)
            } else if case .redirectTaken = decision {
                effects = ["the redirect is the response"]
                verdict = .take
            } else {
                effects = Effects.of(redirect.next, changed, answer: nil)
                verdict = .follow(changed)
            }
            stopwatch.report(
                instance.owner, .redirect, requestID: redirect.request.context.id,
                effects: effects, failure: failure, refusals: token?.refusals ?? [])
            return verdict
        }
        return HookAnswer(instance.ask(subject, settled: .done, function), meaning: finish)
            .deliver(to: completion)
    }
}
