import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletTransport
import Synchronization

/// The settings and state of a session that its requests use.
///
/// Requests retain the core, and the core refers to the session weakly: so the session can be
/// deallocated while requests run, which ends them.
final class SessionCore: Sendable {
    let transport: any Transport
    let configuration: SessionConfiguration
    let rootQueue: DispatchQueue
    let requestQueue: DispatchQueue
    /// The serialization queue given to the session's `init`; `nil` if none was.
    let explicitSerializationQueue: DispatchQueue?
    /// Where values for tasks are serialized: ``explicitSerializationQueue``, or a serial queue of
    /// the session's own.
    let serializationQueue: DispatchQueue
    let callbackQueue: DispatchQueue
    /// Whether the session made ``callbackQueue`` for itself.
    let ownsCallbackQueue: Bool
    let startsImmediately: Bool
    let setup: Session.RequestSetup
    let deliversInline: Bool
    let interceptor: (any RequestInterceptor)?
    let serverTrustManager: ServerTrustManager?
    /// Decides which servers are trusted: ``serverTrustManager``, or the plugins with it.
    let trustDecider: (any ServerTrustDeciding)?
    let redirectHandler: (any RedirectHandler)?
    /// Plugins that decide about redirects that the redirect handler would follow.
    let redirectDeciders: [any RedirectDecider]
    let cachedResponseHandler: (any CachedResponseHandler)?
    /// The transport and the layers around it.
    let stack: any Transport
    let hasOwnLayers: Bool
    /// The middleware around all calls, the outermost first, without ``outcomeMiddleware``.
    let middleware: [any Middleware]
    /// Read for every request in place of ``middleware``, whose access would retain the array.
    let hasMiddleware: Bool
    /// The innermost middleware, if it only sees the outcomes of calls.
    let outcomeMiddleware: (any OutcomeMiddleware)?
    /// Read for every request in place of ``outcomeMiddleware``, whose access would copy it.
    let hasOutcomeMiddleware: Bool
    /// Whether middleware needs the bodies of streams, which are then collected.
    let collectsStreams: Bool
    private let sessionAdapters: [AdapterStep]
    /// The adapters that run after the request's own.
    private let preparers: [AdapterStep]
    /// Adapters of requests without an interceptor of their own.
    private let commonAdapters: [AdapterStep]
    private let sessionRetriers: [any RequestRetrier]
    let deadlines = Deadlines()
    /// `nil` without monitors: an event then costs one test.
    let monitors: CompositeEventMonitor?
    /// Read for every event in place of ``monitors``, whose access would retain it.
    let isMonitored: Bool
    let hasInterceptor: Bool
    /// The addresses that requests may connect to; `nil` for any.
    let addressPolicy: AddressPolicy?
    /// Read for every request in place of ``addressPolicy``, whose access would copy it.
    let hasAddressPolicy: Bool
    /// Whether the configuration adds fields, a timeout or a cache policy to requests.
    private let changesRequests: Bool
    /// Whether every job has ``TransferJob/answers``: server trust, an address policy, or stored
    /// credentials.
    let answersAlways: Bool
    // Read for every request in place of the configuration, whose access would copy more.
    private let hsts: HSTSStorage?
    private let cookies: CookieStorage?

    let parts = RequestParts()
    private let usualDataSerializer = DataResponseSerializer()
    /// The own fields of the last prepared request, and all fields it was sent with.
    ///
    /// The next request mostly has the same fields: reusing them saves 7 % of the instructions of a
    /// request that differs from ``lastRequest`` (`Benchmarks/tricks last-fields`).
    private let lastHeaders = Lock(LastHeaders())

    private struct LastHeaders {
        var own = HTTPHeaders()
        /// `nil` before the first request.
        var all: HTTPHeaders?
    }

    /// The last prepared request without a body and a context, as made and as sent.
    ///
    /// Many programs repeat a request: reusing it saves 7 % of the instructions of a stored
    /// response (`stored` of `Benchmarks/count`).
    private let lastRequest = Lock<(own: HTTPRequest, wire: HTTPRequest)?>(nil)

    private let registry = Lock(RequestRegistry())
    private let owner = Lock(WeakSession())

    private struct WeakSession: Sendable { weak var session: Session? }

