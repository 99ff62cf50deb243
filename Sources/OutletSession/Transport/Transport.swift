public import FoundationEssentials
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

    /// Runs tasks on the transport's own thread, if it has one to offer.
    ///
    /// Such tasks must not block: all transfers wait for them.
    var taskExecutor: (any TaskExecutor)? { get }
}

extension Transport {
    /// None.
    public var taskExecutor: (any TaskExecutor)? { nil }
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
    /// Does nothing: progress is reported only if it was asked for before the start.
    public func reportProgress() {}
}

/// One attempt of one request, as a transport is asked to carry it.
public struct TransferJob: Sendable {
    /// The request as it shall go on the wire.
    public var request: HTTPRequest
    /// Where the body of the response goes.
    public var delivery: BodyDelivery
    /// Whether the handler wants ``TransferHandler/transfer(_:didProgress:)``.
    public var reportsProgress: Bool
    /// Answers authentication challenges, if present.
    public var credential: Credential?
    /// Whether ``credential`` goes along from the start, where its scheme is known and allows it.
    public var sendsCredentialAtOnce: Bool
    /// Answers proxies, by their addresses (``TransferTask/proxy``), each with a scheme that it asked for.
    ///
    /// Counts where neither the proxy's address nor ``SessionConfiguration/proxyCredential`` has one.
    public var proxyCredentials: [String: Credential]
    /// Whether the handler decides about the server, in place of the transport's own checks.
    public var asksForTrust: Bool
    /// Decides which of several waiting requests goes first.
    public var priority: TransferPriority
    /// Whether the transport may do the first work on the thread that calls
    /// ``Transport/start(_:handler:)``, and call the handler there before that returns.
    ///
    /// Not if anything of the user's runs in the handler, who may hold a lock while starting it.
    public var mayRunOnCaller: Bool

    /// Makes a job that collects the response's body in memory.
    public init(request: HTTPRequest, delivery: BodyDelivery = .collect) {
        self.request = request
        self.delivery = delivery
        self.reportsProgress = false
        self.credential = nil
        self.sendsCredentialAtOnce = false
        self.proxyCredentials = [:]
        self.asksForTrust = false
        self.priority = request.priority
        self.mayRunOnCaller = false
    }
}

/// Where a response's body goes.
public enum BodyDelivery: Sendable, Equatable {
    /// Into memory, handed over whole at the end.
    case collect
    /// To the handler, chunk by chunk.
    case chunks
    /// Into a file, made if it is not there.
    ///
    /// A `206 Partial Content` is written from `offset` on; any other answer is a whole and takes
    /// the file's place from its first byte.
    case file(path: String, offset: Int64)
}

/// Told what happens to a transfer.
///
/// All calls come from the transport's own thread, or, where ``TransferJob/mayRunOnCaller`` allows it,
/// from the one that starts the transfer; one at a time, in this order: any number of heads
/// (interim ones first, the final one last), chunks and progress in between and after, the end
/// exactly once and last. Nothing here may block.
public protocol TransferHandler: AnyObject, Sendable {
    /// A server that TLS was agreed on with waits for the request, if ``TransferJob/asksForTrust``.
    ///
    /// Asked before the first byte of a request goes out on a connection; a transport keeps the
    /// answer as long as the connection.
    ///
    /// - Returns: Whether to send; if not, the transfer ends with
    ///   ``TransferError/Code/serverCertificateUntrusted``.
    func transfer(_ task: any TransferTask, shouldTrust trust: ServerTrust) -> Bool

    /// The transport itself has answered a challenge, with ``TransferJob/credential``; another head
    /// will come.
    ///
    /// - Parameter challenge: The head that asked.
    func transfer(
        _ task: any TransferTask, didAnswer challenge: HTTPResponse, turn: TransportTurn)

    /// A head has arrived; interim ones (1xx) come here too.
    ///
    /// - Returns: Whether to go on, to wait for ``TransferTask/resume()`` or to end as cancelled.
    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision

    /// The next bytes of the body, under ``BodyDelivery/chunks`` only.
    ///
    /// - Parameter chunk: Valid until this returns.
    /// - Returns: Whether to go on, to wait for ``TransferTask/resume()`` (this chunk counts as
    ///   delivered) or to end as cancelled.
    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision

    /// How far the bodies have come, if ``TransferJob/reportsProgress`` asks for it.
    func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn)

    /// The transfer is over; nothing follows.
    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn)
}

extension TransferHandler {
    /// Trusts servers whose chain is good and whose certificate is for the host.
    public func transfer(_ task: any TransferTask, shouldTrust trust: ServerTrust) -> Bool {
        trust.chainFault == nil && trust.hostFault(for: trust.host) == nil
    }

    /// Takes no notice.
    public func transfer(
        _ task: any TransferTask, didAnswer challenge: HTTPResponse, turn: TransportTurn
    ) {}

    /// Goes on.
    public func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision { .proceed }

    /// Drops the chunk and goes on.
    public func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision { .proceed }

    /// Takes no notice.
    public func transfer(
        _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
    ) {}
}

/// What a handler answers to a head or a chunk.
public enum TransferDecision: Sendable {
    /// Go on.
    case proceed
    /// Go on, with the body to go there in place of where the job says; an answer to a head only.
    ///
    /// To a file only if the job's delivery was one. A handler that takes no chunks drops them.
    case deliver(BodyDelivery)
    /// Wait for ``TransferTask/resume()``.
    case pause
    /// End the transfer as cancelled.
    case cancel
}

/// How many body bytes have passed; totals are -1 where unknown.
public struct TransferCounts: Sendable, Equatable {
    /// Bytes of the request's body handed to the network.
    public var sent: Int64
    /// Bytes of the request's body in all.
    public var expectedToSend: Int64
    /// Bytes of the response's body received, decoded.
    public var received: Int64
    /// Bytes of the response's body in all, as announced.
    public var expectedToReceive: Int64

    /// Makes counts.
    public init(
        sent: Int64 = 0, expectedToSend: Int64 = -1, received: Int64 = 0,
        expectedToReceive: Int64 = -1
    ) {
        self.sent = sent
        self.expectedToSend = expectedToSend
        self.received = received
        self.expectedToReceive = expectedToReceive
    }
}

/// How a transfer ended.
public struct TransferResult: Sendable {
    /// The final head, if one arrived.
    public var response: HTTPResponse?
    /// The body, under ``BodyDelivery/collect``; `nil` when no byte arrived.
    public var body: Data?
    /// Trailer fields (RFC 9110 §6.5).
    public var trailers: HTTPHeaders?
    /// Why it failed; `nil` when the response arrived whole.
    public var error: TransferError?
    /// What was measured.
    public var metrics: TransferMetrics
    /// The head of a proxy that wants a credential before it makes way (407 to `CONNECT`).
    public var tunnelRefusal: TunnelRefusal?
    /// What the session's cache was about to keep of it.
    var proposedForCache: CachedResponse?

    /// Makes a result.
    public init(
        response: HTTPResponse? = nil, body: Data? = nil, trailers: HTTPHeaders? = nil,
        error: TransferError? = nil, metrics: TransferMetrics = TransferMetrics()
    ) {
        self.response = response
        self.body = body
        self.trailers = trailers
        self.error = error
        self.metrics = metrics
    }
}

/// A proxy's answer to `CONNECT`; a class, because few results have one.
public final class TunnelRefusal: Sendable {
    /// The head.
    public let head: HTTPResponse

    /// Keeps a head.
    public init(head: HTTPResponse) {
        self.head = head
    }
}
