public import Dispatch
import OutletCurl
public import OutletSession
public import OutletTransport

extension Session {
    /// A session with the usual settings, made when first asked for, kept for good.
    public static let `default` = Session(transport: usualTransport, configuration: usual)

    /// The session of providers that are given none: over the same connections, with the same cookies;
    /// its requests start when the provider says so.
    static let ofProviders = Session(
        transport: usualTransport, configuration: usual, startRequestsImmediately: false)

    private static let usual = SessionConfiguration.default
    private static let usualTransport = CurlTransport(configuration: usual)

    /// Makes a session that speaks through libcurl.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - rootQueue: Where the session's own work runs, one thing after the other.
    ///   - startRequestsImmediately: Whether a request starts when its first handler is added.
    ///   - requestSetup: When requests are made ready.
    ///   - requestQueue: Where requests are made and adapted; one on `rootQueue` if `nil`.
    ///   - serializationQueue: Where responses are serialized; if `nil`, where the first
    ///     completion is wanted.
    ///   - callbackQueue: Where completions run that name no queue; a serial one if `nil`.
    ///   - delivery: Whether completions without a queue need one at all.
    ///   - interceptor: Adapts and retries all requests, before their own interceptors.
    ///   - serverTrustManager: Decides which servers are trusted; if `nil`, those with a certificate
    ///     of a known authority.
    ///   - redirectHandler: Decides about redirects; they are followed if `nil`.
    ///   - cachedResponseHandler: Decides what is stored in the cache; all that may be if `nil`.
    ///   - layers: See every hop of every request as it goes on the wire, the first one first; a stored
    ///     response's is none.
    ///   - middleware: Surrounds all calls, the outermost first.
    ///   - plugins: What else takes part in all calls, such as a host of native plugins.
    ///   - eventMonitors: Watch all requests.
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
