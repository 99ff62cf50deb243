package import FoundationEssentials
package import OutletHTTP

/// A response that a plugin has given to a request in place of the network.
///
/// It is stored in the request's context until the layer of the plugins plays it, so that later
/// interceptors do not lose it. A request with such an answer never shares its transfer.
package final class GivenAnswer: Sendable {
    /// The status code; the response has the URL of the request.
    package let status: Int
    package let headers: HTTPHeaders
    package let body: Data
    private let played = OnceFlag()

    package init(status: Int, headers: HTTPHeaders, body: Data) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Returns true the first time only: a redirect that follows the answer goes to the network.
    package func claim() -> Bool { played.claim() }

    /// Whether ``claim()`` has not been called.
    package var isPending: Bool { !played.isClaimed }

    fileprivate enum Key: RequestContextKey { typealias Value = GivenAnswer }
}

extension HTTPRequest {
    /// The response given in place of the network; `nil` if the request goes to the network.
    package var givenAnswer: GivenAnswer? {
        get { hasContext ? context[GivenAnswer.Key.self] : nil }
        set { context[GivenAnswer.Key.self, describing: .call] = newValue }
    }
}
