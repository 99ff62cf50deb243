import COutletPlugin
import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletTransport

/// Calls `finalize` and `will_send` before a request is sent, and delivers responses that plugins
/// supplied instead of a transfer.
///
/// Requests of plugins are refused if their permissions do not allow the server.
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
        if let fault = job.request.permissionFault {
            return PlayedTransfer.start(
                KnownResult(TransferResult(error: fault)), for: job, source: .plugin, on: queue,
                handler: handler)
        }
        let fields = WireFields(sentWith: job.credentialUse == .atOnce ? job.credential : nil)
        if let answer = job.request.givenAnswer, answer.claim() {
            notifyWillSend(job.request, fields)
            return PlayedTransfer.start(
                KnownResult(
                    TransferResult(
                        response: HTTPResponse(
                            url: job.request.url, statusCode: answer.status,
                            headers: answer.headers),
                        body: answer.body.isEmpty ? nil : answer.body)),
                for: job, source: .plugin, on: DispatchQueue(label: "outlet.plugin.answer"),
                handler: handler)
        }
        if case .stream = job.request.body {
            do throws(PluginError) {
                try job.request.scope?.rewindBody(of: job.request)
            } catch {
                return PlayedTransfer.start(
                    KnownResult(TransferResult(error: TransferError(refusedBecauseOf: error))),
                    for: job, source: .plugin, on: queue, handler: handler)
            }
        }
        guard !finalizers.isEmpty else {
            notifyWillSend(job.request, fields)
            return begin(job, handler: handler)
        }
        let hooks = FinalizeHooks(fields: fields, limit: limit)
        let progress = hooks.call(finalizers[...], for: job.request)
        if case .finished(let changed) = progress {
            notifyWillSend(changed ?? job.request, fields)
            guard let changed else { return begin(job, handler: handler) }
            return begin(job.carrying(changed), handler: handler)
        }
        let question = Finalizing(hooks, progress, of: job.request)
        return DeferredTransfer.start(job, on: queue, handler: handler) { answer in
            question.whenAnswered { answer($0.map { job.carrying($0) }) }
        } begin: { job, handler in
            self.notifyWillSend(job.request, fields)
            return self.begin(job, handler: handler)
        }
    }

    /// Starts the transfer, with an observer for plugins that watch the response's body.
    private func begin(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let bodies = job.request.watchedBodies
        guard !bodies.isEmpty else { return next.start(job, handler: handler) }
        var job = job
        job.bodyObserver = HookedBodies(bodies)
        return next.start(job, handler: handler)
    }

    func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        let fields = WireFields(sentWith: job.credential)
        if let answer = job.request.givenAnswer, answer.claim() {
            notifyWillSend(job.request, fields)
            return refuse(
                TransferError(
                    code: .badServerResponse, stage: .receiving, host: job.request.url?.host(),
                    reason: "a plugin answered \(answer.status) to the WebSocket handshake"),
                response: HTTPResponse(
                    url: job.request.url, statusCode: answer.status, headers: answer.headers),
                handler: handler)
        }
        guard !finalizers.isEmpty else {
            notifyWillSend(job.request, fields)
            return next.connect(job, handler: handler)
        }
        let hooks = FinalizeHooks(fields: fields, limit: limit)
        let progress = hooks.call(finalizers[...], for: job.request)
        let question = Finalizing(hooks, progress, of: job.request)
        return DeferredSocket.start(job, on: queue, handler: handler) { answer in
            question.whenAnswered { answer($0.map { job.carrying($0) }) }
        } begin: { job, handler in
            self.notifyWillSend(job.request, fields)
            return self.next.connect(job, handler: handler)
        }
    }

    private func notifyWillSend(_ request: HTTPRequest, _ fields: WireFields) {
        guard !watchers.isEmpty else { return }
        let limit = limit
        @Sendable func subject(in scope: RequestScope?) -> RequestHook.Subject {
            .init(hook: .willSend, request: request, scope: scope, wire: fields, limit: limit)
        }
        let scope = request.scope
        if scope == nil, areQuick {
            let subject = subject(in: nil)
            var calls = CallSequence()
            for plugin in watchers where !request.excludes(plugin) {
                guard let hook = plugin.hooks.will_send else { continue }
                // It has returned before the next one is called, or follows a call of its plugin that
                // it must not overlap with; so do the later hooks of that plugin.
                plugin.notify(subject, .seeRequest(hook), in: &calls).deliver {}
            }
            return
        }
        let order = (scope ?? RequestScope(id: request.context.id)).order
        for plugin in watchers where !request.excludes(plugin) {
            guard let hook = plugin.hooks.will_send else { continue }
            order.run { done in
                plugin.notify(subject(in: scope), .seeRequest(hook)).deliver(to: done)
            }
        }
    }
}

/// Calls `finalize` hooks, one after the other.
private struct FinalizeHooks: Sendable {
    /// The outcome of calling hooks in order.
    enum Progress {
        /// All hooks have answered; `nil` if the request is unchanged.
        case finished(HTTPRequest?)
        /// A hook has failed or answers later; `remaining` are the plugins after it, and `changed`
        /// is the request as the hooks before it have changed it, `nil` if they have not.
        case stopped(
            HookAnswer<Result<HTTPRequest?, any Error>>, changed: HTTPRequest?,
            remaining: ArraySlice<PluginInstance>)
    }

    /// The fields that the transport adds.
    let fields: WireFields
    /// The time limit of a hook, in nanoseconds.
    let limit: UInt64

    /// Calls the hooks up to the first that fails or answers later.
    func call(_ plugins: ArraySlice<PluginInstance>, for initial: HTTPRequest) -> Progress {
        var changed: HTTPRequest?
        for index in plugins.indices {
            let plugin = plugins[index]
            let request = changed ?? initial
            guard let hook = plugin.hooks.finalize, !request.excludes(plugin) else { continue }
            let answer = plugin.change(
                request, by: .finalize, hook, access: .fields, wire: fields, limit: limit)
            guard case .given(.success(let next)) = answer else {
                return .stopped(answer, changed: changed, remaining: plugins[(index + 1)...])
            }
            if let next { changed = next }
        }
        return .finished(changed)
    }
}

/// Waits for the `finalize` hooks of one request.
private final class Finalizing: Sendable {
    private let hooks: FinalizeHooks
    private let waiting = CancelledOnce()
    private let answer = PendingAnswer<Result<HTTPRequest, TransferError>>()

    /// Waits for the hook that has not answered, and calls those after it.
    ///
    /// - Parameters:
    ///   - hooks: Calls the hooks.
    ///   - progress: The outcome of the calls before.
    ///   - request: The request that they were made for.
    init(_ hooks: FinalizeHooks, _ progress: FinalizeHooks.Progress, of request: HTTPRequest) {
        self.hooks = hooks
        proceed(from: progress, of: request)
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

    private func proceed(from progress: FinalizeHooks.Progress, of request: HTTPRequest) {
        switch progress {
        case .finished(let changed): answer.give(.success(changed ?? request))
        case .stopped(let asked, let changed, let remaining):
            let operation = waiting.begin()
            let cancel = asked.deliver { result in
                switch result {
                case .success(let next):
                    let request = next ?? changed ?? request
                    self.proceed(from: self.hooks.call(remaining, for: request), of: request)
                case .failure(let error):
                    self.answer.give(.failure(TransferError(refusedBecauseOf: error)))
                }
            }
            if let cancel { waiting.keep(cancel, of: operation) }
        }
    }
}

extension TransferJob {
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
