package import Dispatch
import FoundationEssentials
import OutletHTTP
public import OutletTransport

/// Answers requests from a cache, and stores responses in it (RFC 9111).
public final class CacheLayer: TransportLayer {
    /// The wrapped transport.
    public let next: any Transport
    let cache: ResponseCache
    /// Whether the session verifies certificates.
    let verifiesCertificates: Bool
    /// Identifies the session's certificate authorities; `nil` for those of the system.
    private let authorities: String?
    /// Decides what is stored, for jobs without a handler of their own.
    let handler: (any CachedResponseHandler)?
    private let handlerQueue: DispatchQueue
    private let handlerTimeout: Double
    private let deadlines: Deadlines
    /// Identifies where the session's connections may lead: equal for sessions that may connect to
    /// the same places.
    ///
    /// `nil` if they are not restricted.
    let route: String?
    /// Identifies the session among those that share the cache; `nil` if it has no client
    /// certificate.
    let session: String?
    /// Delivers stored responses; never blocked.
    let queue = DispatchQueue(label: "outlet.session.cache")
    private let validations = Lock<Set<String>>([])
    private let recentRequests = Lock(RecentRequests())

    /// Makes the layer.
    ///
    /// - Parameters:
    ///   - next: The transport to wrap.
    ///   - cache: The cache.
    ///   - configuration: The transport's configuration. A stored response is used only for
    ///     sessions that may connect to the same places and accept the same servers.
    ///   - handler: Decides what is stored, within 60 seconds; `nil`, the default, stores
    ///     everything that may be stored.
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

    /// Makes the layer of a session.
    ///
    /// - Parameters:
    ///   - next: The transport to wrap.
    ///   - cache: The cache.
    ///   - configuration: The transport's configuration.
    ///   - handler: Decides what is stored; `nil` stores everything that may be stored.
    ///   - handlerQueue: Calls `handler`.
    ///   - handlerTimeout: The time limit of `handler` in seconds; 0 means no limit.
    ///   - deadlines: Runs this time limit.
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