    init(
        transport: any Transport, configuration: SessionConfiguration, queues: SessionQueues,
        startsImmediately: Bool, setup: Session.RequestSetup, deliversInline: Bool,
        interceptor: (any RequestInterceptor)?, serverTrustManager: ServerTrustManager?,
        redirectHandler: (any RedirectHandler)?,
        cachedResponseHandler: (any CachedResponseHandler)?,
        layers: [@Sendable (_ next: any Transport) -> any Transport],
        middleware: [any Middleware], plugins: (any SessionPlugins)?,
        eventMonitors: [any EventMonitor]
    ) {
        let interceptors = [interceptor].compactMap { $0 } + (plugins?.interceptors ?? [])
        let pluginLayers = plugins?.layers ?? []
        let configuration = configuration.resolvedForSession()
        self.transport = transport
        self.configuration = configuration
        changesRequests =
            !configuration.headers.isEmpty
            || configuration.transport.timeoutIntervalForRequest
                != HTTPRequest.defaultTimeoutInterval
            || configuration.requestCachePolicy != .useProtocolCachePolicy
        hasAddressPolicy = !configuration.transport.addressPolicy.isUnrestricted
        addressPolicy = hasAddressPolicy ? configuration.transport.addressPolicy : nil
        hsts = configuration.hsts
        cookies = configuration.httpCookieStorage
        self.rootQueue = queues.root
        self.requestQueue = queues.request
        self.explicitSerializationQueue = queues.explicitSerialization
        self.serializationQueue = queues.serialization
        self.callbackQueue = queues.callback
        self.ownsCallbackQueue = queues.ownsCallback
        self.startsImmediately = startsImmediately
        self.setup = setup
        self.deliversInline = deliversInline
        self.interceptor = interceptor
        self.hasInterceptor = !interceptors.isEmpty
        let adapters = interceptors.flatMap { Interceptor.adapters(in: $0) }.map(AdapterStep.init)
        self.sessionAdapters = adapters.filter { !($0.adapter is any RequestPreparer) }
        self.preparers = adapters.filter { $0.adapter is any RequestPreparer }
        commonAdapters = sessionAdapters + preparers
        self.sessionRetriers = interceptors.flatMap { Interceptor.retriers(in: $0) }
        let middleware = middleware + (plugins?.middleware ?? [])
        outcomeMiddleware = middleware.last as? any OutcomeMiddleware
        hasOutcomeMiddleware = outcomeMiddleware != nil
        self.middleware = hasOutcomeMiddleware ? middleware.dropLast() : middleware
        hasMiddleware = !self.middleware.isEmpty
        collectsStreams = middleware.contains(where: \.needsStreamedBodies)
        self.serverTrustManager = serverTrustManager
        let verifies = configuration.transport.verifiesCertificates
        trustDecider =
            plugins.map { $0.trustDecider(behind: serverTrustManager, verifies: verifies) }
            ?? serverTrustManager
        answersAlways =
            trustDecider != nil || hasAddressPolicy || configuration.urlCredentialStorage != nil
        let eventMonitors = eventMonitors + (plugins?.eventMonitors ?? [])
        self.redirectHandler = redirectHandler
        redirectDeciders = plugins?.redirectDeciders ?? []
        self.cachedResponseHandler = cachedResponseHandler
        var network = pluginLayers.reversed().reduce(transport) { next, layer in layer(next) }
        if !layers.isEmpty {
            network = layers.reversed().reduce(ContextKeeper(around: network)) { next, layer in
                ContextKeeper(around: layer(next))
            }
        }
        hasOwnLayers = !layers.isEmpty || !pluginLayers.isEmpty
        stack = Self.stack(
            around: network, configuration, cachedResponseHandler, handlerQueue: queues.request,
            deadlines)
        isMonitored = !eventMonitors.isEmpty
        self.monitors =
            eventMonitors.isEmpty
            ? nil : CompositeEventMonitor(monitors: eventMonitors, defaultQueue: queues.callback)
    }

    var session: Session? { owner.withLock { $0.session } }

    func belongs(to session: Session) {
        owner.withLock { $0.session = session }
    }

    // MARK: Requests under way

    /// Sets up a new request at once, if the session's setup is eager.
    func begin<Kind: Request>(_ request: Kind) -> Kind {
        guard setup == .eager else { return request }
        // Retains the session meanwhile: the setup runs even if the program has released it.
        rootQueue.async { [session] in withExtendedLifetime(session) { request.setUpAhead() } }
        return request
    }

    /// Returns why a request must not run; `nil` if it may.
    func refusal(of request: Request) -> SessionError? {
        registry.withLock { $0.refusal(of: request) }
    }

    /// Notes a request that was not started, and that is to end with the session.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - retains: Whether to retain it until it starts or ends.
    /// - Returns: Why it must not run, or `nil`; and requests to release outside of locks.
    func expect(
        _ request: Request, retains: Bool
    ) -> (refusal: SessionError?, released: [Request]) {
        registry.withLock { registry in
            if let refusal = registry.refusal(of: request) { return (refusal, []) }
            return (nil, registry.expect(request, retains: retains))
        }
    }

