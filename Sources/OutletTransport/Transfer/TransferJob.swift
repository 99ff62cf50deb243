public import FoundationEssentials
public import OutletHTTP

/// One attempt of one request, for a transport to perform.
public struct TransferJob: Sendable {
    /// The request as it is sent.
    ///
    /// A layer may set another one: in the job that it passes on, that continues with the context of
    /// the request that the layer received. For a request of its own it makes a job of its own.
    public var request: HTTPRequest
    /// Where the body of the response goes.
    public var delivery: BodyDelivery
    /// Whether the handler receives ``TransferHandler/transfer(_:didProgress:turn:)``.
    public var reportsProgress: Bool
    /// The request's credential; ``credentialUse`` says how it is used.
    public var credential: Credential? {
        get { answers?.value.credential }
        set { if newValue != nil || answers != nil { change { $0.credential = newValue } } }
    }
    /// Whether there is a ``credential``, which is not copied.
    package var hasCredential: Bool { answers?.value.credential != nil }
    /// How the transport uses ``credential``; by default it answers challenges with it.
    public var credentialUse: CredentialUse {
        get { answers?.value.use ?? .onChallenge }
        set { if newValue != .onChallenge || answers != nil { change { $0.use = newValue } } }
    }
    /// The challenge with which the server refused the request before; ``credential`` answers it
    /// without waiting for another one.
    public var challenge: AuthenticationChallenge? {
        get { answers?.value.challenge }
        set { if newValue != nil || answers != nil { change { $0.challenge = newValue } } }
    }
    /// Credentials for proxies, by the proxy's URL (``TransferTask/proxy``), each with a scheme
    /// that the proxy has asked for.
    ///
    /// Used only if neither the proxy's URL nor ``TransportConfiguration/proxyCredential`` provides
    /// one.
    public var proxyCredentials: [String: Credential] {
        get { answers?.value.toProxies ?? [:] }
        set { if !newValue.isEmpty || answers != nil { change { $0.toProxies = newValue } } }
    }
    /// Provides the policy that evaluates the server, and an https proxy, in place of the
    /// transport's own verification; `nil` for the transport's own.
    public var serverTrustManager: (any ServerTrustDeciding)? {
        get { answers?.value.trustManager }
        set { if newValue != nil || answers != nil { change { $0.trustManager = newValue } } }
    }
    /// The IP addresses that may be connected to, in addition to the restrictions of
    /// ``TransportConfiguration/addressPolicy``; `nil` for none.
    ///
    /// An existing connection is used only if its address is allowed.
    public var addressPolicy: AddressPolicy? {
        get { answers?.value.addressPolicy }
        set { if newValue != nil || answers != nil { change { $0.addressPolicy = newValue } } }
    }
    /// Decides whether the response is stored in a cache; `nil` for the handler of the cache layer.
    public var cachedResponseHandler: (any CachedResponseHandler)? {
        get { answers?.value.cachedResponseHandler }
        set {
            if newValue != nil || answers != nil { change { $0.cachedResponseHandler = newValue } }
        }
    }
    /// The original URL of the request before redirects; `nil` if it was not redirected.
    public var firstURL: URL? {
        get { answers?.value.firstURL }
        set { if newValue != nil || answers != nil { change { $0.firstURL = newValue } } }
    }
    /// Keeps values of layers for the next transfers of the same request; `nil` to keep none.
    public var memory: AttemptMemory? {
        get { answers?.value.memory }
        set { if newValue != nil || answers != nil { change { $0.memory = newValue } } }
    }
    /// Observes the body of the response, in addition to the handler; not called for responses from
    /// a cache.
    public var bodyObserver: (any BodyObserver)? {
        get { answers?.value.bodyObserver }
        set { if newValue != nil || answers != nil { change { $0.bodyObserver = newValue } } }
    }
    /// The context of the request that a layer of the program has received, with which a request
    /// that it passes on in this job continues; `nil` for other jobs.
    package var receivedContext: Boxed<RequestContext>? {
        get { answers?.value.receivedContext }
        set { if newValue != nil || answers != nil { change { $0.receivedContext = newValue } } }
    }
    /// Whether the job may share one transfer with equal jobs that run at the same time.
    public var sharesTransfer: Bool {
        get { answers?.value.sharesTransfer ?? false }
        set { if newValue || answers != nil { change { $0.sharesTransfer = newValue } } }
    }
    /// The order in which requests that wait for a connection are started.
    public var priority: TransferPriority
    /// Whether the transport may start the transfer on the thread that calls
    /// ``Transport/start(_:handler:)``, and call the handler there before that returns.
    ///
    /// Must be false if the handler runs user code, because the user may hold a lock during the
    /// call of `start`. The transport never calls other user code (``serverTrustManager``,
    /// ``ClientCertificateProvider``) before `start` returns.
    public var mayRunOnCaller: Bool

    /// Makes a job.
    ///
    /// - Parameters:
    ///   - request: The request to send; its priority becomes ``priority``.
    ///   - delivery: Where the body of the response goes; into memory by default.
    public init(request: HTTPRequest, delivery: BodyDelivery = .collect) {
        self.request = request
        self.delivery = delivery
        self.reportsProgress = false
        self.priority = request.priority
        self.mayRunOnCaller = false
        self.answers = nil
    }

    /// Whether the transfer reads or writes a file or a stream, and may have to wait for a disk.
    package var isBulk: Bool { delivery.isFile || request.readsBody }

    /// The properties that few jobs set: credentials, server trust, address policy, caching,
    /// sharing.
    package struct Answers: Sendable {
        package var credential: Credential?
        package var use = CredentialUse.onChallenge
        package var challenge: AuthenticationChallenge?
        package var toProxies: [String: Credential] = [:]
        package var trustManager: (any ServerTrustDeciding)?
        package var addressPolicy: AddressPolicy?
        package var cachedResponseHandler: (any CachedResponseHandler)?
        package var firstURL: URL?
        package var memory: AttemptMemory?
        package var bodyObserver: (any BodyObserver)?
        package var receivedContext: Boxed<RequestContext>?
        package var sharesTransfer = false

        package init() {}
    }

    /// Makes a job with all its values at once, because changing a value afterwards copies it.
    package init(
        request: HTTPRequest, delivery: BodyDelivery, priority: TransferPriority,
        reportsProgress: Bool, mayRunOnCaller: Bool, answers: Boxed<Answers>?
    ) {
        self.request = request
        self.delivery = delivery
        self.reportsProgress = reportsProgress
        self.priority = priority
        self.mayRunOnCaller = mayRunOnCaller
        self.answers = answers
    }

    /// Boxed, because few jobs have any; declared `Optional` for the reason in ``TransferResult``.
    package private(set) var answers: Optional<Boxed<Answers>>

    private mutating func change(_ body: (inout Answers) -> Void) {
        var changed = answers ?? Boxed(Answers())
        answers = nil
        body(&changed.value)
        answers = changed
    }
}

/// Where a response's body goes.
public enum BodyDelivery: Sendable, Equatable {
    /// Into memory; it becomes ``TransferResult/body``.
    case collect
    /// To the handler, chunk by chunk.
    case chunks
    /// Into a file, which is created if it does not exist.
    ///
    /// The body of a `206 Partial Content` is written at `offset`, in bytes. The body of any other
    /// response replaces the content of the file.
    case file(path: String, offset: Int64)

    /// Whether the body goes to the handler, chunk by chunk.
    package var isChunks: Bool {
        guard case .chunks = self else { return false }
        return true
    }

    /// Whether the body of the response goes into a file.
    package var isFile: Bool {
        guard case .file = self else { return false }
        return true
    }
}
