public import OutletPluginKit
import Synchronization

/// Adds an access token to requests to configured servers (RFC 6749, RFC 6750); fetches and
/// refreshes the token.
///
/// Sets `Authorization: Bearer` on each request that is sent to a configured origin, but not on
/// redirects to other origins, nor on requests that have the field already. A token is fetched once
/// for all requests that wait for it, and replaced before it expires. After a 401 another token is
/// fetched, and the request is retried once.
///
/// Configuration: see ``Settings``.
final class OAuth2: RequestFinalizing, RequestRetrying, CallTracking {
    static let info = PluginInfo(
        id: "dev.outlet.oauth2", version: "1.0.0", name: "OAuth 2.0",
        summary: "Fetches access tokens, and sends them to the servers that they are for.",
        configurationSchema: Settings.schema, permissions: ["net:*"],
        requiredServices: ["outlet.http/1"])

    private let origins: Set<Origin>
    private let tokens: TokenStore
    private let calls = Mutex<[String: Call]>([:])

    /// The state of a call.
    private struct Call {
        /// The number of the token that the last request was sent with; `nil` if it had none.
        var token: Int?
        /// Whether the request was retried because of a 401.
        var isRepeated = false
    }

    init(host: Host, configuration: Configuration) throws {
        let settings = try Settings(json: configuration.json)
        origins = settings.origins
        tokens = TokenStore(settings: settings, host: host)
    }

    func finalize(_ request: MutableRequest) async throws {
        let current = request.current
        guard current.header("Authorization") == nil, let origin = Origin(ofAddress: current.url),
            origins.contains(origin),
            // A reverse proxy may select the server by this field.
            current.header("Host").map({ Origin("\(origin.scheme)://\($0)") == origin }) ?? true
        else {
            // A 401 to this request says nothing about the token of an earlier one.
            calls.withLock { $0[current.id]?.token = nil }
            return
        }
        let token = try await tokens.token()
        try request.setHeader("Authorization", "Bearer \(token.value)")
        let id = current.id
        guard !id.isEmpty else { return }
        calls.withLock { $0[id, default: Call()].token = token.number }
    }

    func retry(_ request: Request, after response: Response, attempt: Int) async -> RetryDecision {
        guard response.status == 401 else { return .doNotRetry }
        let id = request.id
        let used = calls.withLock { calls -> (token: Int, isRepeated: Bool)? in
            guard let call = calls[id], let token = call.token else { return nil }
            calls[id]?.isRepeated = true
            return (token, call.isRepeated)
        }
        guard let used else { return .doNotRetry }
        tokens.invalidate(used.token)
        return used.isRepeated ? .doNotRetry : .retry
    }

    func requestDone(id: String) {
        calls.withLock { _ = $0.removeValue(forKey: id) }
    }
}

private let module = PluginModule(OAuth2.self)

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The symbol that the host looks up; its type is checked against `outlet/entry.h`.
@c @implementation
public func outlet_module_v1(_ hostMinor: UInt32) -> UnsafePointer<outlet_module>? {
    module.table
}
