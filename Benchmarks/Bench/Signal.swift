import Dispatch

/// A one-time event that a thread can wait for.
final class Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func set() { semaphore.signal() }

    func wait() { semaphore.wait() }
}
