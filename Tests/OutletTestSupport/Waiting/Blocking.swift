public import Dispatch

/// Runs a call that blocks on a thread of its own, and waits for it without a thread of Swift's pool:
/// the pool has one for each core, and all tests share it.
///
/// - Returns: What `body` returned.
/// - Throws: What `body` threw; ``TestSupportError`` if the system gives no thread.
public func offPool<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try onOwnThread { continuation.resume(with: Result { try body() }) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

/// Calls `body` with 0 and up on several threads at once, and waits until all calls have returned.
public func concurrently(
    _ count: Int, _ body: @escaping @Sendable (Int) -> Void
) async throws {
    try await offPool { DispatchQueue.concurrentPerform(iterations: count, execute: body) }
}

extension DispatchQueue {
    /// Waits until what was put on a serial queue before has run.
    public func drained() async {
        await withCheckedContinuation { continuation in async { continuation.resume() } }
    }
}
