import Dispatch
import OutletHTTP
public import OutletTransport

/// Lets equal jobs that are under way at the same time share one transfer.
///
/// Each handler is called as for a transfer of its own. Jobs that do not ask for it
/// (`TransferJob.sharesTransfer`) are passed on.
public final class CoalescingLayer: TransportLayer {
    /// Carries what this layer lets through.
    public let next: any Transport
    /// Where the handlers of a shared transfer are called with its result.
    let queue = DispatchQueue(label: "outlet.coalescing")
    private let shared = Lock<[CoalescingKey: SharedTransfer]>([:])

    /// Makes the layer.
    public init(around next: any Transport) {
        self.next = next
    }

    /// Joins the transfer of an equal job, or starts one that equal jobs may join.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        guard job.sharesTransfer, let key = CoalescingKey(job) else {
            return next.start(job, handler: handler)
        }
        while true {
            let transfer = shared.withLock { shared -> SharedTransfer in
                if let transfer = shared[key] { return transfer }
                let transfer = SharedTransfer(of: job, self, key)
                shared[key] = transfer
                return transfer
            }
            let task = SharedTask(job, transfer, handler: handler, queue: queue)
            if transfer.join(task) { return task }
            remove(transfer, key)
        }
    }

    /// No more may join.
    func remove(_ transfer: SharedTransfer, _ key: CoalescingKey) {
        shared.withLock { shared in
            if shared[key] === transfer { shared[key] = nil }
        }
    }
}
