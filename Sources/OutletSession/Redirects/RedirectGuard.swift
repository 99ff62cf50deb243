package import OutletHTTP

/// An adapter that is also asked about each hop that redirects lead to, before it is sent.
///
/// It may refuse the hop, answer it in the network's place, or change its address. The fields and the
/// body are the hop's own, whatever it makes of them: what it adds was meant for another address, and
/// may be a secret.
package protocol RedirectGuard: RequestAdapter {}

extension HTTPRequest {
    private static let redirects = "request.redirects"

    /// Whether a redirect has led to this request.
    package var isRedirected: Bool { attributes[Self.redirects] != nil }

    /// The request as guards are asked about it, after so many redirects.
    func redirected(_ count: Int) -> HTTPRequest {
        var request = self
        request.attributes[Self.redirects] = "\(count)"
        return request
    }

    /// What is sent after somebody has adapted this request: all that was made of it, or, where a
    /// redirect has led to it, what a ``RedirectGuard`` may make of it.
    package func accepting(_ adapted: HTTPRequest) -> HTTPRequest {
        guard isRedirected else { return adapted }
        var next = self
        next.attributes = adapted.attributes
        guard adapted.url != url else { return next }
        next.url = adapted.url
        if !Origin.isSame(url, adapted.url) { RedirectRules.dropSecrets(of: &next) }
        return next
    }
}
