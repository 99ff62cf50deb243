/// A transport around another one: it changes what is sent, looks at what comes, or answers itself.
///
/// What is not implemented is passed on as it is.
public protocol TransportLayer: Transport {
    /// What this is around.
    var next: any Transport { get }
}

extension TransportLayer {
    /// Passes the job on.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        next.start(job, handler: handler)
    }

    /// Passes the job on.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        next.connect(job, handler: handler)
    }

    /// Shuts the next one down.
    public func shutDown() { next.shutDown() }

    /// Lets the next one end what it has.
    @discardableResult
    public func shutDown(deadline: Duration) async -> ShutdownReport {
        await next.shutDown(deadline: deadline)
    }

    /// Lets the next one read them anew.
    public func reloadCertificates() { next.reloadCertificates() }

    /// The next one's.
    public func statistics(perOrigin: Bool) -> TransportStatistics {
        next.statistics(perOrigin: perOrigin)
    }

    /// The next one's.
    public var taskExecutor: (any TaskExecutor)? { next.taskExecutor }
}
