import FoundationEssentials
package import OutletHTTP

/// An adapter that is also asked about each hop that redirects lead to, before it is sent.
///
/// It may refuse the hop, answer it in the network's place, or change its address. The fields and the
/// body are the hop's own, whatever it makes of them: what it adds was meant for another address, and
/// may be a secret.
package protocol RedirectGuard: RequestAdapter {}

extension HTTPRequest {
    /// Whether a redirect has led to this request.
    package var isRedirected: Bool { hasContext && context.hop > 0 }

    /// The request as guards are asked about it, and as it is sent, after so many redirects.
    func redirected(_ count: Int) -> HTTPRequest {
        var request = self
        request.context.hop = count
        return request
    }

    /// Notes whose request this is, unless that is known.
    mutating func describe(as id: UUID, attempt: Int = 1) {
        guard !hasContext || context.id != id || context.attempt != attempt else { return }
        context.describe(as: id, attempt: attempt)
    }

    /// What is sent after somebody has adapted this request: all that was made of it, or, where a
    /// redirect has led to it, what a ``RedirectGuard`` may make of it.
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
