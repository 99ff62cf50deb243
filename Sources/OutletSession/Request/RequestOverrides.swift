import OutletHTTP
import OutletLayers
import OutletTransport

/// Settings and state that few requests have.
///
/// Behind one reference, because each property stored in the request would cost every request a
/// release.
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
    /// Objects that middleware keeps until the request has ended.
    var lifetime: RequestLifetime?
    /// Abandons a pending decision of the ``OutcomeMiddleware``.
    var abandonOutcome: (@Sendable () -> Void)?
}

extension Request.Mutable {
    /// The request's overrides, created on first use.
    private mutating func special() -> RequestOverrides {
        if let overrides { return overrides }
        let made = RequestOverrides()
        overrides = made
        return made
    }

    /// The credential set for this request.
    var credential: Credential? {
        get { overrides?.credential }
        set { if newValue != nil || overrides != nil { special().credential = newValue } }
    }

    /// The state of the layers in this attempt.
    var memory: AttemptMemory? {
        get { overrides?.memory }
        set { if newValue != nil || overrides != nil { special().memory = newValue } }
    }

    /// The redirect handler set for this request.
    var redirectHandler: (any RedirectHandler)? {
        get { overrides?.redirectHandler }
        set { special().redirectHandler = newValue }
    }

    /// The cached-response handler set for this request.
    var cachedResponseHandler: (any CachedResponseHandler)? {
        get { overrides?.cachedResponseHandler }
        set { special().cachedResponseHandler = newValue }
    }

    /// The answer or delay that the request is waiting for.
    var wait: (any PendingWait)? {
        get { overrides?.wait }
        set { if newValue != nil || overrides != nil { special().wait = newValue } }
    }

    /// The state of the session's middleware around this call.
    var interception: Interception? {
        get { overrides?.interception }
        set { if newValue != nil || overrides != nil { special().interception = newValue } }
    }

    /// Objects that middleware keeps until the request has ended.
    var lifetime: RequestLifetime? {
        get { overrides?.lifetime }
        set { if newValue != nil || overrides != nil { special().lifetime = newValue } }
    }

    /// Abandons a pending decision of the ``OutcomeMiddleware``; `nil` if none is pending.
    var abandonOutcome: (@Sendable () -> Void)? {
        get { overrides?.abandonOutcome }
        set { if newValue != nil || overrides != nil { special().abandonOutcome = newValue } }
    }

    /// Whether transfers may be shared; `nil` for the session's setting.
    var coalesces: Bool? {
        get { overrides?.coalesces }
        set { special().coalesces = newValue }
    }

    /// The priority set for this request.
    var priority: TransferPriority? {
        get { overrides?.priority }
        set { special().priority = newValue }
    }

    /// The state of the current body, if it is that of a redirect to follow.
    var redirectBody: DroppedBody? {
        get { overrides?.redirectBody }
        set { if newValue != nil || overrides != nil { special().redirectBody = newValue } }
    }

    /// Whether the transfer was cancelled because the body of a redirect was too long to read.
    mutating func takeRedirectCut() -> Bool {
        defer { redirectBody = nil }
        return redirectBody?.isCut == true
    }
}
