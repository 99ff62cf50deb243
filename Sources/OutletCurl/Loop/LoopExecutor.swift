import Dispatch
import OutletSession

/// Runs Swift tasks on a loop's thread, so that a task that awaits one transfer after another
/// changes threads no more.
final class LoopExecutor: TaskExecutor {
    private struct Reference {
        weak var loop: EventLoop?
    }

    private let reference = Lock(Reference())

    /// Names the loop, which owns the executor.
    func belongs(to loop: EventLoop) {
        reference.withLock { $0.loop = loop }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let loop = reference.withLock { $0.loop }
        if let loop, loop.post(.run(job)) { return }
        Self.runElsewhere(job)
    }

    /// Runs a job whose loop has ended: a task is never left lying.
    static func runElsewhere(_ job: UnownedJob) {
        DispatchQueue.global().async { job.runSynchronously(on: elsewhere.asUnownedTaskExecutor()) }
    }

    private static let elsewhere = LoopExecutor()
}
