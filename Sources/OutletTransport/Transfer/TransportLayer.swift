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
    ///
    /// - Parameters:
    ///   - job: The request, and where the body of the response goes.
    ///   - handler: Receives the transfer's events. The transport keeps it until it has called
    ///     ``TransferHandler/transferDidFinish(_:result:turn:)``, which it does exactly once, also
    ///     after a cancel and after ``shutDown()``.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        next.start(job, handler: handler)
    }

    /// Forwards the job to ``next``.
    ///
    /// - Parameters:
    ///   - job: The handshake to send.
    ///   - handler: Receives the connection's events; kept as in ``start(_:handler:)``.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        next.connect(job, handler: handler)
    }

    /// Shuts ``next`` down.
    public func shutDown() { next.shutDown() }

    /// Shuts ``next`` down and waits for its transfers to end.
    ///
    /// - Parameter deadline: How long to wait. Transfers that are left then end with
    ///   ``TransferError/Code/transportClosed``, as they do at once when ``shutDown()`` is called
    ///   meanwhile.
    @discardableResult
    public func shutDown(deadline: Duration) async -> ShutdownReport {
        await next.shutDown(deadline: deadline)
    }

    /// Forwards the call to ``next``.
    public func reloadCertificates() { next.reloadCertificates() }

    /// Returns the statistics of ``next``.
    ///
    /// - Parameter perOrigin: Whether ``TransportStatistics/origins`` is filled in as well.
    public func statistics(perOrigin: Bool) -> TransportStatistics {
        next.statistics(perOrigin: perOrigin)
    }

    /// The executor of ``next``.
    public var taskExecutor: (any TaskExecutor)? { next.taskExecutor }
}
