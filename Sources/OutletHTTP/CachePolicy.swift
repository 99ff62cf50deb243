extension HTTPRequest {
    /// Whether a stored response may answer a request.
    public enum CachePolicy: Sendable, Hashable, CaseIterable {
        /// As HTTP says (RFC 9111): fresh responses answer, stale ones are validated first.
        case useProtocolCachePolicy
        /// Never; the answer is stored.
        case reloadIgnoringLocalCacheData
        /// Never, and caches on the way are told so (`Cache-Control: no-cache`); the answer is stored.
        case reloadIgnoringLocalAndRemoteCacheData
        /// However old it is; only if there is none, the server is asked.
        case returnCacheDataElseLoad
        /// However old it is; if there is none, the request fails.
        case returnCacheDataDontLoad
        /// Only once the server has said that it still holds.
        case reloadRevalidatingCacheData
    }
}
