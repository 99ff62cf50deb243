import CCurl
import Dispatch
import OutletPointers
import OutletTransport

/// Runs Swift tasks on a loop's thread, so that a task that awaits one transfer after another
/// changes threads no more.
///
/// Its address stands for the loop where threads are told apart: it outlives the loop as long as
/// anybody can ask.
final class LoopExecutor: TaskExecutor, @unchecked Sendable {
    // because the jobs are touched by the loop's driver alone.

    private let loop = Lock<EventLoop?>(nil)
    /// What the loop's own thread has left here since jobs were last run; the first needs no array.
    private var next: UnownedJob?
    private var others: [UnownedJob] = []

    /// Made once: asking for it takes three calls.
    private lazy var reference = asUnownedTaskExecutor()

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

    // MARK: Threads

    private var address: UnsafeRawPointer {
        UnsafeRawPointer(ObjectPointer.unretained(self))
    }

    /// Whether the calling thread drives the loop.
    ///
    /// Thread: any.
    var isCurrent: Bool { ccurl_is_loop(address) }

    /// The calling thread drives the loop from now on.
    ///
    /// - Returns: What it drove before, for ``leave(for:)``.
    func enter() -> UnsafeRawPointer? { ccurl_enter_loop(address) }

    /// The calling thread drives what it drove before.
    func leave(for former: UnsafeRawPointer?) { _ = ccurl_enter_loop(former) }

    // MARK: Jobs

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            if next == nil { next = job } else { others.append(job) }
            return
        }
        let loop = loop.withLock { $0 }
        if let loop, loop.post(.run(job)) { return }
        Self.runElsewhere(job)
    }

    /// Whether the loop's own thread has left jobs.
    var hasJobs: Bool {
        assert(isCurrent, "jobs looked for off the loop's thread")
        return next != nil
    }

    /// Runs a job; on the loop's thread.
    func run(_ job: UnownedJob) {
        assert(isCurrent, "a job run off the loop's thread")
        job.runSynchronously(on: reference)
    }

    /// Runs the jobs that the loop's own thread has left; what these leave waits for the next call.
    func runJobs() {
        guard let job = next.take() else { return }
        guard !others.isEmpty else { return run(job) }
        let rest = others
        others = []
        run(job)
        for job in rest { run(job) }
    }

    /// Runs the jobs that are left somewhere else, as their loop has ended.
    func runJobsElsewhere() {
        if let job = next.take() { Self.runElsewhere(job) }
        for job in others { Self.runElsewhere(job) }
        others = []
    }

    /// Runs a job whose loop has ended: a task is never left lying.
    static func runElsewhere(_ job: UnownedJob) {
        DispatchQueue.global().async { job.runSynchronously(on: elsewhere.asUnownedTaskExecutor()) }
    }

    private static let elsewhere = LoopExecutor()
}
