package import FoundationEssentials
import OutletHTTP

extension URL {
    /// The address that a WebSocket's handshake goes to (RFC 6455 §3); any other is its own.
    package var handshakeAddress: URL { withScheme(from: ["ws": "http", "wss": "https"]) }

    /// The address of the WebSocket whose handshake goes to this one; any other is its own.
    package var webSocketAddress: URL { withScheme(from: ["http": "ws", "https": "wss"]) }

    private func withScheme(from schemes: [String: String]) -> URL {
        guard let scheme = scheme.flatMap({ schemes[$0.lowercasedASCII] }),
            var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        components.scheme = scheme
        return components.url ?? self
    }
}
