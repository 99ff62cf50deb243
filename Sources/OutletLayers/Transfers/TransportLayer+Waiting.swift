import Dispatch
public import OutletTransport

/// Calls the handlers of transfers that end before they have begun.
private let waitingQueue = DispatchQueue(label: "outlet.layers.waiting")

extension TransportLayer {
    /// Sends a job to ``next`` when `wait` has returned, without blocking a thread meanwhile.
    ///
    /// The transfer can be cancelled, suspended and resumed in the meantime. A cancel cancels the
    /// task of `wait`, too.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - handler: Receives the events, as from a transport.
    ///   - wait: Called once, in a task of its own; if it throws, nothing is sent, and the request
    ///     fails with its error.
    /// - Returns: The transfer.
    public func start(
        _ job: TransferJob, handler: any TransferHandler,
        after wait: @escaping @Sendable () async throws -> Void
    ) -> any TransferTask {
        DeferredTransfer.start(
            job, on: waitingQueue, handler: handler, asking: Self.question(job, wait)
        ) { [next] job, handler in
            next.start(job, handler: handler)
        }
    }

    /// Opens a WebSocket on ``next`` when `wait` has returned, without blocking a thread meanwhile.
    ///
    /// Messages are queued in the meantime. A cancel cancels the task of `wait`, too.
    ///
    /// - Parameters:
    ///   - job: The handshake to send.
    ///   - handler: Receives the events, as from a transport.
    ///   - wait: Called once, in a task of its own; if it throws, nothing is sent, and the request
    ///     fails with its error.
    /// - Returns: The connection.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler,
        after wait: @escaping @Sendable () async throws -> Void
    ) -> any WebSocketConnection {
        DeferredSocket.start(
            job, on: waitingQueue, handler: handler, asking: Self.question(job, wait)
        ) { [next] job, handler in
            next.connect(job, handler: handler)
        }
    }

    private static func question<Job: Sendable>(
        _ job: Job, _ wait: @escaping @Sendable () async throws -> Void
    ) -> DeferredTransfer.Question<Job> {
        { answer in
            let task = Task {
                do {
                    try await wait()
                    answer(.success(job))
                } catch {
                    answer(.failure(TransferError(refusedBecauseOf: error)))
                }
            }
            return { task.cancel() }
        }
    }
}
