import OutletTransport

/// The requests of a session that are under way, and why no more may start.
///
/// A chain: each request knows its neighbours, so that coming and going touches nothing else.
struct RequestRegistry: Sendable {
    /// A request's place in the chain.
    struct Link: Sendable {
        fileprivate var isIn = false
        fileprivate var former: Unmanaged<Request>?
        fileprivate var next: Unmanaged<Request>?
    }

    /// The one that came last.
    ///
    /// Each request is kept by the chain as a whole, from its coming to its going.
    private var last: Unmanaged<Request>?
    /// Why no request may start; `nil` as long as the session lives.
    private(set) var closed: SessionError?
    /// Those who wait for the last request to end, while the session is being shut down.
    private var drain: Drain?

    /// A session that takes no more requests, and lets those that it has end.
    private struct Drain {
        let total: Int
        var waiters: [CheckedContinuation<ShutdownReport, Never>]
    }

    /// What remains to be done when a session has ended.
    struct Closing {
        /// The requests that have to be ended.
        let requests: [Request]
        /// Who waits for that.
        let waiters: [CheckedContinuation<ShutdownReport, Never>]
        /// What they are told.
        let report: ShutdownReport
    }

    /// Why a request must not run; `nil` if it may.
    func refusal(of request: Request) -> SessionError? {
        // Those that are there already may go on to their end.
        request.link.isIn ? nil : closed
    }

    /// Lets no more requests start.
    ///
    /// - Parameter waiter: Told when all requests have ended.
    /// - Returns: False when the session has ended already; the waiter is not kept then.
    mutating func beginDraining(
        _ error: SessionError, _ waiter: CheckedContinuation<ShutdownReport, Never>
    ) -> Bool {
        if closed == nil { drain = Drain(total: all.count, waiters: []) }
        guard drain != nil else { return false }
        closed = closed ?? error
        drain?.waiters.append(waiter)
        return true
    }

    /// Whether the last request has ended of a session that is being shut down.
    var isDrained: Bool { last == nil && drain != nil }

    /// Takes out all requests, and lets no more start.
    ///
    /// - Returns: `nil` when the session has ended already.
    mutating func close(_ error: SessionError) -> Closing? {
        guard closed == nil || drain != nil else { return nil }
        closed = error
        let requests = all
        for request in requests { remove(request) }
        let cut = requests.count
        defer { drain = nil }
        return Closing(
            requests: requests, waiters: drain?.waiters ?? [],
            report: ShutdownReport(finished: max(0, (drain?.total ?? 0) - cut), cut: cut))
    }

    /// All requests, the last one first.
    var all: [Request] {
        var all: [Request] = []
        var next = last
        while let request = next?.takeUnretainedValue() {
            all.append(request)
            next = request.link.former
        }
        return all
    }

    /// Takes a request in; nothing happens if it is there.
    mutating func insert(_ request: Request) {
        guard !request.link.isIn else { return }
        let kept = Unmanaged.passRetained(request)
        request.link.isIn = true
        request.link.former = last
        last?._withUnsafeGuaranteedRef { $0.link.next = kept }
        last = kept
    }

    /// Lets go of a request; nothing happens if it is not there.
    ///
    /// - Returns: Whether it was the last one of a session that is being shut down.
    @discardableResult
    mutating func remove(_ request: Request) -> Bool {
        guard request.link.isIn else { return false }
        let link = request.link
        request.link = Link()
        link.former?._withUnsafeGuaranteedRef { $0.link.next = link.next }
        if let next = link.next {
            next._withUnsafeGuaranteedRef { $0.link.former = link.former }
        } else {
            last = link.former
        }
        Unmanaged.passUnretained(request).release()
        return isDrained
    }
}
