package import FoundationEssentials
import OutletHTTP

/// A stored credential that a proxy is answered with.
struct ProxyRound: Sendable {
    /// The proxy, as the transport names it.
    let proxy: String
    let answer: AuthenticationRound

    /// A proxy's address.
    static func url(of proxy: String) -> URL? { .proxy(proxy) }
}

extension URL {
    /// A proxy's address; those without a scheme speak HTTP.
    package static func proxy(_ proxy: String) -> URL? {
        URL(string: proxy.containsBytes(of: "://") ? proxy : "http://\(proxy)")
    }
}
