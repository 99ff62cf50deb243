/// A value that is made once, and awaited by any number of tasks, before or after.
///
/// `fulfil` resumes the waiting tasks from wherever it is called; nothing runs under the lock.
/// Inlinable, so that awaiting is compiled for the type awaited: it is on every request's way.
@usableFromInline final class Awaited<Value: Sendable>: Sendable {
    @usableFromInline enum State: Sendable {
        case pending
        case awaited(UnsafeContinuation<Value, Never>)
        case awaitedByMany([UnsafeContinuation<Value, Never>])
        case fulfilled(Value)
    }

    @usableFromInline let state = Lock(State.pending)

    init() {}

    /// Makes the value known; only the first call counts.
    func fulfil(_ value: Value) {
        let former = state.withLock { state in
            let former = state
            if case .fulfilled = former { return former }
            state = .fulfilled(value)
            return former
        }
        switch former {
        case .pending, .fulfilled: break
        case .awaited(let continuation): continuation.resume(returning: value)
        case .awaitedByMany(let continuations):
            for continuation in continuations { continuation.resume(returning: value) }
        }
    }

    @inlinable var known: Value? {
        state.withLock { state in
            guard case .fulfilled(let value) = state else { return nil }
            return value
        }
    }

    /// Keeps a continuation until the value is there.
    ///
    /// - Returns: The value, if it is there already; the continuation is not kept then.
    @inlinable func keep(_ continuation: UnsafeContinuation<Value, Never>) -> Value? {
        state.withLock { state -> Value? in
            switch state {
            case .fulfilled(let value): return value
            case .pending: state = .awaited(continuation)
            case .awaited(let first): state = .awaitedByMany([first, continuation])
            case .awaitedByMany(let others): state = .awaitedByMany(others + [continuation])
            }
            return nil
        }
    }

    /// The value; waits for it without limit, so its maker must always make it.
    @inlinable var value: Value {
        get async {
            if let known { return known }
            return await withUnsafeContinuation { continuation in
                if let value = keep(continuation) { continuation.resume(returning: value) }
            }
        }
    }
}
