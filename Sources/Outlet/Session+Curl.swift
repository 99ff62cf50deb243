public import Dispatch
import OutletCurl
public import OutletSession
public import OutletTransport

extension Session {
    /// A session with the default settings.
    ///
    /// It is made at the first access and never released.
    public static let `default` = Session(transport: usualTransport, configuration: usual)

    /// The session of providers that are made without one.
    ///
    /// It uses the transport of ``default``, so it shares its connections. Its cookie and HSTS
    /// storages are separate. Its requests do not start by themselves: the provider starts them.
    static let ofProviders = Session(
        transport: usualTransport, configuration: usual, startRequestsImmediately: false)

    private static let usual = SessionConfiguration.default
    private static let usualTransport = CurlTransport(configuration: usual)

    /// Makes a session with its own libcurl transport.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the session and of its transport.
    ///   - rootQueue: The queue of the session's internal work; the session targets a serial queue
    ///     of its own at it.
    ///   - startRequestsImmediately: Whether a request starts when its first response handler is
    ///     added; if `false`, it starts with `resume()`.
    ///   - requestSetup: When requests are set up.
    ///   - requestQueue: Where requests are converted and adapted; if `nil`, a serial queue that
    ///     targets `rootQueue`.
    ///   - serializationQueue: Where responses are validated and serialized; if `nil`, this depends
    ///     on the request's first response handler: see `Request`.
    ///   - callbackQueue: Where completion handlers run that were added without a queue; a serial
    ///     queue of the session's own if `nil`.
    ///   - delivery: Whether those completion handlers run on `callbackQueue`, or inline.
    ///   - interceptor: Adapts and retries all requests, before their own interceptors.
    ///   - serverTrustManager: Decides which servers are trusted; if `nil`, the transport's
    ///     certificate and host name checks decide.
    ///   - redirectHandler: Decides about redirects of requests without a handler of their own; if
    ///     `nil`, redirects are followed.
    ///   - cachedResponseHandler: Decides what is stored in `SessionConfiguration.urlCache`; if
    ///     `nil`, every response that HTTP lets a private cache store.
    ///   - layers: Make layers around the transport (see `TransportLayer`), the outermost first.
    ///     They see every request that is sent: each attempt and each redirect, but not a request
    ///     that the cache answers.
    ///   - middleware: Surrounds all calls, the outermost first.
    ///   - plugins: Extensions of all calls, such as a host of native plugins. Their adapters and
    ///     retriers run after `interceptor`; their layers and middleware are inside `layers` and
    ///     `middleware`.
    ///   - eventMonitors: Receive the events of all requests.
    public convenience init(
        configuration: SessionConfiguration = .default,
        rootQueue: DispatchQueue = DispatchQueue(label: "outlet.session.rootQueue"),
        startRequestsImmediately: Bool = true,
        requestSetup: RequestSetup = .lazy,
        requestQueue: DispatchQueue? = nil,
        serializationQueue: DispatchQueue? = nil,
        callbackQueue: DispatchQueue? = nil,
        delivery: CallbackDelivery = .queued,
        interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil,
        redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        layers: [@Sendable (_ next: any Transport) -> any Transport] = [],
        middleware: [any Middleware] = [],
        plugins: (any SessionPlugins)? = nil,
        eventMonitors: [any EventMonitor] = []
    ) {
        self.init(
            transport: CurlTransport(configuration: configuration), configuration: configuration,
            rootQueue: rootQueue, startRequestsImmediately: startRequestsImmediately,
            requestSetup: requestSetup, requestQueue: requestQueue,
            serializationQueue: serializationQueue,
            callbackQueue: callbackQueue, delivery: delivery, interceptor: interceptor,
            serverTrustManager: serverTrustManager, redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler, layers: layers,
            middleware: middleware, plugins: plugins, eventMonitors: eventMonitors)
    }
}
