/// A transport that wraps another one: it changes requests, observes or changes responses, or
/// answers itself.
///
/// Methods that a layer does not implement forward to ``next``.
public protocol TransportLayer: Transport {
    /// The wrapped transport.
    var next: any Transport { get }
}

extension TransportLayer {
    /// Forwards the job to ``next``.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        next.start(job, handler: handler)
    }

    /// Forwards the job to ``next``.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        next.connect(job, handler: handler)
    }

    /// Shuts ``next`` down.
    public func shutDown() { next.shutDown() }

    /// Shuts ``next`` down and waits for its transfers to end.
    @discardableResult
    public func shutDown(deadline: Duration) async -> ShutdownReport {
        await next.shutDown(deadline: deadline)
    }

    /// Forwards the call to ``next``.
    public func reloadCertificates() { next.reloadCertificates() }

    /// Returns the statistics of ``next``.
    public func statistics(perOrigin: Bool) -> TransportStatistics {
        next.statistics(perOrigin: perOrigin)
    }

    /// The executor of ``next``.
    public var taskExecutor: (any TaskExecutor)? { next.taskExecutor }
}
