/// The context of a call of a hook without a completion: `trust` or `serialize`.
final class OriginContext: CallContext, @unchecked Sendable {
    // @unchecked as the superclass; the property is constant.

    /// What the hook is called for.
    let origin: CallOrigin

    /// Creates the context of a call.
    ///
    /// - Parameters:
    ///   - origin: What the hook is called for.
    ///   - deadline: The deadline, in nanoseconds of the monotonic clock; 0 for none.
    init(_ origin: CallOrigin, deadline: UInt64 = 0) {
        self.origin = origin
        super.init(deadline: deadline)
    }
}
