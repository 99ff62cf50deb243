import OutletHTTP
import OutletTransport

/// Forwards the transfer of a request with a method that is not safe, which may change what later
/// requests get: these join no transfer that has begun before the response.
final class UnsafeTransfer: ForwardingTransferHandler {
    let handler: any TransferHandler
    private let layer: CoalescingLayer
    private let origin: Origin

    init(of layer: CoalescingLayer, to origin: Origin, handler: any TransferHandler) {
        self.layer = layer
        self.origin = origin
        self.handler = handler
    }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        if head.isFinal { layer.forgetTransfers(to: origin) }
        return handler.transfer(task, didReceive: head, turn: turn)
    }

    // Also without a response: the server may have received the request.
    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        layer.forgetTransfers(to: origin)
        handler.transferDidFinish(task, result: result, turn: turn)
    }
}
