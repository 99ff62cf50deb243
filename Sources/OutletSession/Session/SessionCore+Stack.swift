import Dispatch
import OutletLayers
import OutletTransport

extension SessionCore {
    /// What carries each hop of the session's requests, from the last to the first that sees it.
    ///
    /// What the configuration does not ask for is not there.
    static func stack(
        around transport: any Transport, _ configuration: SessionConfiguration,
        _ cachedResponseHandler: (any CachedResponseHandler)?, handlerQueue: DispatchQueue,
        _ deadlines: Deadlines
    ) -> any Transport {
        let verifies = configuration.transport.verifiesCertificates
        var stack = transport
        if let cache = configuration.urlCache {
            stack = CacheLayer(
                around: stack, cache: cache, configuration: configuration.transport,
                handler: cachedResponseHandler, handlerQueue: handlerQueue,
                handlerTimeout: configuration.interceptorTimeout, deadlines: deadlines)
        }
        // Above the cache, whose keys hold who asks.
        if let storage = configuration.httpCookieStorage {
            stack = CookieLayer(
                around: stack, storage: storage, accepts: configuration.httpCookieAcceptPolicy,
                sends: configuration.httpShouldSetCookies, verifiesCertificates: verifies)
        }
        // Above the cookies, so that those of a challenge go along with its answer.
        stack = AuthenticationLayer(
            around: stack, storage: configuration.urlCredentialStorage,
            configuration: configuration.transport, queue: handlerQueue)
        // Above authentication, so that those who ask alike are challenged once.
        stack = CoalescingLayer(around: stack)
        // Above all that look at the address.
        if let storage = configuration.hsts {
            stack = HSTSLayer(around: stack, storage: storage, verifiesCertificates: verifies)
        }
        return stack
    }
}
