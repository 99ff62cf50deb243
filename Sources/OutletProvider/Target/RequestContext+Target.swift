public import OutletHTTP

extension RequestContext {
    /// The target that the request was made from; `nil` if no provider made it.
    ///
    /// A provider sets it for requests that pass its plugins, or the interceptors, middleware,
    /// plugins, layers, monitors or redirect handler of its session; other requests have none, also
    /// when they have ended.
    ///
    /// Never a ``MultiTarget``: its wrapped target is returned.
    public var target: (any TargetType)? {
        get {
            let target = (heldTarget as? HeldTarget)?.target
            return (target as? MultiTarget)?.target ?? target
        }
        set { heldTarget = newValue.map(HeldTarget.init) }
    }
}

/// The target of a call, which the call shares with the contexts of its requests.
final class HeldTarget: Sendable {
    let target: any TargetType

    init(_ target: any TargetType) { self.target = target }
}
