/// The context of a call of `trust`.
final class TrustContext: CallContext, @unchecked Sendable {
    // @unchecked as the superclass; the property is constant.

    /// What the connection was opened for.
    let origin: CallOrigin

    init(_ origin: CallOrigin) {
        self.origin = origin
        super.init(deadline: 0)
    }
}
