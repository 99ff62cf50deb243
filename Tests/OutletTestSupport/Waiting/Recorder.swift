internal import Dispatch
internal import OutletSession
internal import OutletTransport

/// Collects values from any thread and lets a test wait until enough have come.
public final class Recorder<Value: Sendable>: Sendable {
    private struct Waiter {
        let count: Int
        let continuation: CheckedContinuation<[Value], any Error>
    }

    private struct State {
        var values: [Value] = []
        var waiters: [Int: Waiter] = [:]
        var lastID = 0
    }

    private let state = Lock(State())

    /// An empty recorder.
    public init() {}

    /// What has been recorded so far, in order.
    public var values: [Value] { state.withLock { $0.values } }

    /// How many values have been recorded so far.
    public var count: Int { state.withLock { $0.values.count } }

    /// Adds a value.
    public func record(_ value: Value) {
        let (ready, values) = state.withLock { state -> ([Waiter], [Value]) in
            state.values.append(value)
            let ready = state.waiters.filter { $0.value.count <= state.values.count }
            for id in ready.keys { state.waiters[id] = nil }
            return (Array(ready.values), state.values)
        }
        for waiter in ready { waiter.continuation.resume(returning: values) }
    }

    /// Waits until `count` values have been recorded.
    ///
    /// - Parameters:
    ///   - count: How many to wait for.
    ///   - deadline: How long to wait at most, times ``patience``.
    /// - Returns: All values recorded by then.
    /// - Throws: ``TestSupportError`` when the deadline passes.
    @discardableResult
    public func values(_ count: Int, within deadline: Duration = .seconds(60)) async throws
        -> [Value]
    {
        defer { state.showOrder() }
        return try await withCheckedThrowingContinuation { continuation in
            let waiting = state.withLock { state -> Int? in
                guard state.values.count < count else { return nil }
                state.lastID += 1
                state.waiters[state.lastID] = Waiter(count: count, continuation: continuation)
                return state.lastID
            }
            guard let waiting else {
                continuation.resume(returning: values)
                return
            }
            // Weakly, so that what was recorded is not kept until a deadline that nobody waits for.
            let seconds = deadline.seconds * Double(patience)
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [weak self] in
                guard let self else { return }
                let (waiter, seen) = state.withLock {
                    ($0.waiters.removeValue(forKey: waiting), $0.values.count)
                }
                waiter?.continuation.resume(
                    throwing: TestSupportError(
                        "recorder: \(seen) of \(count) values after \(seconds) s"))
            }
        }
    }
}

/// A value that is to be set exactly once: keeps the first and counts the calls.
public final class Once<Value: Sendable>: Sendable {
    private let recorder = Recorder<Value>()

    /// No value yet.
    public init() {}

    /// How often ``set(_:)`` was called: 1 if all is well.
    public var callCount: Int { recorder.count }

    /// Sets the value; further ones are counted and dropped.
    public func set(_ value: Value) {
        recorder.record(value)
    }

    /// Waits for the value.
    ///
    /// - Throws: ``TestSupportError`` when the deadline passes.
    public func value(within deadline: Duration = .seconds(60)) async throws -> Value {
        try await recorder.values(1, within: deadline)[0]
    }
}

extension Duration {
    /// The same in seconds.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