    /// Answers the job from the cache, or sends it and may store the response.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - handler: Receives the events, as from a transport.
    /// - Returns: The transfer.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        // A plugin's answer replaces a stored response, too.
        guard job.request.givenAnswer == nil else { return next.start(job, handler: handler) }
        guard job.request.cachePolicy == .reloadIgnoringLocalAndRemoteCacheData else {
            return carryOut(job, handler)
        }
        var job = job
        job.request.headers.addMissing(from: ["Cache-Control": "no-cache"])
        return carryOut(job, handler)
    }

    private func carryOut(_ job: TransferJob, _ handler: any TransferHandler) -> any TransferTask {
        let request = cacheRequest(of: job)
        let now = Date()
        let decision: CacheRules.Decision
        switch cache.rules.maySearch(for: request) ? cache.look(for: request) : .missing {
        case .found(let entry): decision = decide(job, request, entry, now)
        case .missing: decision = decide(job, request, nil, now)
        case .onDisk:
            let task = CacheTask(job, request, now, self, handler: handler)
            task.readDisk()
            return task
        }
        switch consume decision {
        case .respond(let entry):
            return PlayedTransfer.start(
                answer(with: entry, to: request, now), for: job, source: .cache,
                onCaller: job.mayRunOnCaller, on: queue, handler: handler)
        case let other:
            let task = CacheTask(job, request, now, self, handler: handler)
            task.carryOut(other)
            return task
        }
    }

    /// The values of a job's request that matter to the cache.
    private func cacheRequest(of job: TransferJob) -> CacheRequest {
        // Without answers, the values depend on the request only.
        let isPlain = job.answers == nil
        if isPlain, let known = recentRequests.withLock({ $0.values(of: job.request) }) {
            return known
        }
        let fields = recentRequests.withLock { $0.fields(job.request.headers) }
        let request = CacheRequest(
            job.request, credential: job.credential, session: session, verifier: verifier(of: job),
            route: route, fields: fields ?? CacheFields(job.request.headers))
        recentRequests.withLock { $0.keep(request, of: isPlain ? job.request : nil) }
        return request
    }

    /// Decides what is done with a job.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - request: Its request.
    ///   - entry: The stored response; `nil` if there is none.
    ///   - now: The current time.
    func decide(
        _ job: TransferJob, _ request: CacheRequest, _ entry: CacheEntry?, _ now: Date
    ) -> CacheRules.Decision {
        // A stored response cannot be appended to an existing file.
        if case .file(_, let offset) = job.delivery, offset != 0 {
            return cache.rules.decide(request, nil, now: now)
        }
        let decision = cache.rules.decide(request, entry, now: now)
        guard case .respondAndValidate(let entry) = decision, job.request.hasContext,
            job.request.context.needsOwnTransfer
        else { return decision }
        // A validation in the background would outlive the call.
        return cache.rules.ask(entry)
    }

    /// The result of a request that is answered with a stored response.
    func answer(
        with entry: CacheEntry, to request: CacheRequest, _ now: Date
    ) -> KnownResult {
        entry.answer(aged: age(of: entry, now), withBody: request.method != .head)
    }

    /// The age of a stored response in seconds (RFC 9111 §4.2.3).
    func age(of entry: CacheEntry, _ now: Date) -> Int {
        Int(min(cache.rules.age(of: entry, now: now), 1e9))
    }

    /// Identifies how the server of a job is verified: equal for jobs that accept the same servers.
    ///
    /// `nil` for the authorities of the system, and without TLS.
    private func verifier(of job: TransferJob) -> String? {
        let manager = job.serverTrustManager
        guard authorities != nil || manager != nil, let url = job.request.url,
            let origin = try? Origin(url), origin.isSecure
        else { return nil }
        let policy = manager?.policy(forHost: origin.addressWithoutZone, port: origin.port)
        guard let policy else { return authorities }
        return "#\(policy.number) \(authorities ?? "")"
    }

    /// Whether a response may be stored, and stored ones be updated with it.
    ///
    /// Not if the server was not verified, and not if a layer below has changed fields by which
    /// stored responses are selected, for example added an `Authorization`: the response is for a
    /// user that the cache does not know.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - request: The request as the cache has received it.
    ///   - task: The transfer of the response.
    ///   - url: The URL of the request.
    func mayKeep(
        _ response: HTTPResponse, to request: CacheRequest, from task: any TransferTask, url: URL?
    ) -> Bool {
        guard task.mayKeep(from: url, verifiesCertificates: verifiesCertificates) else {
            return false
        }
        guard let sent = task.currentRequest?.headers else { return true }
        return request.selectsEqually(response, as: sent)
    }

    /// Stores an entry as a handler decides.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its cache key.
    ///   - task: The transfer of the response.
    ///   - handler: Decides what is stored; `nil` stores the entry.
    ///   - removals: The cache's number of removals when the request began.
    ///   - completion: Called when the handler has decided.
    /// - Returns: Whether it is decided already, so that `completion` is not called.
    func store(
        _ entry: CacheEntry, for key: String, of task: any TransferTask,
        asking handler: (any CachedResponseHandler)?, since removals: Int,
        completion: @escaping @Sendable () -> Void
    ) -> Bool {
        switch (handler, (handler as? ResponseCacher)?.behavior) {
        case (nil, _), (_, .cache): cache.store(entry, for: key, since: removals)
        case (_, .doNotCache): break
        case (let handler?, _):
            propose(CachedResponse(entry), of: task, to: handler) { [cache] answer in
                if let answer {
                    var entry = entry
                    entry.response = answer.response
                    entry.data = answer.data
                    entry.userInfo = answer.userInfo
                    entry.storagePolicy = answer.storagePolicy
                    cache.store(entry, for: key, since: removals)
                }
                completion()
            }
            return false
        }
        return true
    }

    /// Calls a handler on its queue, with the session's time limit.
    ///
    /// - Parameters:
    ///   - response: The response that may be stored.
    ///   - task: The transfer of the response.
    ///   - handler: Decides what is stored.
    ///   - completion: Receives the response to store, or `nil` if nothing is stored or the time
    ///     limit has passed.
    private func propose(
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

    /// The maximum number of revalidations in the background, so that they leave connections.
    private static let mostValidations = 8

    /// Revalidates a response that was used although stale.
    ///
    /// At most one revalidation per URL is active. Others wait for the next use of the response.
    func validateLater(_ entry: CacheEntry, _ job: TransferJob, _ request: CacheRequest) {
        guard let key = request.key,
            validations.withLock({
                $0.count < Self.mostValidations && $0.insert(key).inserted
            })
        else { return }
        var job = job
        job.request.headers.addMissing(from: cache.rules.validators(of: entry))
        job.delivery = .chunks
        job.priority = .low
        job.reportsProgress = false
        let validation = Validation(
            caching: self, entry: entry, request: request, url: job.request.url,
            storing: job.cachedResponseHandler ?? handler)
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
    private let storing: (any CachedResponseHandler)?
    private let start = Date()
    private let removals: Int
    /// The body so far; `nil` if it is too large to be stored.
    private let body = Lock<Data?>(Data())

    init(
        caching: CacheLayer, entry: CacheEntry, request: CacheRequest, url: URL?,
        storing: (any CachedResponseHandler)?
    ) {
        self.caching = caching
        self.entry = entry
        self.request = request
        self.url = url
        self.storing = storing
        removals = caching.cache.removals
    }

    func transfer(
        _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
    ) -> TransferDecision {
        body.withLock { body in
            // As in `CacheTask`, the count only.
            guard let count = body?.count, count + chunk.count <= caching.cache.bodyLimit else {
                body = nil
                return .cancel
            }
            body?.append(contentsOf: chunk)
            return .proceed
        }
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        defer { caching.didValidate(request.key) }
        let body = body.withLock { $0.take() }
        guard result.error == nil || body == nil, let response = result.response,
            let key = request.key,
            caching.mayKeep(response, to: request, from: task, url: url)
        else { return }
        let rules = caching.cache.rules
        let now = Date()
        if response.statusCode == 304 {
            let fresh = rules.freshened(
                entry, by: response, requestTime: start, responseTime: now)
            // It is about another version, which the next request loads.
            guard let fresh else {
                caching.cache.remove(key)
                return
            }
            return caching.cache.renew(
                entry, as: fresh, by: response, to: request, since: removals)
        }
        let new = body.flatMap { body in
            rules.entry(
                for: response, CacheEntry.Facts(response), data: body, to: request,
                requestTime: start, responseTime: now)
        }
        if let new {
            _ = caching.store(new, for: key, of: task, asking: storing, since: removals) {}
        } else if rules.outdates(response, to: request) {
            caching.cache.remove(key)
        }
    }
}
