package import FoundationEssentials
public import OutletHTTP

/// Carries requests over a network: one call, one attempt, one hop.
///
/// A transport neither follows redirects nor retries nor judges a status; the session above it
/// does. Whatever conforms (libcurl, a stub) serves all of the session's features.
public protocol Transport: AnyObject, Sendable {
    /// Begins one transfer and returns at once.
    ///
    /// - Parameters:
    ///   - job: What to send and what to do with the answer.
    ///   - handler: Told what happens; kept until ``TransferHandler/transferDidFinish(_:result:turn:)``
    ///     was called, which happens exactly once, also after a cancel and after ``shutDown()``.
    ///
    /// - Returns: The transfer. The handler may be called before this returns.
    ///
    /// Thread: any. Never blocks.
    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask

    /// Begins to open a WebSocket and returns at once; the default refuses with a named error.
    ///
    /// - Parameters:
    ///   - job: The handshake to send.
    ///   - handler: As for ``start(_:handler:)``.
    ///
    /// - Returns: The connection. The handler may be called before this returns.
    ///
    /// Thread: any. Never blocks.
    func connect(_ job: WebSocketJob, handler: any WebSocketHandler) -> any WebSocketConnection

    /// Cancels all transfers and frees what the transport holds; it starts no more.
    ///
    /// Thread: any, once or often. Does not wait.
    func shutDown()

    /// Starts no more transfers, and returns when all those under way have ended.
    ///
    /// - Parameter deadline: After so long what is left ends with ``TransferError/Code/transportClosed``;
    ///   at once with ``shutDown()``.
    /// - Returns: How many ended by themselves, and how many were cut off. The default cuts off all.
    ///
    /// Thread: any. A transport that stands before another passes this on.
    @discardableResult
    func shutDown(deadline: Duration) async -> ShutdownReport

    /// Reads certificate authorities and the client's certificates anew: what begins from now on uses no
    /// connection that was made before.
    ///
    /// What is under way is not disturbed. The default does nothing.
    ///
    /// Thread: any. Does not wait. A transport that stands before another passes this on.
    func reloadCertificates()

    /// What the transport is doing now; the default knows nothing.
    ///
    /// - Parameter perOrigin: Whether to tell origins apart, too.
    ///
    /// Thread: any. Does not wait. A transport that stands before another passes this on.
    func statistics(perOrigin: Bool) -> TransportStatistics

    /// Runs tasks on the transport's own thread, if it has one to offer.
    ///
    /// Such tasks must not block: all transfers wait for them.
    var taskExecutor: (any TaskExecutor)? { get }
}

extension Transport {
    /// None.
    public var taskExecutor: (any TaskExecutor)? { nil }

    /// Cuts off all transfers at once.
    @discardableResult
    public func shutDown(deadline: Duration) async -> ShutdownReport {
        shutDown()
        return ShutdownReport()
    }

    /// Does nothing.
    public func reloadCertificates() {}

    /// Nothing is known.
    public func statistics(perOrigin: Bool) -> TransportStatistics { TransportStatistics() }

    /// What the transport is doing now.
    public var statistics: TransportStatistics { statistics(perOrigin: false) }
}

/// A transfer that a transport has begun.
public protocol TransferTask: AnyObject, Sendable {
    /// A number that no other transfer of this process has, from ``TransferIdentifier/next()``;
    /// later ones have greater ones.
    var identifier: UInt64 { get }
    /// What the transfer is doing, or was last told to do. Thread: any.
    var state: TransferState { get }
    /// What is sent; `nil` if the transport does not tell. Thread: any.
    var currentRequest: HTTPRequest? { get }
    /// The proxy in use, without credentials; empty without one, or if the transport does not tell.
    ///
    /// Thread: in the calls of its handler.
    var proxy: String { get }
    /// Whether the server was verified, so that what it says may be kept: cookies, responses for the
    /// cache, and that it is to be talked to encrypted only.
    ///
    /// True without TLS, where there is nothing to verify, and if the transport does not tell.
    ///
    /// Thread: in the calls of its handler, from the final head on.
    var isServerVerified: Bool { get }
    /// Where the response comes from.
    ///
    /// Thread: in the calls of its handler, from the final head on.
    var source: ResponseSource { get }
    /// How many credentials were sent so far, to be refused or not.
    ///
    /// Thread: in the calls of its handler.
    var credentialsSent: Int { get }
    /// Ends the transfer with ``TransferError/Code/cancelled``; no effect after the end.
    ///
    /// Thread: any. Idempotent.
    func cancel()
    /// Stops reading from and writing to the peer until ``resume()``. Thread: any. Idempotent.
    func suspend()
    /// Goes on after ``suspend()``. Thread: any. Idempotent.
    func resume()
    /// Does from now on what ``TransferJob/reportsProgress`` does from the start.
    ///
    /// Thread: any. Idempotent.
    func reportProgress()
}

/// Where a response comes from.
public enum ResponseSource: Sendable {
    /// A server, or what takes its place in tests.
    case network
    /// A transfer that another request counts as its own.
    case shared
    /// A cache, perhaps once a server has said that it still holds.
    case cache
}

/// What a transfer is doing.
public enum TransferState: UInt8, Sendable {
    /// It is on its way, or waits for its turn.
    case running
    /// It waits for a `resume()`.
    case suspended
    /// It was cancelled, and has not ended yet.
    case canceling
    /// It has ended.
    case completed
}

extension TransferTask {
    /// What holds of most transfers, where the transport does not tell.
    public var state: TransferState { .running }
    /// Nothing is known.
    public var currentRequest: HTTPRequest? { nil }
    /// Nothing is known.
    public var proxy: String { "" }
    /// Nothing speaks against it.
    public var isServerVerified: Bool { true }
    /// None.
    public var credentialsSent: Int { 0 }
    /// A server.
    public var source: ResponseSource { .network }
    /// Does nothing: progress is reported only if it was asked for before the start.
    public func reportProgress() {}
}

extension TransferTask {
    /// Whether what the server says may be kept.
    ///
    /// - Parameters:
    ///   - url: The address of the request.
    ///   - verifiesCertificates: Whether the session wants certificates verified.
    package func mayKeep(from url: URL?, verifiesCertificates: Bool) -> Bool {
        isServerVerified
            && (verifiesCertificates || url?.scheme?.equalsIgnoringCase("https") != true)
    }
}
