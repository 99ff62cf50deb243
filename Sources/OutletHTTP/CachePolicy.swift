extension HTTPRequest {
    /// When the cache may answer a request with a stored response.
    public enum CachePolicy: Sendable, Hashable, CaseIterable {
        /// Follows HTTP (RFC 9111): returns fresh responses, and validates stale ones first.
        case useProtocolCachePolicy
        /// Always loads from the server; the response may be stored.
        case reloadIgnoringLocalCacheData
        /// Always loads from the server, and sends `Cache-Control: no-cache` so that proxies do not
        /// answer from their caches either; the response may be stored.
        case reloadIgnoringLocalAndRemoteCacheData
        /// Returns a stored response of any age; loads from the server if there is none.
        case returnCacheDataElseLoad
        /// Returns a stored response of any age; the request fails if there is none.
        case returnCacheDataDontLoad
        /// Returns a stored response only after the server has validated it.
        case reloadRevalidatingCacheData
    }
}
