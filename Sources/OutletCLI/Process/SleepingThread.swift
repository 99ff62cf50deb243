import Dispatch
import Glibc
import OutletThreads

/// Runs closures after a time on threads that sleep until then.
///
/// Unlike a timer of a dispatch queue, they need no descriptor: a plugin may have closed all of them.
/// And they exist before plugins are loaded (``begin()``): no thread can be started while a plugin
/// blocks in the loader (an IFUNC resolver).
enum SleepingThread {
    /// The threads; a second one, because the first closure may be one that does not return.
    private static let threads = SleepingThreads(count: 2)

    /// Starts the threads; the first closure does so otherwise.
    static func begin() { _ = threads }

    /// Calls a closure after a time.
    ///
    /// - Parameters:
    ///   - seconds: The time in seconds.
    ///   - body: Called once, on one of the threads, or on a global dispatch queue if there are
    ///     none. Short, unless it ends the process.
    static func run(after seconds: Double, _ body: @escaping @Sendable () -> Void) {
        guard threads.add(after: seconds, body) else {
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: body)
            return
        }
    }
}

/// Threads that wait for closures and for their times.
///
/// Thread: any.
private final class SleepingThreads: @unchecked Sendable {
    // because `items` is used with the mutex only, and the rest is constant after `init`.
    private struct Item {
        let time: timespec
        let body: @Sendable () -> Void
    }

    /// The closures that have not been called, those that are due first at the end.
    private var items: [Item] = []
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var missing: Int

    /// Starts the threads, which never end.
    init(count: Int) {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
        missing = count
        for _ in 0..<count where SystemThread.start(named: "outlet-timer", { self.run() }) == 0 {
            missing -= 1
        }
    }

    /// Adds a closure; returns false if a thread could not be started, so that nobody may call it.
    func add(after seconds: Double, _ body: @escaping @Sendable () -> Void) -> Bool {
        guard missing == 0 else { return false }
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let whole = min(max(0, seconds), 1e9).rounded(.down)
        time.tv_sec += Int(whole)
        time.tv_nsec += Int(max(0, min(seconds - whole, 0.999_999)) * 1e9)
        if time.tv_nsec >= 1_000_000_000 {
            time.tv_sec += 1
            time.tv_nsec -= 1_000_000_000
        }
        pthread_mutex_lock(mutex)
        let place = items.firstIndex { $0.time.isUntil(time) } ?? items.count
        items.insert(Item(time: time, body: body), at: place)
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
        return true
    }

    private func run() -> Never {
        pthread_mutex_lock(mutex)
        while true {
            guard var time = items.last?.time else {
                pthread_cond_wait(condition, mutex)
                continue
            }
            var now = timespec()
            clock_gettime(CLOCK_MONOTONIC, &now)
            guard time.isUntil(now) else {
                pthread_cond_timedwait(condition, mutex, &time)
                continue
            }
            let item = items.removeLast()
            // The other thread waits for the next one meanwhile.
            pthread_cond_signal(condition)
            pthread_mutex_unlock(mutex)
            item.body()
            pthread_mutex_lock(mutex)
        }
    }
}

extension timespec {
    /// Whether the time is not after another one.
    fileprivate func isUntil(_ other: timespec) -> Bool {
        (tv_sec, tv_nsec) <= (other.tv_sec, other.tv_nsec)
    }
}
