import FoundationEssentials
import OutletHTTP

/// What the next request of a redirect is (RFC 9110 §15.4), as a value.
enum RedirectRules {
    /// The request to send next, or why there is none.
    ///
    /// - 301 and 302 turn POST into GET, 303 everything but HEAD; 307 and 308 change nothing.
    /// - A dropped body takes its `Content-*` fields with it.
    /// - Another origin gets no `Authorization`, `Cookie` or `Proxy-Authorization`.
    /// - A fragment is kept unless the location brings one (§10.2.2).
    /// - A WebSocket's handshake may lead to `ws:` and `wss:` as well.
    static func next(
        after request: HTTPRequest, response: HTTPResponse, opensWebSocket: Bool = false
    ) -> Result<HTTPRequest, TransferError> {
        guard let location = response.headers.values(for: "Location").first,
            let base = request.url, var target = resolve(location, against: base)
        else {
            return .failure(invalid(response, "its Location is not an address"))
        }
        if opensWebSocket { target = target.handshakeAddress }
        guard let scheme = target.scheme?.lowercased(), ["http", "https"].contains(scheme),
            target.host()?.isEmpty == false
        else {
            return .failure(
                invalid(
                    response,
                    "its Location leads to \(target.scheme ?? "no"): only http and https are followed"
                ))
        }
        var next = request
        next.url = target
        let becomesGET =
            switch response.statusCode {
            case 301, 302: request.method == .post
            case 303: request.method != .head && request.method != .get
            default: false
            }
        if becomesGET {
            next.method = .get
            next.body = .none
            for name in [
                "Content-Type", "Content-Length", "Content-Encoding", "Content-Language",
                "Content-Location", "Transfer-Encoding", "Expect",
            ] {
                next.headers.remove(name: name)
            }
        }
        if !isSameOrigin(base, target) {
            for name in ["Authorization", "Cookie", "Proxy-Authorization", "Host"] {
                next.headers.remove(name: name)
            }
        }
        return .success(next)
    }

    private static func resolve(_ location: String, against base: URL) -> URL? {
        guard let relative = URL(string: location, relativeTo: base),
            var components = URLComponents(url: relative, resolvingAgainstBaseURL: true)
        else { return nil }
        if components.fragment == nil { components.fragment = base.fragment() }
        return components.url
    }

    /// Same scheme, host and port (RFC 6454 §4).
    static func isSameOrigin(_ a: URL?, _ b: URL?) -> Bool {
        guard let a, let b else { return false }
        guard let origin = try? Origin(a) else { return false }
        return origin == (try? Origin(b))
    }

    private static func invalid(_ response: HTTPResponse, _ reason: String) -> TransferError {
        TransferError(
            code: .redirectToNonExistentLocation, stage: .receiving, host: response.url?.host(),
            reason: "redirect (\(response.statusCode)) cannot be followed: \(reason)")
    }
}

extension HTTPResponse {
    /// Whether this redirects to somewhere (RFC 9110 §15.4); 304 and 300 do not.
    var isRedirect: Bool {
        switch statusCode {
        case 301, 302, 303, 307, 308: !headers.values(for: "Location").isEmpty
        default: false
        }
    }
}
