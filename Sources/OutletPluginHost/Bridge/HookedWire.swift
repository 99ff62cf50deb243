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

    init(around next: any Transport, _ plugins: [PluginInstance]) {
        self.next = next
        self.plugins = plugins
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
        let order = request.context[HookOrder.Key.self] ?? HookOrder()
        for plugin in plugins {
            order.run { done in
                guard let hook = plugin.hooks.will_send else { return done() }
                plugin.tell(
                    .willSend, request, lending: [RequestHandle(request, isMutable: false)],
                    { hook($0, $1, outlet_request(id: $2[0])) }, then: done)
            }
        }
    }
}
