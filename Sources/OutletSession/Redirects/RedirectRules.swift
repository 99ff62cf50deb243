import FoundationEssentials
import OutletHTTP
import OutletTransport

/// What the next request of a redirect is (RFC 9110 §15.4), as a value.
enum RedirectRules {
    /// The request to send next, or why there is none.
    ///
    /// - 301 and 302 turn POST into GET, 303 everything but HEAD; 307 and 308 change nothing.
    /// - A dropped body takes its `Content-*` fields with it.
    /// - Another origin gets no `Host`, and none of the fields that ``Redaction`` calls secret:
    ///   `Authorization`, `Cookie`, `X-Api-Key` and the like.
    /// - User name and password in the location are ignored; those of the address stay with its origin.
    /// - A body that goes along leaves https only if the session allows that.
    /// - A fragment is kept unless the location brings one (§10.2.2).
    /// - A WebSocket's handshake may lead to `ws:` and `wss:` as well.
    ///
    /// - Parameters:
    ///   - request: What was redirected, without what was added for this hop.
    ///   - response: The redirect.
    ///   - opensWebSocket: Whether the request is a WebSocket's handshake.
    ///   - allowsBodiesInClear: ``SessionConfiguration/allowsInsecureRedirectsWithBodies``.
    ///   - upgrade: The same request over https, where the host wants that.
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
            // An origin may be of ws and wss as well, where only a WebSocket's handshake may go.
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
            for name in [
                "Content-Type", "Content-Length", "Content-Encoding", "Content-Language",
                "Content-Location", "Transfer-Encoding", "Expect",
            ] {
                next.headers.remove(name: name)
            }
        }
        if from == to {
            next.url = next.url?.with(userInfoOf: base)
        } else {
            dropSecrets(of: &next)
        }
        if from.isSecure, !to.isSecure, next.hasBody, !allowsBodiesInClear {
            return .failure(
                invalid(
                    response,
                    "it would send the request's body in clear to \(to), which was sent encrypted",
                    advice: "see SessionConfiguration.allowsInsecureRedirectsWithBodies"))
        }
        return .success(next)
    }

    /// Takes out of a request what another origin is not to see.
    static func dropSecrets(of request: inout HTTPRequest) {
        let secrets = request.headers.map(\.name).filter(Redaction.standard.hidesHeader)
        for name in secrets + ["Host"] { request.headers.remove(name: name) }
    }

    private static func resolve(_ location: String, against base: URL) -> URL? {
        // The same document (RFC 3986 §4.4), which `URL` does not take for an address.
        if location.isEmpty { return base }
        guard let relative = URL(string: location, relativeTo: base),
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
