import OutletTransport

/// The requests of a session that are in progress, and the error for requests that start too late.
struct RequestRegistry: Sendable {
    /// The requests, each at the index that its ``Request/place`` stores: a dictionary costs each
    /// request 300 instructions, 2 % of a stored response (`Benchmarks/count stored`).
    private var requests: [Request] = []
    /// Requests that were not started yet, but that something waits for, by their numbers.
    private var expected: [UInt64: Expected] = [:]
    private var expectedLimit = 16

    /// A request that its program may release without ever starting it.
    private struct Expected {
        weak let request: Request?
        /// The same request, if a closure of it is to be called in any case.
        let retained: Request?
    }

    /// Why no request may start; `nil` while the session is open.
    private(set) var closed: SessionError?
    /// Set while the session is being shut down and waits for its last requests.
    private var drain: Drain?

    /// The state of a shutdown with a deadline.
    private struct Drain {
        /// How many requests were in progress when it began.
        let total: Int
        /// The calls of `shutDown(deadline:)` to resume at its end.
        var waiters: [ShutdownWaiter]
    }

    /// What the caller of ``close(_:)`` has to do outside the lock.
    struct Closing {
        /// The requests to end, also those that were never started.
        let requests: [Request]
        /// The calls of `shutDown(deadline:)` to resume afterwards.
        let waiters: [ShutdownWaiter]
        /// The value that they return.
        let report: ShutdownReport
    }

    /// Returns why a request must not run; `nil` if it may.
    func refusal(of request: Request) -> SessionError? {
        // Requests in progress may still retry during a shutdown.
        request.place.value == nil ? closed : nil
    }

    /// Begins a shutdown: no more requests may start, those in progress may end.
    ///
    /// - Parameters:
    ///   - error: The error for requests that start from now on.
    ///   - waiter: Resumed by the caller of ``close(_:)``.
    /// - Returns: `false` if the session has ended already; then `waiter` is not stored.
    mutating func beginDraining(
        _ error: SessionError, _ waiter: ShutdownWaiter
    ) -> Bool {
        if closed == nil { drain = Drain(total: requests.count, waiters: []) }
        guard drain != nil else { return false }
        closed = closed ?? error
        drain?.waiters.append(waiter)
        return true
    }

    /// Whether the session is being shut down and its last request has ended.
    var isDrained: Bool { requests.isEmpty && drain != nil }

    /// Removes all requests; no more may start.
    ///
    /// - Parameter error: The error for requests that start from now on.
    /// - Returns: `nil` if the session has ended already.
    mutating func close(_ error: SessionError) -> Closing? {
        guard closed == nil || drain != nil else { return nil }
        closed = error
        let cut = all
        let unstarted = expected.values.compactMap(\.request)
        for request in requests { request.place.value = nil }
        requests = []
        expected = [:]
        defer { drain = nil }
        return Closing(
            requests: cut + unstarted, waiters: drain?.waiters ?? [],
            report: ShutdownReport(
                finished: max(0, (drain?.total ?? 0) - cut.count), cut: cut.count))
    }

    /// All requests, the newest first.
    var all: [Request] { requests.sorted { $0.serial > $1.serial } }

    /// Adds a request that was not started, to be ended with the session.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - retains: Whether to retain it until it starts or ends.
    /// - Returns: Requests to release outside of locks: nothing else may refer to them any more.
    mutating func expect(_ request: Request, retains: Bool) -> [Request] {
        var present: [Request] = []
        if expected.count >= expectedLimit {
            present = expected.values.compactMap(\.request)
            let known = Set(present.map(\.serial))
            expected = expected.filter { known.contains($0.key) }
            expectedLimit = max(16, expected.count * 2)
        }
        let retains = retains || expected[request.serial]?.retained != nil
        expected[request.serial] = Expected(
            request: request, retained: retains ? request : nil)
        return present
    }

    /// Adds a request; has no effect if it was added before.
    mutating func insert(_ request: Request) {
        if !expected.isEmpty { expected[request.serial] = nil }
        guard request.place.value == nil else { return }
        request.place.value = requests.count
        requests.append(request)
    }

    /// Removes a request; has no effect if it was removed before.
    ///
    /// - Returns: Whether it was the last request of a session that is being shut down.
    @discardableResult
    mutating func remove(_ request: Request) -> Bool {
        if !expected.isEmpty { expected[request.serial] = nil }
        guard let index = request.place.value else { return false }
        request.place.value = nil
        let last = requests.removeLast()
        if last !== request {
            requests[index] = last
            last.place.value = index
        }
        return isDrained
    }
}

/// A call of `shutDown(deadline:)` that waits for the session's end.
final class ShutdownWaiter: Sendable {
    private struct State: Sendable {
        let continuation: CheckedContinuation<ShutdownReport, Never>
        var report = ShutdownReport()
    }
    private let state: Lock<State?>

    /// Makes a waiter that resumes a continuation.
    init(_ continuation: CheckedContinuation<ShutdownReport, Never>) {
        state = Lock(State(continuation: continuation))
    }

    /// Sets the report that the call returns; before that, none of its requests has ended.
    func set(_ report: ShutdownReport) { state.withLock { $0?.report = report } }

    /// Makes the call return, if it has not returned yet.
    func resume() {
        let state = state.withLock { $0.take() }
        state?.continuation.resume(returning: state?.report ?? ShutdownReport())
    }
}
