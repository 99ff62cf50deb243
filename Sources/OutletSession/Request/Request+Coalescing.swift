import OutletTransport

extension DataRequest {
    /// Lets the request share the transfer of an equal one, or not, whatever the session's setting.
    ///
    /// Ask before the start; see ``SessionConfiguration/coalescesRequests``.
    @discardableResult
    public func coalesces(_ coalesces: Bool = true) -> Self {
        mutable.withLock { $0.coalesces = coalesces }
        return self
    }
}

extension Request {
    /// Whether the transfer that is about to begin may be shared with equal ones.
    func sharesTransfer(_ mutable: borrowing Mutable) -> Bool {
        guard mutable.coalesces ?? core.configuration.coalescesRequests else { return false }
        return self is DataRequest && !(self is UploadRequest)
            // A request that handles heads or redirects itself cannot share another's transfer.
            && mutable.redirectHandler == nil && mutable.observers?.response == nil
    }
}
