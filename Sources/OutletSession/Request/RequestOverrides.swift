import OutletHTTP
import OutletLayers
import OutletTransport

/// What few requests have: settings of their own, somebody to answer or to wait for.
///
/// Behind one reference, because each stored in the request would cost every request its release.
final class RequestOverrides: @unchecked Sendable {
    // because it is read and written under the lock of its request only.

    var credential: Credential?
    var memory: AttemptMemory?
    var redirectHandler: (any RedirectHandler)?
    var cachedResponseHandler: (any CachedResponseHandler)?
    var wait: (any PendingWait)?
    var coalesces: Bool?
    var priority: TransferPriority?
    var redirectBody: DroppedBody?
    var interception: Interception?
    /// What middleware keeps until the request is over.
    var lifetime: RequestLifetime?
}

extension Request.Mutable {
    /// What this request has of its own, made on first use.
    private mutating func special() -> RequestOverrides {
        if let specials { return specials }
        let made = RequestOverrides()
        specials = made
        return made
    }

    /// What answers authentication challenges, if it was said for this request.
    var credential: Credential? {
        get { specials?.credential }
        set { if newValue != nil || specials != nil { special().credential = newValue } }
    }

    /// What the layers have found out in this attempt.
    var memory: AttemptMemory? {
        get { specials?.memory }
        set { if newValue != nil || specials != nil { special().memory = newValue } }
    }

    /// What decides about redirects, if it was said for this request.
    var redirectHandler: (any RedirectHandler)? {
        get { specials?.redirectHandler }
        set { special().redirectHandler = newValue }
    }

    /// What decides about storing the response, if it was said for this request.
    var cachedResponseHandler: (any CachedResponseHandler)? {
        get { specials?.cachedResponseHandler }
        set { special().cachedResponseHandler = newValue }
    }

    /// The answer or the time this is waiting for, between its steps.
    var wait: (any PendingWait)? {
        get { specials?.wait }
        set { if newValue != nil || specials != nil { special().wait = newValue } }
    }

    /// The session's middleware at work around this call.
    var interception: Interception? {
        get { specials?.interception }
        set { if newValue != nil || specials != nil { special().interception = newValue } }
    }

    /// Whether transfers may be shared, if it was said for this request.
    var coalesces: Bool? {
        get { specials?.coalesces }
        set { special().coalesces = newValue }
    }

    /// Which of several waiting requests goes first, if it was said for this request.
    var priority: TransferPriority? {
        get { specials?.priority }
        set { special().priority = newValue }
    }

    /// The body under way, where it is that of a redirect that is followed.
    var redirectBody: DroppedBody? {
        get { specials?.redirectBody }
        set { if newValue != nil || specials != nil { special().redirectBody = newValue } }
    }

    /// Whether the transfer that has ended as cancelled was cut because its answer, a redirect, went on.
    mutating func takeRedirectCut() -> Bool {
        defer { redirectBody = nil }
        return redirectBody?.isCut == true
    }
}
