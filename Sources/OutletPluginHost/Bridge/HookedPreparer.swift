import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// A plugin's `prepare` as an adapter that is asked last.
final class HookedPreparer: RequestPreparer, RedirectGuard, AbandonableAdapter {
    private let instance: PluginInstance
    private let running: RunningPlugins

    init(_ instance: PluginInstance, keeping running: RunningPlugins) {
        self.instance = instance
        self.running = running
    }

    /// None of the session's: a hook takes as long as it takes, and a cancel ends the wait.
    var answerTimeout: TimeInterval? { 0 }

    var synchronous: (any SynchronousRequestAdapter)? {
        instance.isNonblocking ? QuickPreparer(preparer: self) : nil
    }

    func beginAdapting(
        _ request: HTTPRequest, using state: RequestAdapterState,
        _ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
        guard let hook = instance.hooks.prepare else {
            completion(.success(request))
            return nil
        }
        let handle = RequestHandle(request, isMutable: true)
        let stopwatch = Stopwatch(instance.owner.observer)
        let instance = instance
        instance.check(.prepare, lending: [handle]) { pointer, call, handles in
            hook(pointer, call, outlet_request(id: handles[0]))
        } then: { failure in
            let (changed, answer) = handle.seal()
            var prepared = request.accepting(changed)
            stopwatch.report(
                instance.owner, .prepare, requestID: request.context.id?.uuidString,
                effects: { Effects.of(request, prepared, answer: answer) },
                failure: failure?.message)
            if let answer { prepared.givenAnswer = GivenAnswer(answer) }
            completion(failure.map { .failure($0) } ?? .success(prepared))
        }
        return nil
    }

    /// The hook of a plugin that never blocks: it has answered when it returns.
    private struct QuickPreparer: SynchronousRequestAdapter {
        let preparer: HookedPreparer

        func adapt(_ request: HTTPRequest, using state: RequestAdapterState) throws -> HTTPRequest {
            let answer = Lock(Result<HTTPRequest, any Error>?.none)
            _ = preparer.beginAdapting(request, using: state) { result in
                answer.withLock { $0 = result }
            }
            // Fails closed: a plugin that signs or guards must not be passed over.
            guard let result = answer.withLock({ $0 }) else {
                throw preparer.instance.failure(of: .prepare, "it has not answered")
            }
            return try result.get()
        }
    }
}

extension GivenAnswer {
    convenience init(_ answer: RequestHandle.Answer) {
        self.init(status: answer.status, headers: answer.headers, body: Data(answer.body))
    }
}
