import Dispatch

/// Things that shall happen at a time, unless they are called off before.
///
/// One timer serves all, and calling off frees at once what was waiting: a cancelled
/// `DispatchWorkItem` would keep its captures until its time has come.
///
/// Thread: any. Actions run on a queue of their own, so that a blocked queue of the session's
/// delays none of them.
package final class Deadlines: Sendable {
    package typealias Token = UInt64

    private let table = Lock(DeadlineTable())
    private let queue = DispatchQueue(label: "outlet.deadlines")

    package init() {}

    /// Runs `action` after so many seconds of uptime.
    package func add(after seconds: Double, _ action: @escaping @Sendable () -> Void) -> Token {
        let time = Self.time(after: seconds)
        let (token, wakeUp) = table.withLock { $0.add(at: time, action) }
        if let wakeUp { arm(for: wakeUp) }
        return token
    }

    /// Forgets an action; none if it has run or is about to.
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

    /// A hundred years stand for every longer time.
    private static func time(after seconds: Double) -> UInt64 {
        let bounded = seconds > 0 ? min(seconds, 3_155_760_000) : 0
        return DispatchTime.now().uptimeNanoseconds + UInt64(bounded * 1_000_000_000)
    }
}

/// The actions of ``Deadlines`` and when the timer must wake up for them, as a value.
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

    /// The token, and the time to arm a timer for if none is armed that early.
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

    /// The actions whose time has come, in its order, and when to wake up next.
    ///
    /// A timer that an earlier one has replaced takes what is due and arms nothing.
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
