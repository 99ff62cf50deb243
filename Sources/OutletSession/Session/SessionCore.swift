import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletLayers
import OutletTransport
import Synchronization

/// What a session's requests need of it, and what outlives the session until they are done.
///
/// Requests hold the core, the core knows the session weakly: dropping the session ends them.
final class SessionCore: Sendable {
    let transport: any Transport
    let configuration: SessionConfiguration
    let rootQueue: DispatchQueue
    let requestQueue: DispatchQueue
    /// The queue for serialization that was asked for, if one was.
    let explicitSerializationQueue: DispatchQueue?
    /// Where values for tasks are serialized.
    let serializationQueue: DispatchQueue
    let callbackQueue: DispatchQueue
    let startsImmediately: Bool
    let setup: Session.RequestSetup
    let deliversInline: Bool
    let interceptor: (any RequestInterceptor)?
    let serverTrustManager: ServerTrustManager?
    /// Who decides which servers are trusted: the manager, and plugins.
    let trustJudge: (any ServerTrustJudging)?
    let redirectHandler: (any RedirectHandler)?
    /// Decide about redirects that the handler would follow.
    let redirectJudges: [any RedirectJudge]
    let cachedResponseHandler: (any CachedResponseHandler)?
    /// The transport and the layers around it.
    let stack: any Transport
    let hasOwnLayers: Bool
    /// What surrounds the calls, the outermost first.
    let middleware: [MiddlewareStep]
    /// A flag, because looking at the list would retain it.
    let hasMiddleware: Bool
    /// Whether the bodies of streams are collected for the middleware.
    let collectsStreams: Bool
    private let sessionAdapters: [any RequestAdapter]
    /// Those of the adapters that come last.
    private let preparers: [any RequestAdapter]
    private let sessionRetriers: [any RequestRetrier]
    let deadlines = Deadlines()
    /// `nil` when nobody watches: the request path then pays one test an event.
    let monitors: CompositeEventMonitor?
    /// A flag, because looking at the reference would retain it.
    let isMonitored: Bool
    let hasInterceptor: Bool
    /// Which addresses requests may connect to; `nil` for any.
    let addressPolicy: AddressPolicy?
    /// A flag, because looking at the policy would copy it.
    let hasAddressPolicy: Bool
    /// Whether the configuration has fields or limits for requests that have none.
    private let changesRequests: Bool

    private let usualDataSerializer = DataResponseSerializer()
    /// The fields of the last request that was made ready, and what it was sent with.
    ///
    /// Those of the next are mostly the same: spares 5 % of a request (`session-defaults` of
    /// `Benchmarks/count`).
    private let lastHeaders = Lock<(own: HTTPHeaders, all: HTTPHeaders)?>(nil)

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
        let layers = layers + (plugins?.layers ?? [])
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
        self.rootQueue = queues.root
        self.requestQueue = queues.request
        self.explicitSerializationQueue = queues.explicitSerialization
        self.serializationQueue = queues.serialization
        self.callbackQueue = queues.callback
        self.startsImmediately = startsImmediately
        self.setup = setup
        self.deliversInline = deliversInline
        self.interceptor = interceptor
        self.hasInterceptor = !interceptors.isEmpty
        let adapters = interceptors.flatMap { Interceptor.adapters(in: $0) }
        self.sessionAdapters = adapters.filter { !($0 is any RequestPreparer) }
        self.preparers = adapters.filter { $0 is any RequestPreparer }
        self.sessionRetriers = interceptors.flatMap { Interceptor.retriers(in: $0) }
        let middleware = middleware + (plugins?.middleware ?? [])
        self.middleware = middleware.map { MiddlewareStep($0) }
        hasMiddleware = !middleware.isEmpty
        collectsStreams = middleware.contains(where: \.needsStreamedBodies)
        self.serverTrustManager = serverTrustManager
        let verifies = configuration.transport.verifiesCertificates
        trustJudge =
            plugins.map { $0.trustJudge(behind: serverTrustManager, verifies: verifies) }
            ?? serverTrustManager
        let eventMonitors = eventMonitors + (plugins?.eventMonitors ?? [])
        self.redirectHandler = redirectHandler
        redirectJudges = plugins?.redirectJudges ?? []
        self.cachedResponseHandler = cachedResponseHandler
        let network = layers.reversed().reduce(transport) { next, layer in layer(next) }
        hasOwnLayers = !layers.isEmpty
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

    /// Makes a new request ready if the session does so at once.
    func begin<Kind: Request>(_ request: Kind) -> Kind {
        guard setup == .eager else { return request }
        // Keeps the session until then: a request is made even if the program has released the session.
        rootQueue.async { [session] in withExtendedLifetime(session) { request.setUpAhead() } }
        return request
    }

    /// Takes a request in; returns why it must not run.
    func register(_ request: Request) -> SessionError? {
        registry.withLock { registry in
            if let refusal = registry.refusal(of: request) { return refusal }
            registry.insert(request)
            return nil
        }
    }

    /// Lets go of a request that has ended.
    ///
    /// - Returns: Whether it was the last one of a session that is being shut down:
    ///   ``endDraining()`` is to be called when its handlers are.
    func unregister(_ request: Request) -> Bool {
        registry.withLock { $0.remove(request) }
    }

    var activeRequests: [Request] { registry.withLock { $0.all } }

