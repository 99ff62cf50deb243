import OutletHTTP

/// A request as the application and the session's settings make it.
///
/// What the session adds for one hop is not in it, so that none of it goes along to the next hop: a
/// redirect, or the same request again with a credential.
struct ConfiguredRequest: Sendable {
    var request: HTTPRequest
}

/// A request as one server gets it: with the session's cookies for that server.
struct DressedRequest: Sendable {
    let request: HTTPRequest

    init(_ configured: ConfiguredRequest, by policies: WirePolicies) {
        request = policies.withCookies(configured.request)
    }
}
