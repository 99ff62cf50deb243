import COutletPlugin
import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletTransport

/// Calls `finalize` and `will_send` before a request is sent, and delivers responses that plugins
/// supplied instead of a transfer.
///
/// `will_send` hooks that may block run on a worker thread at the same time as the transfer, but
/// before any hook that sees its outcome.
final class HookedWire: TransportLayer {
    let next: any Transport
    /// The instances with a `finalize` hook.
    private let finalizers: [PluginInstance]
    /// The instances with a `will_send` hook.
    private let watchers: [PluginInstance]
    /// Whether none of ``watchers`` blocks.
    private let areQuick: Bool
    /// The time limit of a hook, in nanoseconds.
    private let limit: UInt64
    private let queue = DispatchQueue(label: "outlet.plugin.wire")
    private let running: RunningPlugins?

    init(
        around next: any Transport, finalizers: [PluginInstance], watchers: [PluginInstance],
        limit: UInt64, keeping running: RunningPlugins?
    ) {
        self.running = running
        self.next = next
        self.finalizers = finalizers
        self.watchers = watchers
        areQuick = watchers.allSatisfy(\.isNonblocking)
        self.limit = limit
    }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let credential = job.credentialUse == .atOnce ? job.credential : nil
        if let answer = job.request.givenAnswer, answer.claim() {
            notifyWillSend(job.request, sentWith: credential)
            return PlayedTransfer.start(
                TransferResult(
                    response: HTTPResponse(
                        url: job.request.url, statusCode: answer.status, headers: answer.headers),
                    body: answer.body.isEmpty ? nil : answer.body),
                for: job, on: DispatchQueue(label: "outlet.plugin.answer"), handler: handler)
        }
        guard !finalizers.isEmpty else {
            notifyWillSend(job.request, sentWith: credential)
            return next.start(job.watched, handler: handler)
        }
        let question = Finalizing(job.request, sentWith: credential, by: finalizers, limit: limit)
        if let request = question.answeredAtOnce {
            notifyWillSend(request, sentWith: credential)
            return next.start(job.carrying(request).watched, handler: handler)
        }
        return DeferredTransfer.start(job, on: queue, handler: handler) { answer in
            question.whenAnswered { answer($0.map { job.carrying($0) }) }
        } begin: { job, handler in
            self.notifyWillSend(job.request, sentWith: credential)
            return self.next.start(job.watched, handler: handler)
        }
    }

    func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        let credential = job.credential
        if let answer = job.request.givenAnswer, answer.claim() {
            notifyWillSend(job.request, sentWith: credential)
            return refuse(
                TransferError(
                    code: .badServerResponse, stage: .receiving, host: job.request.url?.host(),
                    reason: "a plugin answered \(answer.status) to the WebSocket handshake"),
                response: HTTPResponse(
                    url: job.request.url, statusCode: answer.status, headers: answer.headers),
                handler: handler)
        }
        guard !finalizers.isEmpty else {
            notifyWillSend(job.request, sentWith: credential)
            return next.connect(job, handler: handler)
        }
        let question = Finalizing(job.request, sentWith: credential, by: finalizers, limit: limit)
        return DeferredSocket.start(job, on: queue, handler: handler) { answer in
            question.whenAnswered { answer($0.map { job.carrying($0) }) }
        } begin: { job, handler in
            self.notifyWillSend(job.request, sentWith: credential)
            return self.next.connect(job, handler: handler)
        }
    }

    private func notifyWillSend(_ request: HTTPRequest, sentWith credential: Credential?) {
        guard !watchers.isEmpty else { return }
        let scope = request.context[RequestScope.Key.self]
        let fields = WireFields(sentWith: credential)
        if scope == nil, areQuick {
            // Each hook has returned before the next one is called.
            for plugin in watchers where !request.excludes(plugin) {
                _ = notifyWillSend(plugin, request, scope: nil, fields)
            }
            return
        }
        let order = (scope ?? RequestScope(id: request.context.id)).order
        for plugin in watchers where !request.excludes(plugin) {
            order.run { done in
                self.notifyWillSend(plugin, request, scope: scope, fields).deliver(to: done)
            }
        }
    }

    private func notifyWillSend(
        _ plugin: PluginInstance, _ request: HTTPRequest, scope: RequestScope?,
        _ fields: WireFields
    ) -> HookAnswer<Void> {
        guard let hook = plugin.hooks.will_send else { return .given(()) }
        let token = RequestHook(
            .willSend, of: plugin, for: request, scope: scope, wire: fields, limit: limit)
        return plugin.notify(token, requestID: request.context.id, .seeRequest(hook))
    }
}

/// Calls the `finalize` hooks for one request, one after the other.
private final class Finalizing: Sendable {
    private let fields: WireFields
    private let plugins: [PluginInstance]
    private let limit: UInt64
    private let waiting = CancelledOnce()
    private let answer = PendingAnswer<Result<HTTPRequest, TransferError>>()

    /// Calls the first plugin; the others follow when it has answered.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - credential: The credential that the request is sent with before any challenge.
    ///   - plugins: The plugins, in order.
    ///   - limit: The time limit of a hook, in nanoseconds.
    init(
        _ request: HTTPRequest, sentWith credential: Credential?, by plugins: [PluginInstance],
        limit: UInt64
    ) {
        fields = WireFields(sentWith: credential)
        self.plugins = plugins
        self.limit = limit
        ask(plugins[...], request)
    }

    /// The request to send, if all plugins have answered already.
    ///
    /// If this is `nil`, ``whenAnswered(_:)`` delivers the request or the failure.
    var answeredAtOnce: HTTPRequest? {
        if case .success(let request) = answer.given { request } else { nil }
    }

    /// Delivers the request to send.
    ///
    /// - Parameter body: Called once, on any thread, with the request or the failure; before this
    ///   function returns if all plugins have answered.
    /// - Returns: A closure that cancels the pending hook.
    func whenAnswered(
        _ body: @escaping @Sendable (Result<HTTPRequest, TransferError>) -> Void
    ) -> @Sendable () -> Void {
        answer.whenGiven(body)
        return { [waiting] in waiting.cancel() }
    }

    private func ask(_ plugins: ArraySlice<PluginInstance>, _ initial: HTTPRequest) {
        var request = initial
        for index in plugins.indices {
            let plugin = plugins[index]
            guard let hook = plugin.hooks.finalize, !request.excludes(plugin) else { continue }
            let changed = plugin.change(
                request, by: .finalize, hook, access: .fields, wire: fields, limit: limit)
            if case .given(.success(let next)) = changed {
                request = next
                continue
            }
            let cancel = changed.deliver { result in
                switch result {
                case .success(let next): self.ask(plugins[(index + 1)...], next)
                case .failure(let error):
                    self.answer.give(.failure(TransferError(refusedBecauseOf: error)))
                }
            }
            if let cancel { waiting.keep(cancel) }
            return
        }
        answer.give(.success(request))
    }
}

extension TransferJob {
    /// The same job, with an observer for plugins that watch the response's body.
    fileprivate var watched: TransferJob {
        let bodies = request.watchedBodies
        guard !bodies.isEmpty else { return self }
        var job = self
        job.bodyObserver = HookedBodies(bodies)
        return job
    }

    /// The same job for a changed request.
    fileprivate func carrying(_ request: HTTPRequest) -> TransferJob {
        var job = self
        job.request = request
        return job
    }
}

extension WebSocketJob {
    /// The same job for a changed request.
    fileprivate func carrying(_ request: HTTPRequest) -> WebSocketJob {
        var job = self
        job.request = request
        return job
    }
}
