import Dispatch
import OutletSession
import OutletTestSupport
import OutletTransport
import Testing

/// Collects values from any thread, and lets a test wait until there are enough of them.
final class Events<Value: Sendable>: Sendable {
    private struct State {
        var values: [Value] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    }
    private let state = Lock(State())

    struct Late: Error {
        let description: String
    }

    var values: [Value] { state.withLock { $0.values } }

    func append(_ value: Value) {
        let ready = state.withLock { state in
            state.values.append(value)
            let ready = state.waiting.filter { $0.count <= state.values.count }
            state.waiting.removeAll { $0.count <= state.values.count }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// Waits for so many values in all, half a minute at most on a machine of usual speed.
    @discardableResult
    func wait(for count: Int) async throws -> [Value] {
        try await withCheckedThrowingContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.values.count < count else { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isThere {
                continuation.resume()
                return
            }
            // Weakly, so that the values are not kept until a deadline that nobody waits for.
            let deadline = DispatchTime.now() + .seconds(60 * patience)
            DispatchQueue.global().asyncAfter(deadline: deadline) { [weak self] in
                self?.expire(count)
            }
        }
        return values
    }

    private func expire(_ count: Int) {
        let late = state.withLock { state in
            let late = state.waiting.filter { $0.count == count }
            state.waiting.removeAll { $0.count == count }
            return late
        }
        let found = values
        for waiter in late {
            waiter.continuation.resume(
                throwing: Late(description: "\(count) wanted, \(found.count) there: \(found)"))
        }
    }
}
