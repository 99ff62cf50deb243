import OutletSession
import OutletTransport

/// A clock that only ``advance(by:)`` moves, so that sleeps take no real time and end in a known
/// order.
///
/// Pass it to a ``StubTransport``, or to anything that takes a `Clock`.
///
/// Thread: any.
public final class TestClock: Clock {
    /// A point in time, relative to the clock's start.
    public struct Instant: InstantProtocol {
        /// The time since the clock's start.
        public let offset: Duration

        /// Makes a point in time.
        ///
        /// - Parameter offset: The time since the clock's start.
        public init(offset: Duration) {
            self.offset = offset
        }

        /// Returns the point in time that is later by a duration; earlier if that is negative.
        ///
        /// - Parameter duration: The duration; negative ones go back.
        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        /// Returns the time from this point to another; negative if the other is earlier.
        ///
        /// - Parameter other: The other instant.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Whether the first point is earlier.
        public static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    }

    private struct Alarm {
        let time: Instant
        let action: @Sendable (Instant) -> Void
    }

    private struct State {
        var now = Instant(offset: .zero)
        var alarms: [UInt64: Alarm] = [:]
        var lastID: UInt64 = 0
        var watchers: [UInt64: (count: Int, action: @Sendable () -> Void)] = [:]

        mutating func nextID() -> UInt64 {
            lastID += 1
            return lastID
        }
    }
    private let state = Lock(State())

    /// Makes a clock at offset zero.
    public init() {}

    /// The current time of the clock.
    public var now: Instant { state.withLock { $0.now } }

    /// The smallest step of the clock: one nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The number of sleeps and stub delays that have not ended.
    public var waiting: Int { state.withLock { $0.alarms.count } }

    /// Moves the clock forward, and ends the sleeps that are due, in the order of their deadlines.
    ///
    /// Returns when all of them are resumed, which is before the resumed tasks have run. Includes
    /// sleeps that begin meanwhile and are due.
    ///
    /// - Parameter duration: The time to move by; zero and less do not move the clock.
    public func advance(by duration: Duration) {
        let end = now.advanced(by: duration)
        while let alarm = nextAlarm(until: end) { alarm.action(alarm.time) }
        state.withLock { $0.now = max($0.now, end) }
    }

    private func nextAlarm(until end: Instant) -> Alarm? {
        state.withLock { state in
            let due = state.alarms.filter { $0.value.time <= end }
            guard let first = due.min(by: { ($0.value.time, $0.key) < ($1.value.time, $1.key) })
            else { return nil }
            state.alarms[first.key] = nil
            state.now = max(state.now, first.value.time)
            return first.value
        }
    }

    /// Waits until a number of sleeps and stub delays have begun, or until the task is cancelled.
    ///
    /// A request reaches its stub on another thread. A test awaits this before
    /// ``advance(by:)``, which would otherwise move the clock before the delay begins.
    ///
    /// - Parameter count: The value of ``waiting`` to wait for; returns at once if it is reached.
    public func waiters(_ count: Int = 1) async {
        let id = state.withLock { $0.nextID() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    guard state.alarms.count < count, !Task.isCancelled else { return true }
                    state.watchers[id] = (count, { continuation.resume() })
                    return false
                }
                if isThere { continuation.resume() }
            }
        } onCancel: {
            let watcher = state.withLock { $0.watchers.removeValue(forKey: id) }
            watcher?.action()
        }
    }

    /// Waits until the clock has reached a time.
    ///
    /// - Parameters:
    ///   - deadline: When to return; at once if the clock is past it.
    ///   - tolerance: Ignored.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { $0.nextID() }
        let once = OnceFlag()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                add(id, at: deadline, isWanted: { !Task.isCancelled }) { _ in
                    if once.claim() { continuation.resume() }
                }
            }
        } onCancel: {
            let alarm = state.withLock { $0.alarms.removeValue(forKey: id) }
            alarm?.action(deadline)
        }
        try Task.checkCancellation()
    }

    /// Calls `action` after a delay, with the time at which it was due.
    ///
    /// Thread of `action`: the one that moves the clock; the calling one for a delay of zero or
    /// less.
    ///
    /// - Returns: The number of the delay, for ``cancel(_:)``.
    func schedule(
        after delay: Duration, _ action: @escaping @Sendable (Instant) -> Void
    ) -> UInt64 {
        let (id, time) = state.withLock { ($0.nextID(), $0.now.advanced(by: delay)) }
        add(id, at: time, isWanted: { true }, action)
        return id
    }

    /// Ends a delay without its action, unless it is over.
    func cancel(_ delay: UInt64) { state.withLock { $0.alarms[delay] = nil } }

    private func add(
        _ id: UInt64, at time: Instant, isWanted: () -> Bool,
        _ action: @escaping @Sendable (Instant) -> Void
    ) {
        let (isDue, watchers) = state.withLock { state -> (Bool, [@Sendable () -> Void]) in
            guard time > state.now, isWanted() else { return (true, []) }
            state.alarms[id] = Alarm(time: time, action: action)
            let ready = state.watchers.filter { $0.value.count <= state.alarms.count }
            for id in ready.keys { state.watchers[id] = nil }
            return (false, ready.values.map(\.action))
        }
        for watcher in watchers { watcher() }
        if isDue { action(time) }
    }
}
