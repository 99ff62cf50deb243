package import FoundationEssentials
import OutletHTTP

/// A stored credential that answers a proxy's challenge.
struct ProxyRound: Sendable {
    /// The proxy, as the transport names it.
    let proxy: String
    let answer: AuthenticationRound

    /// Returns a proxy's URL.
    static func url(of proxy: String) -> URL? { .proxy(proxy) }
}

extension URL {
    /// Returns a proxy's URL; a proxy without a scheme speaks HTTP.
    package static func proxy(_ proxy: String) -> URL? {
        URL(string: proxy.containsBytes(of: "://") ? proxy : "http://\(proxy)")
    }
}
