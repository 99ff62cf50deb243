import Dispatch

/// Runs actions after a delay, unless they are removed before.
///
/// All actions share one timer, and removing an action frees it at once; a cancelled
/// `DispatchWorkItem` would keep its captures until its time has come.
///
/// Thread: any. Actions run on a queue of this object, so that a blocked queue of the session does
/// not delay them.
package final class Deadlines: Sendable {
    package typealias Token = UInt64

    private let table = Lock(DeadlineTable())
    private let queue = DispatchQueue(label: "outlet.deadlines")

    package init() {}

    /// Runs `action` after `seconds`; time during which the system sleeps does not count.
    package func add(after seconds: Double, _ action: @escaping @Sendable () -> Void) -> Token {
        let time = Self.time(after: seconds)
        let (token, wakeUp) = table.withLock { $0.add(at: time, action) }
        if let wakeUp { arm(for: wakeUp) }
        return token
    }

    /// Removes an action; no effect if it has run or is about to run.
    package func remove(_ token: Token) {
        // The action is freed outside the lock: it may hold the last reference to anything.
        _ = table.withLock { $0.remove(token) }
    }

    private func arm(for time: UInt64) {
        queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: time)) { [weak self] in
            self?.fire(armedFor: time)
        }
    }

    private func fire(armedFor time: UInt64) {
        let now = DispatchTime.now().uptimeNanoseconds
        let (due, wakeUp) = table.withLock { $0.takeDue(now: max(now, time), armedFor: time) }
        if let wakeUp { arm(for: wakeUp) }
        for action in due { action() }
    }

    /// Longer times are limited to a hundred years, so that the addition cannot overflow.
    private static func time(after seconds: Double) -> UInt64 {
        let bounded = seconds > 0 ? min(seconds, 3_155_760_000) : 0
        return DispatchTime.now().uptimeNanoseconds + UInt64(bounded * 1_000_000_000)
    }
}

/// The state of ``Deadlines`` as a value: the actions, and the time for which the timer is set.
package struct DeadlineTable: Sendable {
    private struct Entry: Sendable {
        let time: UInt64
        let action: @Sendable () -> Void
    }

    private var entries: [Deadlines.Token: Entry] = [:]
    private var lastToken: Deadlines.Token = 0
    private var armed: UInt64?

    package init() {}

    package var count: Int { entries.count }

    /// Adds an action; returns its token, and the time for which to set the timer if it is not set
    /// for that time or earlier already.
    package mutating func add(
        at time: UInt64, _ action: @escaping @Sendable () -> Void
    ) -> (Deadlines.Token, wakeUp: UInt64?) {
        lastToken += 1
        entries[lastToken] = Entry(time: time, action: action)
        if let armed, armed <= time { return (lastToken, nil) }
        armed = time
        return (lastToken, time)
    }

    package mutating func remove(_ token: Deadlines.Token) -> (@Sendable () -> Void)? {
        entries.removeValue(forKey: token)?.action
    }

    /// Removes and returns the actions whose time has come, ordered by time, and the time for which
    /// to set the timer next.
    ///
    /// `wakeUp` is `nil` if no action is left, or if the timer that fired was replaced by an
    /// earlier one.
    package mutating func takeDue(
        now: UInt64, armedFor time: UInt64
    ) -> (due: [@Sendable () -> Void], wakeUp: UInt64?) {
        let due = entries.filter { $0.value.time <= now }
            .sorted { ($0.value.time, $0.key) < ($1.value.time, $1.key) }
        for entry in due { entries.removeValue(forKey: entry.key) }
        let actions = due.map(\.value.action)
        guard armed == time else { return (actions, nil) }
        armed = entries.values.lazy.map(\.time).min()
        return (actions, armed)
    }
}
