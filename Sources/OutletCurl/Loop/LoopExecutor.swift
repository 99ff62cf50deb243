import Dispatch
import OutletSession

/// Runs Swift tasks on a loop's thread, so that a task that awaits one transfer after another
/// changes threads no more.
final class LoopExecutor: TaskExecutor {
    private let loop = Lock<EventLoop?>(nil)

    /// Names the loop, which owns the executor, and is owned by it until it has ended.
    ///
    /// Not weakly: each count of a loop would cost more from then on, on every request's way.
    func belongs(to loop: EventLoop?) {
        let former = self.loop.withLock { own in
            defer { own = loop }
            return own
        }
        withExtendedLifetime(former) {}
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let loop = loop.withLock { $0 }
        if let loop, loop.post(.run(job)) { return }
        Self.runElsewhere(job)
    }

    /// Runs a job whose loop has ended: a task is never left lying.
    static func runElsewhere(_ job: UnownedJob) {
        DispatchQueue.global().async { job.runSynchronously(on: elsewhere.asUnownedTaskExecutor()) }
    }

    private static let elsewhere = LoopExecutor()
}
