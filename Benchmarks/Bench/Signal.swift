import Dispatch

/// Something that happens once, and a thread that waits for it.
final class Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func set() { semaphore.signal() }

    func wait() { semaphore.wait() }
}
