import Dispatch
import OutletHTTP
public import OutletTransport

/// Combines equal jobs that are active at the same time into one transfer.
///
/// Each handler is called as if its job had its own transfer. Jobs without
/// `TransferJob.sharesTransfer` are only forwarded. After the response to a request with a method
/// that is not safe, such as PUT, jobs join no transfer to its server that has begun before. After a
/// change of the stored cookies or credentials, such as a login, they join none from before it.
public final class CoalescingLayer: TransportLayer {
    /// The wrapped transport.
    public let next: any Transport
    /// Calls the handlers of a shared transfer with its result.
    let queue = DispatchQueue(label: "outlet.coalescing")
    private let shared = Lock<[CoalescingKey: SharedTransfer]>([:])
    private let cookies: CookieStorage?
    private let credentials: CredentialStorage?

    /// Makes the layer.
    ///
    /// - Parameters:
    ///   - next: The transport to wrap.
    ///   - cookies: The cookies that inner layers send; `nil` for none.
    ///   - credentials: The credentials with which inner layers answer challenges; `nil` for none.
    public init(
        around next: any Transport, cookies: CookieStorage? = nil,
        credentials: CredentialStorage? = nil
    ) {
        self.next = next
        self.cookies = cookies
        self.credentials = credentials
    }

    /// Joins the transfer of an equal job, or starts a transfer that equal jobs can join.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - handler: Receives the events, as from a transport; the final head and the body after the
    ///     shared transfer has ended.
    /// - Returns: The transfer of this job.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        guard job.sharesTransfer,
            let key = CoalescingKey(job, cookies: cookies, credentials: credentials)
        else {
            guard !job.request.method.isSafe, let url = job.request.url,
                let origin = try? Origin(url)
            else { return next.start(job, handler: handler) }
            return next.start(
                job, handler: UnsafeTransfer(of: self, to: origin, handler: handler))
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

    /// Lets later jobs start transfers of their own to a server.
    func forgetTransfers(to origin: Origin) {
        shared.withLock { shared in
            guard !shared.isEmpty else { return }
            shared = shared.filter { $0.key.origin != origin }
        }
    }

    /// Removes a transfer that no further jobs may join.
    func remove(_ transfer: SharedTransfer, _ key: CoalescingKey) {
        shared.withLock { shared in
            if shared[key] === transfer { shared[key] = nil }
        }
    }
}