    /// Registers a request that starts; returns why it must not run, or `nil`.
    func register(_ request: Request) -> SessionError? {
        registry.withLock { registry in
            if let refusal = registry.refusal(of: request) { return refusal }
            registry.insert(request)
            return nil
        }
    }

    /// Removes a request that has ended.
    ///
    /// - Returns: Whether it was the last request of a session that is being shut down: then the
    ///   caller must call ``endDraining()``, after the request's handlers.
    func unregister(_ request: Request) -> Bool {
        registry.withLock { $0.remove(request) }
    }

    var activeRequests: [Request] { registry.withLock { $0.all } }

    /// Ends all requests with an error and shuts down the transport; no more requests may start.
    func close(_ error: SessionError) {
        guard let closing = registry.withLock({ $0.close(error) }) else { return }
        for request in closing.requests.sorted(by: { $0.serial < $1.serial }) {
            request.abandon(with: error)
        }
        stack.shutDown()
        for waiter in closing.waiters { waiter.set(closing.report) }
        // After the completion handlers that were enqueued there.
        callbackQueue.async { for waiter in closing.waiters { waiter.resume() } }
        if case .sessionInvalidated(let cause) = error {
            monitors?.observe(.sessionDidBecomeInvalid(transport, error: cause), of: nil)
        } else {
            monitors?.observe(.sessionDidBecomeInvalid(transport, error: nil), of: nil)
        }
    }

    /// Starts no more requests, and returns when those in progress have ended.
    ///
    /// - Parameter deadline: The time after which requests that are left are ended.
    func shutDown(deadline: Duration) async -> ShutdownReport {
        let refusal = TransferError(
            code: .transportClosed, reason: "the session is shut down: it takes no more requests")
        var timers: [Deadlines.Token] = []
        let report = await withCheckedContinuation { continuation in
            let waiter = ShutdownWaiter(continuation)
            let (isWaiting, isDrained) = registry.withLock { registry in
                (
                    registry.beginDraining(.sessionInvalidated(error: refusal), waiter),
                    registry.isDrained
                )
            }
            guard isWaiting else { return waiter.resume() }
            // After the registry knows the waiter, which gets the report of what the timer ends.
            let seconds = deadline / .seconds(1)
            timers = [
                deadlines.add(after: seconds) { [weak self] in self?.cutOff(after: deadline) },
                // A completion handler may block the callback queue for ever.
                deadlines.add(after: seconds + 1) { waiter.resume() },
            ]
            if isDrained { endDraining() }
        }
        for timer in timers { deadlines.remove(timer) }
        return report
    }

    /// Ends the requests that are left at the deadline of a shutdown.
    private func cutOff(after deadline: Duration) {
        close(
            .sessionInvalidated(
                error: TransferError(
                    code: .transportClosed,
                    reason: "the session was shut down, and the request had not ended within "
                        + "\(deadline)")))
    }

    /// Ends a shutdown whose last request has ended.
    func endDraining() {
        let refusal = registry.withLock { $0.isDrained ? $0.closed : nil }
        if let refusal { close(refusal) }
    }

    // MARK: Serializers

    /// Returns a serializer of unchanged bodies; a shared one for the default settings.
    func dataSerializer(
        _ dataPreprocessor: (any DataPreprocessor)?, _ emptyResponseCodes: Set<Int>?,
        _ emptyRequestMethods: Set<HTTPMethod>?
    ) -> DataResponseSerializer {
        if dataPreprocessor == nil, emptyResponseCodes == nil, emptyRequestMethods == nil {
            return usualDataSerializer
        }
        return DataResponseSerializer(
            dataPreprocessor: dataPreprocessor ?? usualDataSerializer.dataPreprocessor,
            emptyResponseCodes: emptyResponseCodes ?? usualDataSerializer.emptyResponseCodes,
            emptyRequestMethods: emptyRequestMethods ?? usualDataSerializer.emptyRequestMethods)
    }

    // MARK: Interceptors

    /// The session's adapters, then the request's own, then the session's ``RequestPreparer``s.
    func adapters(for own: (any RequestInterceptor)?) -> [AdapterStep] {
        guard let own else { return commonAdapters }
        let owns = Interceptor.adapters(in: own).map(AdapterStep.init)
        // Adding two lists allocates, even if one is empty.
        return commonAdapters.isEmpty ? owns : sessionAdapters + owns + preparers
    }

    /// The session's retriers, then the request's own.
    func retriers(for own: (any RequestInterceptor)?) -> [any RequestRetrier] {
        own.map { sessionRetriers + Interceptor.retriers(in: $0) } ?? sessionRetriers
    }

    // MARK: Requests on the wire

