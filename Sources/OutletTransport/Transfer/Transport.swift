package import FoundationEssentials
public import OutletHTTP

/// Sends requests over a network: one call of ``start(_:handler:)`` is one attempt and one hop.
///
/// A transport does not follow redirects, does not retry and does not validate status codes; the
/// session does. All features of the session work with any conforming type (libcurl, a stub).
public protocol Transport: AnyObject, Sendable {
    /// Starts one transfer and returns at once.
    ///
    /// - Parameters:
    ///   - job: The request, and where the body of the response goes.
    ///   - handler: Receives the transfer's events. The transport keeps it until it has called
    ///     ``TransferHandler/transferDidFinish(_:result:turn:)``, which it does exactly once, also
    ///     after a cancel and after ``shutDown()``.
    ///
    /// - Returns: The transfer. The handler may be called before this returns.
    ///
    /// Thread: any. Never blocks.
    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask

    /// Starts to open a WebSocket and returns at once.
    ///
    /// The default implementation fails the connection with
    /// ``TransferError/Code/unsupportedURL``.
    ///
    /// - Parameters:
    ///   - job: The handshake to send.
    ///   - handler: Receives the connection's events; kept as in ``start(_:handler:)``.
    ///
    /// - Returns: The connection. The handler may be called before this returns.
    ///
    /// Thread: any. Never blocks.
    func connect(_ job: WebSocketJob, handler: any WebSocketHandler) -> any WebSocketConnection

    /// Ends all transfers with ``TransferError/Code/transportClosed`` and frees the transport's
    /// resources.
    ///
    /// Transfers started afterwards fail with the same code.
    ///
    /// Thread: any. Idempotent. Does not wait for the transfers to end.
    func shutDown()

    /// Rejects new transfers, and returns when all running ones have ended.
    ///
    /// The default implementation calls ``shutDown()`` and returns an empty report.
    ///
    /// - Parameter deadline: How long to wait. Transfers that are left then end with
    ///   ``TransferError/Code/transportClosed``, as they do at once when ``shutDown()`` is called
    ///   meanwhile.
    /// - Returns: How many transfers ended by themselves, and how many were ended by the deadline.
    ///
    /// Thread: any. A transport that wraps another one forwards this call.
    @discardableResult
    func shutDown(deadline: Duration) async -> ShutdownReport

    /// Reads the certificate authorities and the client certificates again.
    ///
    /// Transfers that start afterwards use new connections only. Running transfers continue
    /// unchanged. The default implementation does nothing.
    ///
    /// Thread: any. Does not wait. A transport that wraps another one forwards this call.
    func reloadCertificates()

    /// Returns the current numbers of connections and requests.
    ///
    /// The default implementation returns zeros.
    ///
    /// - Parameter perOrigin: Whether ``TransportStatistics/origins`` is filled in as well.
    ///
    /// Thread: any. Does not wait. A transport that wraps another one forwards this call.
    func statistics(perOrigin: Bool) -> TransportStatistics

    /// An executor that runs tasks on the transport's own thread; `nil` if there is none.
    ///
    /// Such tasks must not block, because all transfers wait for them.
    var taskExecutor: (any TaskExecutor)? { get }
}

extension Transport {
    /// `nil`: the transport has no thread for tasks.
    public var taskExecutor: (any TaskExecutor)? { nil }

    /// Calls ``shutDown()`` and returns an empty report without waiting.
    ///
    /// - Parameter deadline: Ignored: the transfers end at once.
    @discardableResult
    public func shutDown(deadline: Duration) async -> ShutdownReport {
        shutDown()
        return ShutdownReport()
    }

    /// Does nothing.
    public func reloadCertificates() {}

    /// Returns zeros.
    ///
    /// - Parameter perOrigin: Ignored.
    public func statistics(perOrigin: Bool) -> TransportStatistics { TransportStatistics() }

    /// The current numbers of connections and requests, without those of each origin.
    public var statistics: TransportStatistics { statistics(perOrigin: false) }
}

/// A transfer that a transport has started.
public protocol TransferTask: AnyObject, Sendable {
    /// A number that is unique in this process, from ``TransferIdentifier/next()``.
    ///
    /// It increases with every transfer.
    var identifier: UInt64 { get }
    /// The transfer's state; changes as soon as ``suspend()``, ``resume()`` or ``cancel()`` is
    /// called. Thread: any.
    var state: TransferState { get }
    /// The request that is sent; `nil` if the transport does not provide it. Thread: any.
    var currentRequest: HTTPRequest? { get }
    /// The URL of the proxy in use, without credentials; empty if there is none, or if the
    /// transport does not provide it.
    ///
    /// Thread: only within calls of the transfer's handler.
    var proxy: String { get }
    /// Whether the server's identity was verified.
    ///
    /// Only then the session stores the server's cookies, cached responses and HSTS rules. True
    /// without TLS, where there is nothing to verify, and if the transport does not provide it.
    ///
    /// Thread: only within calls of the transfer's handler, from the final head on.
    var isServerVerified: Bool { get }
    /// Where the response comes from.
    ///
    /// Thread: only within calls of the transfer's handler, from the final head on.
    var source: ResponseSource { get }
    /// The number of credentials sent so far, whether they were accepted or refused.
    ///
    /// Thread: only within calls of the transfer's handler.
    var credentialsSent: Int { get }
    /// Ends the transfer with ``TransferError/Code/cancelled``; no effect after the end.
    ///
    /// Thread: any. Idempotent.
    func cancel()
    /// Stops reading from and writing to the peer until ``resume()``. Thread: any. Idempotent.
    func suspend()
    /// Continues after ``suspend()``, or after ``TransferDecision/pause``. Thread: any. Idempotent.
    func resume()
    /// Turns on progress reports, as ``TransferJob/reportsProgress`` does from the start.
    ///
    /// Thread: any. Idempotent.
    func reportProgress()
}

/// Where a response comes from.
public enum ResponseSource: Sendable {
    /// A server, or a stub that replaces it in tests.
    case network
    /// The transfer of another, equal request.
    case shared
    /// A cache, possibly after the server has confirmed that the stored response is current (304).
    case cache
    /// A plugin that has answered the request in place of a server; nothing is stored or learnt from
    /// the response.
    case plugin
}

/// The state of a transfer.
public enum TransferState: UInt8, Sendable {
    /// It is being sent or received, or waits for a connection.
    case running
    /// It waits for ``TransferTask/resume()``.
    case suspended
    /// It was cancelled, and has not ended yet.
    case canceling
    /// It has ended.
    case completed
}

extension TransferTask {
    /// Always `running`; for transports that do not provide the state.
    public var state: TransferState { .running }
    /// Always `nil`; for transports that do not provide the request.
    public var currentRequest: HTTPRequest? { nil }
    /// Always empty; for transports that do not provide the proxy.
    public var proxy: String { "" }
    /// Always true; for transports that do not verify servers.
    public var isServerVerified: Bool { true }
    /// Always 0; for transports that do not send credentials.
    public var credentialsSent: Int { 0 }
    /// Always `network`.
    public var source: ResponseSource { .network }
    /// Does nothing: progress is reported only if ``TransferJob/reportsProgress`` asks for it.
    public func reportProgress() {}
}

extension TransferTask {
    /// Whether cookies, HSTS rules and cached responses of this server may be stored.
    ///
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - verifiesCertificates: Whether the session is configured to verify certificates.
    package func mayKeep(from url: URL?, verifiesCertificates: Bool) -> Bool {
        isServerVerified
            && (verifiesCertificates || url?.scheme?.equalsIgnoringCase("https") != true)
    }
}
