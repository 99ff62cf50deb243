import OutletSession
import OutletTransport

/// A clock that only `advance` moves, so that waits cost no time and end in a known order.
///
/// Give it to a ``StubTransport``, or to anything that takes a `Clock`.
///
/// Thread: any.
public final class TestClock: Clock {
    /// A point in time, counted from the clock's start.
    public struct Instant: InstantProtocol {
        /// How long after the clock's start.
        public let offset: Duration

        /// Makes a point in time.
        public init(offset: Duration) {
            self.offset = offset
        }

        /// The point in time so much later.
        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        /// How much later the other one is.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Orders points in time.
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

    /// A clock at its start.
    public init() {}

    /// What the clock shows.
    public var now: Instant { state.withLock { $0.now } }

    /// The smallest step of the clock.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// How many are waiting for a later time.
    public var waiting: Int { state.withLock { $0.alarms.count } }

    /// Moves the clock; sleeps whose deadline has come end, in the order of their deadlines.
    ///
    /// Returns when all of them were told, which is before they have done their work.
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

    /// Waits until so many wait for a later time, or until the task is cancelled.
    ///
    /// A request comes to its stub on another thread: without this, the clock may be moved too early.
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

    /// Waits for a time; throws when the task is cancelled.
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

    /// Calls `action` when that much time has passed, with the time that it was meant for.
    func schedule(after delay: Duration, _ action: @escaping @Sendable (Instant) -> Void) {
        let (id, time) = state.withLock { ($0.nextID(), $0.now.advanced(by: delay)) }
        add(id, at: time, isWanted: { true }, action)
    }

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