    /// Ends all requests with that error, and lets no more start.
    func close(_ error: SessionError) {
        guard let closing = registry.withLock({ $0.close(error) }) else { return }
        for request in closing.requests.sorted(by: { $0.serial < $1.serial }) {
            request.abandon(with: error)
        }
        stack.shutDown()
        // Behind the completions that are wanted there.
        callbackQueue.async {
            for waiter in closing.waiters { waiter.resume(returning: closing.report) }
        }
        if case .sessionInvalidated(let cause) = error {
            monitors?.observe(.sessionDidBecomeInvalid(transport, error: cause), of: nil)
        } else {
            monitors?.observe(.sessionDidBecomeInvalid(transport, error: nil), of: nil)
        }
    }

    /// Lets no more requests start, and waits for those that there are.
    ///
    /// - Parameter deadline: After so long they are ended.
    func shutDown(deadline: Duration) async -> ShutdownReport {
        let refusal = TransferError(
            code: .transportClosed, reason: "the session is shut down: it takes no more requests")
        let timer = deadlines.add(after: deadline / .seconds(1)) { [weak self] in
            self?.close(
                .sessionInvalidated(
                    error: TransferError(
                        code: .transportClosed,
                        reason: "the session was shut down, and the request had not ended within "
                            + "\(deadline)")))
        }
        let report = await withCheckedContinuation { waiter in
            let (isWaiting, isDrained) = registry.withLock { registry in
                (
                    registry.beginDraining(.sessionInvalidated(error: refusal), waiter),
                    registry.isDrained
                )
            }
            if !isWaiting { waiter.resume(returning: ShutdownReport()) }
            if isDrained { endDraining() }
        }
        deadlines.remove(timer)
        return report
    }

    /// The last request has ended of a session that is being shut down.
    func endDraining() {
        let refusal = registry.withLock { $0.isDrained ? $0.closed : nil }
        if let refusal { close(refusal) }
    }

    // MARK: Serializers

    /// The serializer of bodies as they are, for these settings; made once for those that nearly all
    /// requests have.
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

    /// The session's adapters, the request's own, and those of the session's that come last.
    func adapters(for own: (any RequestInterceptor)?) -> [any RequestAdapter] {
        guard own != nil || !preparers.isEmpty else { return sessionAdapters }
        return sessionAdapters + (own.map { Interceptor.adapters(in: $0) } ?? []) + preparers
    }

    /// The session's retriers and the request's own, in this order.
    func retriers(for own: (any RequestInterceptor)?) -> [any RequestRetrier] {
        own.map { sessionRetriers + Interceptor.retriers(in: $0) } ?? sessionRetriers
    }

    // MARK: Requests on the wire

    /// The request with the session's fields and limits where it has none of its own.
    func wireRequest(from request: HTTPRequest) -> HTTPRequest {
        guard changesRequests else { return request }
        var wire = request
        // A change copies the request, so nothing is set that is so already.
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
        return wire
    }

    /// A request's fields, with the session's that it has none of.
    private func headers(addedTo own: HTTPHeaders) -> HTTPHeaders {
        if let last = lastHeaders.withLock({ $0 }), last.own == own { return last.all }
        var all = own
        all.addMissing(from: configuration.headers)
        lastHeaders.withLock { [all] in $0 = (own, all) }
        return all
    }

    /// Where a request goes, hosts that want it encrypted considered.
    func wireURL(of request: HTTPRequest?) -> URL? {
        guard var request else { return nil }
        request.url = request.url?.handshakeAddress
        return (upgraded(request) ?? request).url
    }

    /// Whether what is sent may differ from the request; most sessions know no cookies and no hosts.
    var layersMayChangeRequests: Bool {
        hasOwnLayers || configuration.hsts?.isEmpty == false
            || configuration.httpCookieStorage?.isEmpty == false
    }

    /// The request at the address that its host wants; `nil` if that is its own.
    func upgraded(_ request: HTTPRequest) -> HTTPRequest? {
        guard let url = configuration.hsts?.address(for: request) else { return nil }
        var request = request
        request.url = url
        return request
    }

    /// The request as it would be sent now, the session's cookies included.
    func wireRequestWithCookies(_ request: HTTPRequest) -> HTTPRequest {
        guard configuration.httpShouldSetCookies else { return request }
        return configuration.httpCookieStorage?.addingCookies(to: request) ?? request
    }

    // MARK: Identity

    private static let serials = Atomic<UInt64>(0)
    /// Makes ids unique among processes without asking the system for each.
    private static let processID = UInt64.random(in: 0 ... .max)

    func nextSerial() -> UInt64 {
        Self.serials.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// A version 8 UUID (RFC 9562 §5.8): random for the process, counted within it.
    func uuid(serial: UInt64) -> UUID {
        let (p, s) = (Self.processID, serial)
        func byte(_ value: UInt64, _ index: UInt64) -> UInt8 {
            UInt8(truncatingIfNeeded: value >> (56 - 8 * index))
        }
        return UUID(
            uuid: (
                byte(p, 0), byte(p, 1), byte(p, 2), byte(p, 3), byte(p, 4), byte(p, 5),
                0x80 | (byte(p, 6) & 0x0F), byte(p, 7), 0x80 | (byte(s, 0) & 0x3F), byte(s, 1),
                byte(s, 2), byte(s, 3), byte(s, 4), byte(s, 5), byte(s, 6), byte(s, 7)
            ))
    }
}

/// The queues of a session.
struct SessionQueues {
    let root: DispatchQueue
    let request: DispatchQueue
    let explicitSerialization: DispatchQueue?
    let serialization: DispatchQueue
    let callback: DispatchQueue

    /// Fills in what was not given, as children of `root` by name.
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
    }
}
