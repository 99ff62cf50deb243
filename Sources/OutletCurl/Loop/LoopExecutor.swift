import CCurl
import Dispatch
import OutletPointers
import OutletTransport

/// Runs Swift tasks on a loop's thread, so that a task that awaits one transfer after another does
/// not switch threads.
///
/// Its address identifies the loop in the thread-local variable behind ``isCurrent``. The executor
/// may outlive the loop, because users keep references to it.
final class LoopExecutor: TaskExecutor, @unchecked Sendable {
    // because only the thread that drives the loop uses the jobs.

    private let loop = Lock<EventLoop?>(nil)
    /// The jobs enqueued on the loop's own thread since the last ``runJobs()``.
    ///
    /// The first one is stored separately, because a single job is the usual case and needs no
    /// array.
    private var next: UnownedJob?
    private var others: [UnownedJob] = []

    /// Cached, because making it takes three calls.
    private lazy var reference = asUnownedTaskExecutor()

    /// Sets or clears the loop.
    ///
    /// The loop and the executor keep each other alive until the loop has ended and calls this with
    /// `nil`. The reference is not weak, because a weak one makes every retain and release of the
    /// loop slower.
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

    /// Records that the calling thread drives the loop from now on.
    ///
    /// - Returns: The loop that the thread drove before, for ``leave(for:)``.
    func enter() -> UnsafeRawPointer? { ccurl_enter_loop(address) }

    /// Records that the calling thread drives the previous loop again.
    ///
    /// - Parameter former: What ``enter()`` returned.
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

    /// Whether jobs wait for ``runJobs()``.
    var hasJobs: Bool {
        assert(isCurrent, "jobs looked for off the loop's thread")
        return next != nil
    }

    /// Runs a job on the calling thread, which must drive the loop.
    func run(_ job: UnownedJob) {
        assert(isCurrent, "a job run off the loop's thread")
        job.runSynchronously(on: reference)
    }

    /// Runs the waiting jobs.
    ///
    /// Jobs that these enqueue wait for the next call.
    func runJobs() {
        guard let job = next.take() else { return }
        guard !others.isEmpty else { return run(job) }
        let rest = others
        others = []
        run(job)
        for job in rest { run(job) }
    }

    /// Runs the waiting jobs on a global dispatch queue, because the loop has ended.
    func runJobsElsewhere() {
        if let job = next.take() { Self.runElsewhere(job) }
        for job in others { Self.runElsewhere(job) }
        others = []
    }

    /// Runs a job on a global dispatch queue, because its loop has ended: every task has to finish.
    static func runElsewhere(_ job: UnownedJob) {
        DispatchQueue.global().async { job.runSynchronously(on: elsewhere.asUnownedTaskExecutor()) }
    }

    private static let elsewhere = LoopExecutor()
}
