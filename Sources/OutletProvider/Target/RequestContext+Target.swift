public import OutletHTTP

extension RequestContext {
    /// What the request was made of; `nil` where no provider made it.
    public var target: (any TargetType)? {
        get {
            let target = targetValue as? any TargetType
            return (target as? MultiTarget)?.target ?? target
        }
        set { targetValue = newValue }
    }
}
