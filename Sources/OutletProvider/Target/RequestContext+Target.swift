public import OutletHTTP

extension RequestContext {
    /// The target that the request was made from; `nil` if no provider made it.
    ///
    /// Never a ``MultiTarget``: its wrapped target is returned.
    public var target: (any TargetType)? {
        get {
            let target = targetValue as? any TargetType
            return (target as? MultiTarget)?.target ?? target
        }
        set { targetValue = newValue }
    }
}
