import OutletHTTP

/// A request as the application and the session's settings make it.
///
/// What the session adds for one hop is not in it, so that none of it goes along to the next hop: a
/// redirect, or the same request again with a credential.
struct ConfiguredRequest: Sendable {
    var request: HTTPRequest
}
