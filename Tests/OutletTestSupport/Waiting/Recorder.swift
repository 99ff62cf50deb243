internal import Dispatch
internal import OutletSession
internal import OutletTransport

/// Collects values from any thread, and lets a test wait until there are enough.
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

    /// Creates an empty recorder.
    public init() {}

    /// The values recorded so far, in order.
    public var values: [Value] { state.withLock { $0.values } }

    /// The number of values recorded so far.
    public var count: Int { state.withLock { $0.values.count } }

    /// Adds a value, and resumes the tasks that waited for it.
    public func record(_ value: Value) {
        let (ready, values) = state.withLock { state -> ([Waiter], [Value]) in
            state.values.append(value)
            let ready = state.waiters.filter { $0.value.count <= state.values.count }
            for id in ready.keys { state.waiters[id] = nil }
            return (Array(ready.values), state.values)
        }
        for waiter in ready { waiter.continuation.resume(returning: values) }
    }

    /// Removes the values, where they retain the object that holds the recorder.
    public func removeAll() { state.withLock { $0.values = [] } }

    /// Waits until `count` values have been recorded.
    ///
    /// - Parameters:
    ///   - count: The number of values to wait for.
    ///   - deadline: How long to wait at most, times ``patience``.
    ///   - file: The file that the error names.
    ///   - line: The line that the error names: a test may wait at many places, also in a process of
    ///     its own.
    /// - Returns: All values recorded by then, which may be more than `count`.
    /// - Throws: ``TestSupportError`` when the deadline passes.
    @discardableResult
    public func values(
        _ count: Int, within deadline: Duration = .seconds(60), file: StaticString = #fileID,
        line: UInt = #line
    ) async throws -> [Value] {
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
            // Weak, so that the timer does not retain the values until a deadline that no task
            // waits for any more.
            let seconds = deadline.seconds * Double(patience)
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [weak self] in
                guard let self else { return }
                let (waiter, seen) = state.withLock {
                    ($0.waiters.removeValue(forKey: waiting), $0.values.count)
                }
                waiter?.continuation.resume(
                    throwing: TestSupportError(
                        "recorder: \(seen) of \(count) values after \(seconds) s, at \(file):\(line)"
                    ))
            }
        }
    }
}

/// A value that must be set exactly once: keeps the first value and counts all calls.
public final class Once<Value: Sendable>: Sendable {
    private let recorder = Recorder<Value>()

    /// Creates it without a value.
    public init() {}

    /// The number of calls of ``set(_:)``, which must be 1 in the end.
    public var callCount: Int { recorder.count }

    /// Sets the value; further calls are counted but do not change it.
    public func set(_ value: Value) {
        recorder.record(value)
    }

    /// Waits for the value.
    ///
    /// - Parameters:
    ///   - deadline: How long to wait at most, times ``patience``.
    ///   - file: The file that the error names.
    ///   - line: The line that the error names.
    /// - Throws: ``TestSupportError`` when the deadline passes.
    public func value(
        within deadline: Duration = .seconds(60), file: StaticString = #fileID, line: UInt = #line
    ) async throws -> Value {
        try await recorder.values(1, within: deadline, file: file, line: line)[0]
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
