public import OutletHTTP

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
