public import FoundationEssentials
public import OutletHTTP

/// One attempt of one request, as a transport is asked to carry it.
public struct TransferJob: Sendable {
    /// The request as it shall go on the wire.
    public var request: HTTPRequest
    /// Where the body of the response goes.
    public var delivery: BodyDelivery
    /// Whether the handler wants `TransferHandler.transfer(_:didProgress:)`.
    public var reportsProgress: Bool
    /// Who the request is sent for; ``credentialUse`` says what becomes of it.
    public var credential: Credential? {
        get { answers?.value.credential }
        set { if newValue != nil || answers != nil { change { $0.credential = newValue } } }
    }
    /// What the transport does with ``credential``.
    public var credentialUse: CredentialUse {
        get { answers?.value.use ?? .onChallenge }
        set { if newValue != .onChallenge || answers != nil { change { $0.use = newValue } } }
    }
    /// What the server asked when it refused the request before, which ``credential`` answers at once.
    public var challenge: AuthenticationChallenge? {
        get { answers?.value.challenge }
        set { if newValue != nil || answers != nil { change { $0.challenge = newValue } } }
    }
    /// Answers proxies, by their addresses (``TransferTask/proxy``), each with a scheme that it asked for.
    ///
    /// Counts where neither the proxy's address nor ``TransportConfiguration/proxyCredential`` has one.
    public var proxyCredentials: [String: Credential] {
        get { answers?.value.toProxies ?? [:] }
        set { if !newValue.isEmpty || answers != nil { change { $0.toProxies = newValue } } }
    }
    /// Decides which policy judges the server, and an https proxy, in place of the transport's own
    /// checks; these if `nil`.
    public var serverTrustManager: (any ServerTrustJudging)? {
        get { answers?.value.trustManager }
        set { if newValue != nil || answers != nil { change { $0.trustManager = newValue } } }
    }
    /// Which addresses may be connected to, besides what the transport's own configuration says; a
    /// connection that is kept for others is used only if its address is allowed.
    public var addressPolicy: AddressPolicy? {
        get { answers?.value.addressPolicy }
        set { if newValue != nil || answers != nil { change { $0.addressPolicy = newValue } } }
    }
    /// Decides whether the response is stored in a cache; the cache's own handler if `nil`.
    public var cachedResponseHandler: (any CachedResponseHandler)? {
        get { answers?.value.cachedResponseHandler }
        set {
            if newValue != nil || answers != nil { change { $0.cachedResponseHandler = newValue } }
        }
    }
    /// Where the request began that this is a part of, before redirects; the request's own address if
    /// `nil`.
    public var firstURL: URL? {
        get { answers?.value.firstURL }
        set { if newValue != nil || answers != nil { change { $0.firstURL = newValue } } }
    }
    /// Where layers keep what they have found out for the attempt's next transfers; not kept if `nil`.
    public var memory: AttemptMemory? {
        get { answers?.value.memory }
        set { if newValue != nil || answers != nil { change { $0.memory = newValue } } }
    }
    /// Sees the body of the response, besides the handler; of one from a cache nothing.
    public var bodyObserver: (any BodyObserver)? {
        get { answers?.value.bodyObserver }
        set { if newValue != nil || answers != nil { change { $0.bodyObserver = newValue } } }
    }
    /// Whether the job may share a transfer with equal ones that are under way at the same time.
    public var sharesTransfer: Bool {
        get { answers?.value.sharesTransfer ?? false }
        set { if newValue || answers != nil { change { $0.sharesTransfer = newValue } } }
    }
    /// Decides which of several waiting requests goes first.
    public var priority: TransferPriority
    /// Whether the transport may do the first work on the thread that calls
    /// ``Transport/start(_:handler:)``, and call the handler there before that returns.
    ///
    /// Not if anything of the user's runs in the handler, who may hold a lock while starting it. What
    /// else of the user's a transport calls (``serverTrustManager``, ``ClientCertificateProvider``) it
    /// never calls before the start returns.
    public var mayRunOnCaller: Bool

    /// Makes a job that collects the response's body in memory.
    ///
    /// - Parameters:
    ///   - request: What is sent.
    ///   - delivery: Where the body of the response goes.
    public init(request: HTTPRequest, delivery: BodyDelivery = .collect) {
        self.request = request
        self.delivery = delivery
        self.reportsProgress = false
        self.priority = request.priority
        self.mayRunOnCaller = false
        self.answers = nil
    }

    /// Whether a file or a stream is at either end, so that a disk may stall it.
    package var isBulk: Bool { delivery.isFile || request.readsBody }

    /// What few jobs have: what it answers challenges with, who judges servers, where it may connect to.
    package struct Answers: Sendable {
        package var credential: Credential?
        package var use = CredentialUse.onChallenge
        package var challenge: AuthenticationChallenge?
        package var toProxies: [String: Credential] = [:]
        package var trustManager: (any ServerTrustJudging)?
        package var addressPolicy: AddressPolicy?
        package var cachedResponseHandler: (any CachedResponseHandler)?
        package var firstURL: URL?
        package var memory: AttemptMemory?
        package var bodyObserver: (any BodyObserver)?
        package var sharesTransfer = false

        package init() {}
    }

    /// Makes a job in one go: what is changed afterwards, the compiler copies.
    package init(
        request: HTTPRequest, delivery: BodyDelivery, priority: TransferPriority,
        reportsProgress: Bool, mayRunOnCaller: Bool, answers: Answers?
    ) {
        self.request = request
        self.delivery = delivery
        self.reportsProgress = reportsProgress
        self.priority = priority
        self.mayRunOnCaller = mayRunOnCaller
        self.answers = answers.map { Boxed($0) }
    }

    /// One reference, because few jobs have any; spelled out for the reason ``TransferResult`` gives.
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
    /// Into memory, handed over whole at the end.
    case collect
    /// To the handler, chunk by chunk.
    case chunks
    /// Into a file, made if it is not there.
    ///
    /// A `206 Partial Content` is written from `offset` on; any other answer is a whole and takes
    /// the file's place from its first byte.
    case file(path: String, offset: Int64)

    /// Whether the body of the response goes into a file.
    package var isFile: Bool {
        guard case .file = self else { return false }
        return true
    }
}
