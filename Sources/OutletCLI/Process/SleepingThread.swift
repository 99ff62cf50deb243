import Dispatch
import Glibc
import OutletPointers

/// Runs a closure after a time on a thread that sleeps until then.
///
/// Unlike a timer of a dispatch queue, it needs no descriptor. A plugin may have closed all of them.
/// If no thread can be started, it uses such a timer.
enum SleepingThread {
    /// What the thread runs, and when.
    private final class Work: Sendable {
        let time: timespec
        let body: @Sendable () -> Void

        init(after seconds: Double, _ body: @escaping @Sendable () -> Void) {
            let whole = min(max(0, seconds), 1e9).rounded(.down)
            time = timespec(
                tv_sec: Int(whole), tv_nsec: Int(max(0, min(seconds - whole, 0.999_999)) * 1e9))
            self.body = body
        }

        func run() {
            var (rest, left) = (time, timespec())
            while nanosleep(&rest, &left) != 0, errno == EINTR { rest = left }
            body()
        }
    }

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - seconds: The time in seconds.
    ///   - body: Called once, on the thread or on a global dispatch queue.
    static func run(after seconds: Double, _ body: @escaping @Sendable () -> Void) {
        let work = ObjectPointer.retained(Work(after: seconds, body))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        var thread = pthread_t()
        let code = pthread_create(
            &thread, &attributes,
            { pointer in
                if let pointer { ObjectPointer.takeRetained(pointer, as: Work.self).run() }
                return nil
            }, work)
        guard code != 0 else { return }
        ObjectPointer.release(work)
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: body)
    }
}
