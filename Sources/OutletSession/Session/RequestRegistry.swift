import OutletTransport

/// The requests of a session that are under way, and why no more may start.
struct RequestRegistry: Sendable {
    /// By their serials.
    private var requests: [UInt64: Request] = [:]
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
        guard let closed, requests[request.serial] == nil else { return nil }
        return closed
    }

    /// Lets no more requests start.
    ///
    /// - Parameter waiter: Told when all requests have ended.
    /// - Returns: False when the session has ended already; the waiter is not kept then.
    mutating func beginDraining(
        _ error: SessionError, _ waiter: CheckedContinuation<ShutdownReport, Never>
    ) -> Bool {
        if closed == nil { drain = Drain(total: requests.count, waiters: []) }
        guard drain != nil else { return false }
        closed = closed ?? error
        drain?.waiters.append(waiter)
        return true
    }

    /// Whether the last request has ended of a session that is being shut down.
    var isDrained: Bool { requests.isEmpty && drain != nil }

    /// Takes out all requests, and lets no more start.
    ///
    /// - Returns: `nil` when the session has ended already.
    mutating func close(_ error: SessionError) -> Closing? {
        guard closed == nil || drain != nil else { return nil }
        closed = error
        let cut = all
        requests = [:]
        defer { drain = nil }
        return Closing(
            requests: cut, waiters: drain?.waiters ?? [],
            report: ShutdownReport(
                finished: max(0, (drain?.total ?? 0) - cut.count), cut: cut.count))
    }

    /// All requests, the last one first.
    var all: [Request] { requests.values.sorted { $0.serial > $1.serial } }

    /// Takes a request in; nothing happens if it is there.
    mutating func insert(_ request: Request) {
        requests[request.serial] = request
    }

    /// Lets go of a request; nothing happens if it is not there.
    ///
    /// - Returns: Whether it was the last one of a session that is being shut down.
    @discardableResult
    mutating func remove(_ request: Request) -> Bool {
        requests.removeValue(forKey: request.serial) != nil && isDrained
    }
}
