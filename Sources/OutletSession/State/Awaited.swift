/// A value that is made once, and awaited by any number of tasks, before or after.
///
/// `fulfil` resumes the waiting tasks from wherever it is called; nothing runs under the lock.
final class Awaited<Value: Sendable>: Sendable {
    private enum State: Sendable {
        case pending([UnsafeContinuation<Value, Never>])
        case fulfilled(Value)
    }

    private let state = Lock(State.pending([]))

    /// Makes the value known; only the first call counts.
    func fulfil(_ value: Value) {
        let waiting = state.withLock { state -> [UnsafeContinuation<Value, Never>] in
            guard case .pending(let waiting) = state else { return [] }
            state = .fulfilled(value)
            return waiting
        }
        for continuation in waiting { continuation.resume(returning: value) }
    }

    private var known: Value? {
        state.withLock { state in
            guard case .fulfilled(let value) = state else { return nil }
            return value
        }
    }

    /// The value; waits for it without limit, so its maker must always make it.
    var value: Value {
        get async {
            if let known { return known }
            return await withUnsafeContinuation { continuation in
                let value = state.withLock { state -> Value? in
                    switch state {
                    case .fulfilled(let value): return value
                    case .pending(let waiting):
                        state = .pending(waiting + [continuation])
                        return nil
                    }
                }
                if let value { continuation.resume(returning: value) }
            }
        }
    }
}
