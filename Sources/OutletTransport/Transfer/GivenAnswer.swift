package import FoundationEssentials
package import OutletHTTP

/// An answer that somebody gave a request in the network's place, on its way to the layer that plays it.
///
/// Part of the request's context: it survives interceptors that come later, and is for this request
/// alone, whose transfer is not shared then.
package final class GivenAnswer: Sendable {
    /// The head; its address is that of the request.
    package let status: Int
    package let headers: HTTPHeaders
    package let body: Data
    private let played = OnceFlag()

    package init(status: Int, headers: HTTPHeaders, body: Data) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Whether it is to be played: once, so that a hop or a round that it leads to goes to the network.
    package func claim() -> Bool { played.claim() }

    fileprivate enum Key: RequestContextKey { typealias Value = GivenAnswer }
}

extension HTTPRequest {
    /// What is played in the network's place; `nil` where the request goes to the network.
    package var givenAnswer: GivenAnswer? {
        get { hasContext ? context[GivenAnswer.Key.self] : nil }
        set { context[GivenAnswer.Key.self] = newValue }
    }
}