    /// The request with the session's fields, timeout and cache policy where it has none.
    func wireRequest(from request: HTTPRequest) -> HTTPRequest {
        guard changesRequests else { return request }
        let mayRepeat = !request.hasBody && !request.hasContext
        if mayRepeat {
            let known = lastRequest.withLock { last in
                last?.own.isCopy(of: request) == true ? last?.wire : nil
            }
            if let known { return known }
        }
        var wire = request
        // Sets only what differs, because a change copies the request's storage.
        if !configuration.headers.isEmpty { wire.headers = headers(addedTo: request.headers) }
        if request.timeoutInterval == HTTPRequest.defaultTimeoutInterval,
            configuration.transport.timeoutIntervalForRequest != HTTPRequest.defaultTimeoutInterval
        {
            wire.timeoutInterval = configuration.transport.timeoutIntervalForRequest
        }
        if request.cachePolicy == .useProtocolCachePolicy,
            configuration.requestCachePolicy != .useProtocolCachePolicy
        {
            wire.cachePolicy = configuration.requestCachePolicy
        }
        // A URL that may contain a password is not kept.
        if mayRepeat, request.url.map({ ParsedURLCache.isKept($0.absoluteString) }) == true {
            lastRequest.withLock { [wire] in $0 = (request, wire) }
        }
        return wire
    }

    /// A request's fields, and those of the session that it lacks.
    private func headers(addedTo own: HTTPHeaders) -> HTTPHeaders {
        // Compared in place: a copy would retain the fields.
        if let known = lastHeaders.withLock({ $0.own == own ? $0.all : nil }) { return known }
        var all = own
        // A range is one of the coded content (RFC 9110 §14.1.2), which is of no use. Not only
        // `identity`, with which no response would be decoded.
        if !own.values(for: "Range").isEmpty,
            !configuration.headers.values(for: "Accept-Encoding").isEmpty
        {
            all.addMissing(from: ["Accept-Encoding": "identity;q=1, *;q=0"])
        }
        all.addMissing(from: configuration.headers)
        lastHeaders.withLock { [all] in $0 = LastHeaders(own: own, all: all) }
        return all
    }

    /// The URL that a request is sent to, with `https` for hosts that require it (HSTS).
    func wireURL(of request: HTTPRequest?) -> URL? {
        guard var request else { return nil }
        request.url = request.url?.handshakeAddress
        return (upgraded(request) ?? request).url
    }

    /// Whether layers may change what is sent: own layers, stored cookies or HSTS hosts.
    var layersMayChangeRequests: Bool {
        hasOwnLayers || hsts?.isEmpty == false || cookies?.isEmpty == false
    }

    /// The request with `https` in place of `http`, if its host requires that (HSTS); else `nil`.
    func upgraded(_ request: HTTPRequest) -> HTTPRequest? {
        guard let url = configuration.hsts?.address(for: request) else { return nil }
        var request = request
        request.url = url
        return request
    }

    /// The request with the cookies that would be sent now.
    func wireRequestWithCookies(_ request: HTTPRequest) -> HTTPRequest {
        guard configuration.httpShouldSetCookies else { return request }
        return configuration.httpCookieStorage?.addingCookies(to: request) ?? request
    }

    // MARK: Identity

    private static let serials = Atomic<UInt64>(0)
    /// Makes ids unique among processes without a system call for each.
    private static let processID = UInt64.random(in: 0 ... .max)

    func nextSerial() -> UInt64 {
        Self.serials.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// A version 8 UUID (RFC 9562 §5.8) of the process's random number and a request's serial.
    func uuid(serial: UInt64) -> UUID {
        let halves = (
            (Self.processID & ~0xF000 | 0x8000).bigEndian,
            (serial & ~(0b11 << 62) | 0b10 << 62).bigEndian
        )
        // The same memory as that of a `uuid_t`, from which Foundation would copy each byte.
        return unsafeBitCast(halves, to: UUID.self)
    }
}

/// The queues of a session.
struct SessionQueues {
    let root: DispatchQueue
    let request: DispatchQueue
    let explicitSerialization: DispatchQueue?
    let serialization: DispatchQueue
    let callback: DispatchQueue
    let ownsCallback: Bool

    /// Makes the queues that were not given, with labels derived from that of `root`.
    init(
        root: DispatchQueue, request: DispatchQueue?, serialization: DispatchQueue?,
        callback: DispatchQueue?
    ) {
        let label = root.label
        self.root = DispatchQueue(label: label, target: root)
        self.request = request ?? DispatchQueue(label: "\(label).requestQueue", target: self.root)
        self.explicitSerialization = serialization
        self.serialization =
            serialization ?? DispatchQueue(label: "\(label).serializationQueue")
        self.callback = callback ?? DispatchQueue(label: "\(label).callbackQueue")
        ownsCallback = callback == nil
    }
}
