import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The rules for the next request after a redirect (RFC 9110 §15.4).
enum RedirectRules {
    /// Returns the request to send after a redirect, or the reason why it cannot be followed.
    ///
    /// - 301 and 302 change POST to GET; 303 changes every method except HEAD to GET; 307 and 308
    ///   change nothing.
    /// - If the body is dropped, the header fields that describe it are removed, too: all
    ///   `Content-*`, `Digest`, `Transfer-Encoding`, `Trailer` and `Expect`.
    /// - If the origin changes, `Host` and all fields that ``Redaction`` treats as secret are
    ///   removed: `Authorization`, `Cookie`, `X-Api-Key` and similar ones, and a `Referer` in which
    ///   it finds a secret.
    /// - User name and password in the location are ignored; those of the request's URL are kept
    ///   only if the origin stays the same.
    /// - A request with a body, or for a WebSocket, is redirected from https to http only if the
    ///   session allows it; `Referer` is removed then (RFC 9110 §10.1.3).
    /// - The fragment is kept unless the location has one (RFC 9110 §10.2.2).
    /// - A WebSocket handshake may be redirected to `ws:` and `wss:` URLs, too.
    ///
    /// - Parameters:
    ///   - request: The request that was redirected, without what was added for this hop only.
    ///   - response: The redirect response.
    ///   - opensWebSocket: Whether the request is a WebSocket handshake.
    ///   - allowsBodiesInClear: ``SessionConfiguration/allowsInsecureRedirectsWithBodies``.
    ///   - upgrade: Returns the request with an https URL if HSTS applies to its host; otherwise
    ///     `nil`.
    /// - Returns: The next request, or an error with the code `redirectToNonExistentLocation`.
    static func next(
        after request: HTTPRequest, response: HTTPResponse, opensWebSocket: Bool = false,
        allowsBodiesInClear: Bool = false, upgrade: (HTTPRequest) -> HTTPRequest? = { _ in nil }
    ) -> Result<HTTPRequest, TransferError> {
        guard let location = response.headers.reference(for: "Location"),
            let base = request.url, var target = resolve(location, against: base)
        else {
            return .failure(invalid(response, "its Location is not an address"))
        }
        if opensWebSocket { target = target.handshakeAddress }
        var next = request
        let (from, to): (Origin, Origin)
        do throws(OriginError) {
            from = try Origin(base)
            // `Origin` also accepts ws and wss, but only a WebSocket handshake may be redirected
            // there.
            guard let scheme = target.scheme?.lowercasedASCII, scheme == "http" || scheme == "https"
            else { throw .unsupportedScheme(target.scheme ?? "") }
            next.url = target.withoutUserInfo
            next = upgrade(next) ?? next
            to = try next.url.map { url throws(OriginError) in try Origin(url) } ?? from
        } catch {
            return .failure(invalid(response, "its Location: \(error)"))
        }
        let becomesGET =
            switch response.statusCode {
            case 301, 302: request.method == .post
            case 303: request.method != .head && request.method != .get
            default: false
            }
        if becomesGET {
            next.method = .get
            next.body = .none
            for name in next.headers.map(\.name) where describesBody(name) {
                next.headers.remove(name: name)
            }
        }
        if from == to {
            next.url = next.url?.with(userInfoOf: base)
        } else {
            dropSecrets(of: &next)
        }
        guard from.isSecure, !to.isSecure else { return .success(next) }
        next.headers.remove(name: "Referer")
        if next.hasBody || opensWebSocket, !allowsBodiesInClear {
            let what = opensWebSocket ? "messages" : "the request's body"
            return .failure(
                invalid(
                    response,
                    "it would send \(what) in clear to \(to), which \(opensWebSocket ? "were" : "was")"
                        + " to be sent encrypted",
                    advice: "see SessionConfiguration.allowsInsecureRedirectsWithBodies"))
        }
        return .success(next)
    }

    /// Removes the header fields that another origin must not receive.
    static func dropSecrets(of request: inout HTTPRequest) {
        let rules = Redaction.standard
        let secrets = request.headers.filter { field in
            rules.hidesHeader(named: field.name)
                || field.name.equalsIgnoringCase("Referer")
                    && !rules.value(of: field).hasSameBytes(as: field.value)
        }
        for name in secrets.map(\.name) + ["Host"] { request.headers.remove(name: name) }
    }

    /// Whether a header field describes the body of a request, so that it is sent with it only.
    private static func describesBody(_ name: String) -> Bool {
        let name = name.lowercasedASCII
        return name.startsWithBytes(of: "content-")
            || ["digest", "transfer-encoding", "trailer", "expect"].contains(name)
    }

    private static func resolve(_ location: String, against base: URL) -> URL? {
        // An empty reference means the same document (RFC 3986 §4.4); `URL` does not accept it.
        if location.isEmpty { return base }
        guard let relative = URL(escaping: location, relativeTo: base),
            var components = URLComponents(url: relative, resolvingAgainstBaseURL: true)
        else { return nil }
        if components.fragment == nil { components.fragment = base.fragment() }
        return components.url
    }

    private static func invalid(
        _ response: HTTPResponse, _ reason: String, advice: String = ""
    ) -> TransferError {
        TransferError(
            code: .redirectToNonExistentLocation, stage: .receiving, host: response.url?.host(),
            reason: "redirect (\(response.statusCode)) cannot be followed: \(reason)",
            advice: advice)
    }
}
