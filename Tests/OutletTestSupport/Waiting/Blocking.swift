public import Dispatch

/// Runs a blocking call on a new thread, and suspends the task until the call returns.
///
/// A blocking call in a task would block a thread of Swift's pool, which all tests share and which
/// has only one thread per core.
///
/// - Returns: The result of `body`.
/// - Throws: The error of `body`; ``TestSupportError`` if no thread can be started.
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

/// Calls `body` concurrently `count` times, and waits until all calls have returned.
///
/// - Parameters:
///   - count: The number of calls.
///   - body: Called with 0 to `count - 1` on the threads of `DispatchQueue.concurrentPerform`.
/// - Throws: ``TestSupportError`` if no thread can be started.
public func concurrently(
    _ count: Int, _ body: @escaping @Sendable (Int) -> Void
) async throws {
    try await offPool { DispatchQueue.concurrentPerform(iterations: count, execute: body) }
}

extension DispatchQueue {
    /// Waits until a serial queue has run everything submitted to it before.
    public func drained() async {
        await withCheckedContinuation { continuation in async { continuation.resume() } }
    }
}
