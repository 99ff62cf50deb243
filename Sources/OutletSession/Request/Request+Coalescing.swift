import OutletTransport

extension DataRequest {
    /// Allows or forbids the request to share its transfer with equal requests.
    ///
    /// Overrides ``SessionConfiguration/coalescesRequests``, which says what requests are equal.
    /// Call it before the request starts: it has no effect on a transfer that has begun.
    ///
    /// - Parameter coalesces: Whether the transfer may be shared. Uploads, and requests with a
    ///   redirect handler or an `onHTTPResponse` closure of their own, never share one.
    @discardableResult
    public func coalesces(_ coalesces: Bool = true) -> Self {
        mutable.withLock { $0.coalesces = coalesces }
        return self
    }
}

extension Request {
    /// Whether the transfer that is about to start may be shared with equal requests.
    func sharesTransfer(_ mutable: borrowing Mutable) -> Bool {
        guard mutable.coalesces ?? core.configuration.coalescesRequests else { return false }
        return self is DataRequest && !(self is UploadRequest)
            // A request that handles heads or redirects itself cannot share another's transfer.
            && mutable.redirectHandler == nil && mutable.observers?.response == nil
    }
}
