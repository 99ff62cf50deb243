import FoundationEssentials
package import OutletHTTP

/// An adapter that is also called for each hop of a redirect, before the hop is sent.
///
/// It may refuse the hop, answer it without the network, or change its URL. Its changes of header
/// fields and body are ignored for hops: what it adds was meant for another URL and may be secret.
package protocol RedirectGuard: RequestAdapter {}

extension HTTPRequest {
    /// Whether this request is the hop of a redirect.
    package var isRedirected: Bool { hasContext && context.hop > 0 }

    /// Returns the request with the number of redirects that led to it in its context.
    func redirected(_ count: Int) -> HTTPRequest {
        var request = self
        request.context.hop = count
        return request
    }

    /// Sets the id and attempt of the context, unless they have these values already.
    mutating func describe(as id: UUID, attempt: Int = 1) {
        guard !hasContext || context.id != id || context.attempt != attempt else { return }
        context.describe(as: id, attempt: attempt)
    }

    /// Returns the request to send after an adapter has changed this one: the adapted request, or
    /// for the hop of a redirect only the changes that a ``RedirectGuard`` may make.
    package func accepting(_ adapted: HTTPRequest) -> HTTPRequest {
        guard isRedirected else { return adapted }
        var next = self
        next.context = adapted.context
        // An adapter that returns a new request does not change the hop's number.
        next.context.hop = context.hop
        guard adapted.url != url else { return next }
        next.url = adapted.url
        if !Origin.isSame(url, adapted.url) { RedirectRules.dropSecrets(of: &next) }
        return next
    }
}
