import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// What the transfers of a session need to answer from its cache.
final class Caching: Sendable {
    let cache: ResponseCache
    let transport: any Transport
    let policies: WirePolicies?
    /// Whether the session wants certificates verified.
    let verifiesCertificates: Bool
    /// Where the session's authorities are, unless they are the system's.
    private let authorities: String?
    /// Decides what is stored, where a request has nobody of its own.
    let handler: (any CachedResponseHandler)?
    let requestQueue: DispatchQueue
    let deadlines: Deadlines
    /// How long a handler may take to answer, in seconds.
    let timeout: Double
    /// What decides where the session's connections lead, as a text that is equal for those that may
    /// connect to the same places; `nil` where nothing does.
    let route: String?
    /// Names the session among those that share the cache; `nil` unless servers know it by a certificate.
    let session: String?
    /// Where stored responses are handed over; nothing here waits.
    let queue = DispatchQueue(label: "outlet.session.cache")
    private let validations = Lock<Set<String>>([])

    init(
        cache: ResponseCache, transport: any Transport, policies: WirePolicies?,
        _ configuration: SessionConfiguration, handler: (any CachedResponseHandler)?,
        requestQueue: DispatchQueue, deadlines: Deadlines
    ) {
        self.cache = cache
        self.transport = transport
        self.policies = policies
        verifiesCertificates = configuration.transport.verifiesCertificates
        authorities =
            switch configuration.transport.certificateAuthorities {
            case .system: nil
            case .file(let path): "file \(path)"
            case .directory(let path): "directory \(path)"
            }
        self.handler = handler
        self.requestQueue = requestQueue
        self.deadlines = deadlines
        timeout = configuration.interceptorTimeout
        let limits =
            configuration.transport.addressPolicy.isUnrestricted
            ? nil
            : "\(configuration.transport.addressPolicy)"
                + (configuration.transport.addressPolicy.isEnforcedByProxy ? ", by the proxy" : "")
        let socket = configuration.transport.unixSocketPath.map { "socket \($0)" }
        route =
            limits == nil && socket == nil
            ? nil : [limits, socket].compactMap(\.self).joined(separator: "\n")
        session = configuration.transport.showsCertificates ? UUID().uuidString : nil
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
        let wait = Wait<CachedResponse?>(deadlines, completion: completion)
        wait.begin(for: timeout) { nil }
        requestQueue.async {
            handler.dataTask(task, willCacheResponse: response) { wait.answer($0) }
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
        _ = transport.start(job, handler: validation)
    }

    fileprivate func didValidate(_ key: String?) {
        if let key { validations.withLock { _ = $0.remove(key) } }
    }
}

/// A transfer that nobody waits for: it brings a stored response up to date.
private final class Validation: TransferHandler {
    private let caching: Caching
    private let entry: CacheEntry
    private let request: CacheRequest
    private let url: URL?
    private let start = Date()

    init(caching: Caching, entry: CacheEntry, request: CacheRequest, url: URL?) {
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
