package import FoundationEssentials
import OutletHTTP

extension URL {
    /// The URL with `http` for `ws` and `https` for `wss`, to which a WebSocket's handshake is sent
    /// (RFC 6455 §3); unchanged for other schemes.
    package var handshakeAddress: URL { withScheme(from: ["ws": "http", "wss": "https"]) }

    /// The URL with `ws` for `http` and `wss` for `https`, the reverse of ``handshakeAddress``;
    /// unchanged for other schemes.
    package var webSocketAddress: URL { withScheme(from: ["http": "ws", "https": "wss"]) }

    private func withScheme(from schemes: [String: String]) -> URL {
        guard let scheme = scheme.flatMap({ schemes[$0.lowercasedASCII] }),
            var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        components.scheme = scheme
        return components.url ?? self
    }
}
