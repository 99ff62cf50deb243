import CPluginCheck
import Dispatch
import FoundationEssentials
import Glibc
import OutletFiles
import OutletPluginHost
import OutletTransport

/// The child process of a checker, which runs one test and reports its findings.
public enum PluginCheckChild {
    /// Whether a checker has started this program as its child.
    ///
    /// - Parameter arguments: The command-line arguments without the program's name.
    public static func isMeant(by arguments: [String]) -> Bool {
        arguments == [CheckProcess.argument]
    }

    /// Runs the test that the first line of standard input describes, and ends the process.
    ///
    /// The test runs in a copy of the process. The process itself adopts the processes that the plugin
    /// starts, and ends those that are left.
    ///
    /// Writes the report to file descriptor 3, and the lines of ``PluginWatch`` to 4. Kills the
    /// process group when standard input reaches its end, which means that the checker has ended.
    /// Exits with the job's exit code after the report; with 7 when there is no valid job or the
    /// plugin calls `exit()`.
    ///
    /// The test ``CheckTest/exit`` calls `exit()`. The report then ends in an exit handler that
    /// runs after those that the plugin has registered, and before the destructors of libraries,
    /// which cannot know the exit code. So a plugin that ends the process in one of them is detected.
    ///
    /// Thread: main.
    public static func run() -> Never {
        // Without it (ulimit -u), only the processes of its group are ended.
        _ = cplugincheck_supervise()
        guard fcntl(reportDescriptor, F_SETFD, FD_CLOEXEC) == 0,
            fcntl(watchDescriptor, F_SETFD, FD_CLOEXEC) == 0, let job = readJob(),
            let input = keepInput(), cplugincheck_end_with(input) == 0
        else { PluginWatch.endProcess(exitCode) }
        // Registered before the plugin can register handlers: handlers run in reverse order.
        atexit { PluginCheckChild.unfinished.withLock { $0.take() }?.end() }
        var none = rlimit()
        _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        cplugincheck_end_copies()
        PluginWatch.begin(exitCode: exitCode, reportingTo: watchDescriptor)
        PluginWatch.keep(reportDescriptor)
        PluginWatch.keep(input)
        PluginWatch.guardExits()
        let report = CheckReport(descriptor: reportDescriptor, mark: job.mark)
        enterPrivateDirectory(reportingTo: report, of: job)
        if !job.test.measuresLeaks { EndedViews.begin() }
        reportHangs(to: report, before: job.limit)
        reportManyThreads(to: report, of: job)
        let subject = CheckSubject(job: job, report: report)
        reportProgress(of: subject.calls, to: report, within: job.limit)
        let done = DispatchSemaphore(value: 0)
        Task {
            do {
                try await subject.check()
            } catch let error as PluginLoadError {
                report.find(error.rule, error.fact, advice: error.advice)
            } catch {
                report.find(.createStarts, "\(error)")
            }
            done.signal()
        }
        done.wait()
        reportStartedProcesses(to: report)
        fflush(nil)
        guard job.test == .exit else {
            report.end()
            PluginWatch.endProcess(job.exitCode)
        }
        unfinished.withLock { $0 = report }
        PluginWatch.expectExit()
        exit(job.exitCode)
    }

    /// Makes an empty directory below the temporary one the current directory, so that a plugin that
    /// takes a made-up text for the name of a file does not change files of the user.
    ///
    /// It is a deep one: a name that the plugin makes, such as `../x`, does not leave the temporary
    /// directory, which is removed after the test.
    private static func enterPrivateDirectory(reportingTo report: CheckReport, of job: CheckJob) {
        var directory = FileManager.default.temporaryDirectory
        for _ in 0..<depth {
            directory = directory.appending(path: "private")
            guard mkdir(directory.path, 0o700) == 0, chdir(directory.path) == 0 else {
                report.cannotRun("\(directory.path): \(systemText(errno))")
                report.end()
                PluginWatch.endProcess(job.exitCode)
            }
        }
    }

    /// The levels of the current directory below the temporary one.
    private static let depth = 8

    /// Part of the finding about a call that does not return.
    static let hangFact = "it has not returned from"

    /// Reports a call into a plugin that does not return, shortly before the checker ends the test.
    private static func reportHangs(to report: CheckReport, before limit: Duration) {
        let most = UInt64(max(0, limit / .nanoseconds(1)) * 0.9)
        DispatchQueue(label: "outlet.check.hangs").async {
            while true {
                usleep(50_000)
                let call = PluginHost.activeCalls.first { !$0.isPending }
                guard let call, call.duration >= most else { continue }
                let seconds = (Double(call.duration) / 1e9 * 10).rounded() / 10
                return report.find(
                    call.hook == .load ? .loadQuick : .callReturns,
                    "\(call.plugin): \(hangFact) \(call.hook.rawValue) for \(seconds) s"
                )
            }
        }
    }

