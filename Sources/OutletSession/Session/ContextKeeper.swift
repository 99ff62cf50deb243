import OutletHTTP
import OutletTransport

/// Stands around and between the layers of the program: requests that these pass on continue with
/// the context of those that they received.
///
/// There the library, and the layers of plugins, keep what belongs to the call of the session.
final class ContextKeeper: TransportLayer {
    let next: any Transport

    init(around next: any Transport) { self.next = next }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        var job = job
        if let received = job.receivedContext { job.request.continueCall(with: received) }
        job.receivedContext = job.request.heldContext
        return next.start(job, handler: handler)
    }

    func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        var job = job
        if let received = job.receivedContext { job.request.continueCall(with: received) }
        job.receivedContext = job.request.heldContext
        return next.connect(job, handler: handler)
    }
}
