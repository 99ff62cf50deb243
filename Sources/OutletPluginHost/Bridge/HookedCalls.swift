import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// The plugins around a call: `did_receive` of all of them, then `process` of one after the other.
final class HookedCalls: CallbackMiddleware {
    private let plugins: [PluginInstance]
    private let running: RunningPlugins
    let needsStreamedBodies: Bool

    init(_ plugins: [PluginInstance], keeping running: RunningPlugins) {
        self.plugins = plugins
        self.running = running
        // One that only watches does without the bodies of streams.
        needsStreamedBodies = plugins.contains { $0.hooks.process != nil }
    }

    func intercept(
        _ request: HTTPRequest,
        next:
            @escaping @Sendable (HTTPRequest, @escaping @Sendable (CallResult) -> Void) -> Void,
        completion: @escaping @Sendable (CallResult) -> Void
    ) {
        let order = HookOrder()
        var asked = request
        asked.context[HookOrder.Key.self] = order
        next(asked) { [asked] result in
            let call = HookedCall(result, of: asked)
            for plugin in self.plugins { order.run { call.tellDidReceive(plugin, done: $0) } }
            for plugin in self.plugins { order.run { call.process(plugin, done: $0) } }
            order.run { done in
                completion(call.result)
                done()
            }
        }
    }
}

/// What a call has come to, as its hooks see it and leave it.
private final class HookedCall: Sendable {
    private let state: Lock<CallResult>
    /// The request as it was sent last, or would have been.
    private let request: HTTPRequest

    init(_ result: CallResult, of asked: HTTPRequest) {
        state = Lock(result)
        request = (try? result.get())?.request ?? asked
    }

    var result: CallResult { state.withLock { $0 } }

    func tellDidReceive(_ plugin: PluginInstance, done: @escaping @Sendable () -> Void) {
        guard let hook = plugin.hooks.did_receive else { return done() }
        plugin.tell(
            .didReceive, request,
            lending: [
                RequestHandle(request, isMutable: false),
                ResponseHandle(.init(result), isMutable: false),
            ],
            { hook($0, $1, outlet_request(id: $2[0]), outlet_response(id: $2[1])) }, then: done)
    }

    func process(_ plugin: PluginInstance, done: @escaping @Sendable () -> Void) {
        guard let hook = plugin.hooks.process else { return done() }
        let handle = ResponseHandle(.init(result), isMutable: true)
        let stopwatch = Stopwatch(plugin.owner.observer)
        plugin.check(
            .process, lending: [RequestHandle(request, isMutable: false), handle]
        ) { pointer, call, handles in
            hook(pointer, call, outlet_request(id: handles[0]), outlet_response(id: handles[1]))
        } then: { failure in
            let replacement = handle.seal()
            var failure = failure
            if case .failure(let reason)? = replacement, failure == nil {
                failure = plugin.failure(of: .process, reason)
            }
            if failure == nil, case .response(let answer)? = replacement,
                !self.request.context.takesBody, !answer.body.isEmpty
            {
                failure = plugin.failure(
                    of: .process,
                    "it replaced a body that is not in memory: that of a download or a WebSocket")
            }
            stopwatch.report(
                plugin.owner, .process, requestID: self.request.context.id?.uuidString,
                effects: { Effects.of(replacement) }, failure: failure?.message)
            self.take(replacement, failure)
            done()
        }
    }

    private func take(_ replacement: ResponseHandle.Replacement?, _ failure: PluginError?) {
        let url = request.url
        state.withLock { result in
            var response = try? result.get()
            if let failure {
                response?.failure = failure
                result = response.map { .success($0) } ?? .failure(failure)
            } else if case .response(let answer)? = replacement {
                let head = HTTPResponse(
                    url: response?.head.url ?? url, statusCode: answer.status,
                    httpVersion: response?.head.httpVersion ?? "HTTP/1.1", headers: answer.headers)
                result = .success(CallResponse(head: head, body: Data(answer.body)))
            }
        }
    }
}

extension ResponseHandle.Outcome {
    /// What a call has come to, as plugins see it.
    fileprivate init(_ result: CallResult) {
        switch result {
        case .success(let response):
            self.init(
                response: response.head, body: response.body ?? Data(),
                failure: response.failure.map { FailureText.of($0) })
        case .failure(let error):
            self.init(response: nil, body: Data(), failure: FailureText.of(error))
        }
    }
}
