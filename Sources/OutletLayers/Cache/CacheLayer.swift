package import Dispatch
import FoundationEssentials
import OutletHTTP
public import OutletTransport

/// Answers from a cache what it can, and stores what may be stored (RFC 9111).
public final class CacheLayer: TransportLayer {
    /// Carries what this layer lets through.
    public let next: any Transport
    let cache: ResponseCache
    /// Whether certificates are verified.
    let verifiesCertificates: Bool
    /// Where the session's authorities are, unless they are the system's.
    private let authorities: String?
    /// Decides about storing responses of requests without a handler of their own.
    let handler: (any CachedResponseHandler)?
    private let handlerQueue: DispatchQueue
    private let handlerTimeout: Double
    private let deadlines: Deadlines
    /// What decides where the session's connections lead, as a text that is equal for those that
    /// may connect to the same places; `nil` where nothing does.
    let route: String?
    /// Identifies the session among those that share the cache; `nil` unless it has a client
    /// certificate.
    let session: String?
    /// Where stored responses are handed over; nothing here waits.
    let queue = DispatchQueue(label: "outlet.session.cache")
    private let validations = Lock<Set<String>>([])

    /// Makes the layer.
    ///
    /// - Parameters:
    ///   - next: Carries what the cache does not answer.
    ///   - cache: Where responses are stored.
    ///   - configuration: That of the transport: a response answers only those who may connect to
    ///     the same places, and accept the same servers.
    ///   - handler: Decides what is stored; `nil` stores everything that may be stored.
    public convenience init(
        around next: any Transport, cache: ResponseCache,
        configuration: TransportConfiguration = .default,
        handler: (any CachedResponseHandler)? = nil
    ) {
        self.init(
            around: next, cache: cache, configuration: configuration, handler: handler,
            handlerQueue: DispatchQueue(label: "outlet.cache.handlers"), handlerTimeout: 60,
            deadlines: Deadlines())
    }

    /// - Parameters:
    ///   - handlerQueue: Where `handler` is asked.
    ///   - handlerTimeout: How long it may take to answer, in seconds; 0 means no limit.
    ///   - deadlines: Keeps that time.
    package init(
        around next: any Transport, cache: ResponseCache, configuration: TransportConfiguration,
        handler: (any CachedResponseHandler)?, handlerQueue: DispatchQueue,
        handlerTimeout: Double, deadlines: Deadlines
    ) {
        self.next = next
        self.cache = cache
        verifiesCertificates = configuration.verifiesCertificates
        authorities =
            switch configuration.certificateAuthorities {
            case .system: nil
            case .file(let path): "file \(path)"
            case .directory(let path): "directory \(path)"
            }
        self.handler = handler
        self.handlerQueue = handlerQueue
        self.handlerTimeout = handlerTimeout
        self.deadlines = deadlines
        let limits =
            configuration.addressPolicy.isUnrestricted
            ? nil
            : "\(configuration.addressPolicy)"
                + (configuration.addressPolicy.isEnforcedByProxy ? ", by the proxy" : "")
        let socket = configuration.unixSocketPath.map { "socket \($0)" }
        route =
            limits == nil && socket == nil
            ? nil : [limits, socket].compactMap(\.self).joined(separator: "\n")
        session = configuration.showsCertificates ? UUID().uuidString : nil
    }

    /// Answers the job from the cache, or carries it.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        CacheTask.start(job, self, handler: handler)
    }

    /// Who checks the server of a transfer, as a text that is equal for those who accept the same
    /// servers; `nil` for the system's authorities, and without TLS.
    func verifier(of job: TransferJob) -> String? {
        guard let url = job.request.url, let origin = try? Origin(url), origin.isSecure else {
            return nil
        }
        let policy = job.serverTrustManager?.policy(
            forHost: origin.addressWithoutZone, port: origin.port)
        guard let policy else { return authorities }
        return "#\(policy.number) \(authorities ?? "")"
    }

    /// Asks what to store; answers at once where no code of the user's is asked.
    func propose(
        _ response: CachedResponse, of task: any TransferTask,
        to handler: any CachedResponseHandler,
        completion: @escaping @Sendable (CachedResponse?) -> Void
    ) {
        let answered = OnceFlag()
        let deadline =
            handlerTimeout > 0
            ? deadlines.add(after: handlerTimeout) { if answered.claim() { completion(nil) } } : nil
        handlerQueue.async { [deadlines] in
            handler.dataTask(task, willCacheResponse: response) { proposal in
                guard answered.claim() else { return }
                if let deadline { deadlines.remove(deadline) }
                completion(proposal)
            }
        }
    }

    /// Asks the server about a response that was handed out stale; once at a time for an address.
    func validateLater(_ entry: CacheEntry, _ job: TransferJob, _ request: CacheRequest) {
        guard let key = request.key, validations.withLock({ $0.insert(key).inserted }) else {
            return
        }
        var job = job
        job.request.headers.addMissing(from: cache.rules.validators(of: entry))
        job.delivery = .collect
        job.reportsProgress = false
        let validation = Validation(
            caching: self, entry: entry, request: request, url: job.request.url)
        _ = next.start(job, handler: validation)
    }

    fileprivate func didValidate(_ key: String?) {
        if let key { validations.withLock { _ = $0.remove(key) } }
    }
}

/// A transfer in the background that revalidates a stored response.
private final class Validation: TransferHandler {
    private let caching: CacheLayer
    private let entry: CacheEntry
    private let request: CacheRequest
    private let url: URL?
    private let start = Date()

    init(caching: CacheLayer, entry: CacheEntry, request: CacheRequest, url: URL?) {
        self.caching = caching
        self.entry = entry
        self.request = request
        self.url = url
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        defer { caching.didValidate(request.key) }
        guard result.error == nil, let response = result.response, let key = request.key,
            task.mayKeep(from: url, verifiesCertificates: caching.verifiesCertificates)
        else { return }
        let rules = caching.cache.rules
        let now = Date()
        if response.statusCode == 304 {
            let fresh = rules.freshened(
                entry, by: response, requestTime: start, responseTime: now)
            guard let fresh else { return }
            return caching.cache.renew(entry, as: fresh, by: response, to: request)
        }
        let new = rules.entry(
            for: response, data: result.body ?? Data(), to: request, requestTime: start,
            responseTime: now)
        if let new { caching.cache.store(new, for: key) }
    }
}