    /// Lets a step that takes longer than its time limit go on, as long as calls of the plugin return.
    ///
    /// Such as those for the pieces of a body. The whole test has a time limit, too.
    private static func reportProgress(
        of calls: CallCounter, to report: CheckReport, within limit: Duration
    ) {
        let interval = UInt32(clamping: Int64(limit / .microseconds(1)) / 4)
        DispatchQueue(label: "outlet.check.progress").async {
            var last = 0
            while true {
                usleep(max(interval, 1000))
                let count = calls.count
                if count > last, !report.hasFailed { report.repeatStep() }
                last = count
            }
        }
    }

    /// How many more threads may run than before the plugins were loaded.
    private static let mostThreads = 1000

    /// Reports a plugin of which too many threads run at a time, and ends the test: without threads, the
    /// test would fail for another reason.
    private static func reportManyThreads(to report: CheckReport, of job: CheckJob) {
        let first = cplugincheck_thread_count()
        DispatchQueue(label: "outlet.check.threads").async {
            while true {
                usleep(10_000)
                let count = cplugincheck_thread_count() - first
                guard count > mostThreads else { continue }
                let plugins = Set(PluginWatch.threads.map(\.plugin)).sorted()
                let names = plugins.isEmpty ? job.file : plugins.joined(separator: ", ")
                report.find(
                    job.test.createsInstancesOnly ? .destroyFrees : .callFrees,
                    "\(names): \(count) more threads run than before it was loaded; \(mostThreads) "
                        + "are allowed",
                    advice: "end the threads that a call or an instance has started with it")
                report.end()
                PluginWatch.endProcess(job.exitCode)
            }
        }
    }

    /// How long processes that the plugin has started may run after its end, in milliseconds.
    private static let graceOfProcesses = 1000

    /// Reports processes that the plugin has started and that do not end soon after its instances.
    private static func reportStartedProcesses(to report: CheckReport) {
        let deadline = ContinuousClock.now + .milliseconds(graceOfProcesses)
        var process = cplugincheck_process()
        var count = cplugincheck_started_processes(&process, 1)
        while count > 0, ContinuousClock.now < deadline {
            usleep(10_000)
            count = cplugincheck_started_processes(&process, 1)
        }
        guard count > 0 else { return }
        let name = withUnsafeBytes(of: process.name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        report.find(
            .destroyFrees,
            "processes that the plugin has started run after its end: \(count), such as \(name)",
            advice: "end what it has started, and wait for that, in quiesce and destroy")
    }

    /// The report that the exit handler ends; `nil` until the process exits by itself.
    private static let unfinished = Lock<CheckReport?>(nil)

    private static let reportDescriptor: Int32 = 3
    private static let watchDescriptor: Int32 = 4
    /// The exit code when a plugin calls `exit()` or there is no valid job.
    private static let exitCode: Int32 = 7

    /// Makes `/dev/null` the standard input, as it is in `outlet`, where plugins run.
    ///
    /// - Returns: The descriptor of the former one; `nil` if there is no free one.
    private static func keepInput() -> Int32? {
        let input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, watchDescriptor + 1)
        let nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(nowhere) }
        guard input >= 0, nowhere >= 0, dup2(nowhere, STDIN_FILENO) >= 0 else { return nil }
        return input
    }

    /// Reads the job from the first line of standard input; `nil` when it is not valid.
    private static func readJob() -> CheckJob? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(STDIN_FILENO, &byte, 1) == 1 {
            if byte == UInt8(ascii: "\n") { return CheckJob(line) }
            line.append(byte)
        }
        return nil
    }
}

extension CheckSubject {
    /// Runs the test.
    fileprivate func check() async throws {
        switch job.test {
        case .file: try checkFile()
        case .load: try checkLoading()
        case .entry: checkEntry()
        case .create: try await checkCreating()
        case .configurations: try await checkConfigurations()
        case .createAgain: try await checkCreatingAgain()
        case .reconfigure: try await checkReconfiguring()
        case .instances: try await checkInstances()
        case .hooks: try await checkHooks()
        case .overlap: try await checkOverlap()
        case .nonblocking: try await checkNonblocking()
        case .cancel: try await checkCancelling()
        case .deadlines: try await checkDeadlines()
        case .functions: try await checkFunctions()
        case .shutdown: try await checkShutdown()
        case .state: try await checkState()
        case .callAgain: try await checkCallingAgain()
        case .exit: try await checkExit()
        }
    }
}
