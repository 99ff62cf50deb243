import Dispatch
import OutletLayers
import OutletTransport

extension SessionCore {
    /// Builds the layers around a transport, the innermost first; returns the outermost.
    ///
    /// Leaves out the layers that the configuration does not need.
    static func stack(
        around transport: any Transport, _ configuration: SessionConfiguration,
        _ cachedResponseHandler: (any CachedResponseHandler)?, handlerQueue: DispatchQueue,
        _ deadlines: Deadlines
    ) -> any Transport {
        let verifies = configuration.transport.verifiesCertificates
        var stack = transport
        let cookies = configuration.httpCookieStorage
        let accepts = configuration.httpCookieAcceptPolicy
        // With a cache, HSTS policies and cookies are stored inside of it: what the cache answers
        // sets none, and costs less without handlers for that.
        let caches = configuration.urlCache != nil
        if caches, let storage = configuration.hsts {
            stack = HSTSLayer(
                around: stack, storage: storage, verifiesCertificates: verifies, upgrades: false,
                learns: true)
        }
        if caches, accepts != .never, let cookies {
            stack = CookieLayer(
                around: stack, storage: cookies, accepts: accepts, sends: false,
                verifiesCertificates: verifies)
        }
        if let cache = configuration.urlCache {
            stack = CacheLayer(
                around: stack, cache: cache, configuration: configuration.transport,
                handler: cachedResponseHandler, handlerQueue: handlerQueue,
                handlerTimeout: configuration.interceptorTimeout, deadlines: deadlines)
        }
        // Outside of the cache, whose keys contain the cookies that are sent.
        if let cookies {
            stack = CookieLayer(
                around: stack, storage: cookies,
                accepts: caches ? .never : accepts,
                sends: configuration.httpShouldSetCookies, verifiesCertificates: verifies)
        }
        // Outside of the cookies, so that cookies set by a challenge are sent with the credential.
        stack = AuthenticationLayer(
            around: stack, storage: configuration.urlCredentialStorage,
            configuration: configuration.transport, queue: handlerQueue)
        // Outside of authentication, so that equal requests are challenged once.
        stack = CoalescingLayer(
            around: stack, cookies: configuration.httpShouldSetCookies ? cookies : nil,
            credentials: configuration.urlCredentialStorage)
        // Outside of all layers that look at the URL.
        if let storage = configuration.hsts {
            stack = HSTSLayer(
                around: stack, storage: storage, verifiesCertificates: verifies, upgrades: true,
                learns: !caches)
        }
        return stack
    }
}
