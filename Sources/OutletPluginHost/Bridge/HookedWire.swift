import COutletPlugin
import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The plugins on the wire: `will_send` of all that is about to be sent, and the answers that they gave
/// in the network's place.
///
/// Hooks that may block run beside the transfer, on a worker, before any hook that sees its outcome.
final class HookedWire: TransportLayer {
    let next: any Transport
    /// Those that have the hook.
    private let plugins: [PluginInstance]
    /// How long a hook is waited for, in nanoseconds.
    private let limit: UInt64

    init(around next: any Transport, _ plugins: [PluginInstance], limit: UInt64) {
        self.next = next
        self.plugins = plugins
        self.limit = limit
    }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        tellWillSend(job.request)
        guard let answer = job.request.givenAnswer, answer.claim() else {
            return next.start(job, handler: handler)
        }
        return PlayedTransfer.start(
            TransferResult(
                response: HTTPResponse(
                    url: job.request.url, statusCode: answer.status, headers: answer.headers),
                body: answer.body.isEmpty ? nil : answer.body),
            for: job, on: DispatchQueue(label: "outlet.plugin.answer"), handler: handler)
    }

    func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        tellWillSend(job.request)
        guard let answer = job.request.givenAnswer, answer.claim() else {
            return next.connect(job, handler: handler)
        }
        return refuse(
            TransferError(
                code: .badServerResponse, stage: .receiving, host: job.request.url?.host(),
                reason: "a plugin answered \(answer.status) to the WebSocket handshake"),
            response: HTTPResponse(
                url: job.request.url, statusCode: answer.status, headers: answer.headers),
            handler: handler)
    }

    private func tellWillSend(_ request: HTTPRequest) {
        guard !plugins.isEmpty else { return }
        let scope = request.context[RequestScope.Key.self] ?? RequestScope(id: request.context.id)
        let limit = limit
        for plugin in plugins {
            scope.order.run { done in
                guard let hook = plugin.hooks.will_send else { return done() }
                plugin.tell(
                    .willSend, RequestHandle(request, isMutable: false, scope: scope),
                    requestID: request.context.id, limit: limit,
                    { hook($0, $1, outlet_request(id: $2[0])) }, then: done)
            }
        }
    }
}
