import Dispatch
import Glibc
import Outlet
import OutletThreads
import OutletTransport
import Synchronization

/// Runs a command and handles SIGINT, SIGTERM and SIGHUP.
///
/// The first signal cancels asynchronous work, also the shutdown of plugins. A second one ends the
/// process immediately. The process also ends if something blocks it after the first signal: see
/// ``ProcessEnd``.
///
/// The main thread blocks here instead of running as an asynchronous `main`. That would take a
/// millisecond and start several threads before any work, even for `--help`.
final class Interruption: Sendable {
    private struct State {
        /// Whether the command is being made, so that there is nothing to cancel yet.
        var isPreparing = true
        var received: Int32?
        var cancel: (@Sendable () -> Void)?
        var code: ExitCode?
    }
    private let state = Lock(State())
    private let console: Console

    private init(_ console: Console) { self.console = console }

    /// Runs synchronous work, which cannot be cancelled.
    ///
    /// A signal or the time limit ends the process, with an error that names what blocked it.
    ///
    /// - Parameters:
    ///   - console: Where to report the error.
    ///   - limit: The time limit in seconds; `nil` for none.
    ///   - name: The name of the command, for the error.
    ///   - work: The work.
    ///
    /// Thread: the main thread.
    static func run<Result>(
        _ console: Console, limit: Double? = nil, of name: String = "",
        blocking work: () throws -> Result
    ) rethrows -> Result {
        let isDone = Lock(false)
        if let limit {
            let error = CommandError(
                .timeout, "\(name): not done within \(limit) s", advice: "--timeout allows more")
            SleepingThread.run(after: limit) {
                if !isDone.withLock({ $0 }) { ProcessEnd.endNow(console, with: error) }
            }
        }
        defer { isDone.withLock { $0 = true } }
        let source = SignalPipe.open() { number in
            ProcessEnd.endNow(console, with: CommandError(endedBy: number))
        }
        defer { source?.cancel() }
        return try work()
    }

    /// Runs asynchronous work, and blocks until it has ended.
    ///
    /// - Parameters:
    ///   - console: Where to report errors.
    ///   - prepare: Makes the command; a signal during this call ends the process.
    ///   - work: Runs the command, in a task that the first signal cancels.
    /// - Returns: The exit code of a report that was printed whole, or else of the first signal, or else
    ///   that of `work`.
    /// - Throws: Any error of `prepare`.
    ///
    /// Thread: the main thread, never a thread of the concurrency runtime, because it blocks.
    static func run<Command: Sendable>(
        _ console: Console, preparing prepare: () throws -> Command,
        _ work: @escaping @Sendable (Command) async -> ExitCode
    ) throws -> ExitCode {
        let interruption = Interruption(console)
        let done = DispatchSemaphore(value: 0)
        // Installed before the work starts, so that a signal sent at its first output is not lost.
        let source = SignalPipe.open() { interruption.receive($0) }
        defer { source?.cancel() }
        let command = try prepare()
        interruption.state.withLock { $0.isPreparing = false }
        let task = Task {
            let code = await work(command)
            interruption.state.withLock { $0.code = code }
            done.signal()
        }
        interruption.onSignal { task.cancel() }
        done.wait()
        let state = interruption.state.withLock { $0 }
        return ProcessEnd.codeOfReport ?? state.received.map(ExitCode.init(signal:)) ?? state.code
            ?? .failure
    }

    /// Handles a signal: cancels the work at the first one, ends the process at the second one.
    private func receive(_ number: Int32) {
        CommandError.signal.store(number, ordering: .relaxed)
        let (isFirst, cancel) = state.withLock { state in
            let isFirst = state.received == nil && !state.isPreparing
            if isFirst { state.received = number }
            return (isFirst, state.cancel)
        }
        let error = CommandError(endedBy: number)
        guard isFirst else { ProcessEnd.endNow(console, with: error) }
        ProcessEnd.endIfBlocked(console, with: error, finishesOutput: false)
        cancel?()
    }

    /// Sets the closure that the first signal calls; calls it now if there was a signal already.
    private func onSignal(_ cancel: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.cancel = cancel
            return state.received != nil
        }
        if isLate { cancel() }
    }
}

/// Receives signals through a pipe: the handler writes the signal's number, a thread reads it.
///
/// The thread exists before plugins are loaded, as those of ``SleepingThread``. A dispatch source for
/// signals cannot replace it: it needs the signals blocked in all threads, or ignored, and loses
/// signals that are ignored before the source is active.
private struct SignalPipe {
    /// The writing end, which is never closed, because a handler may be about to write to it.
    private static let writer = Atomic<Int32>(-1)
    /// Whether the thread that reads the pipe must end.
    private final class Cancellation: Sendable {
        let isSet = Atomic(false)
    }

    /// The number of signals received so far.
    private static let received = Atomic(0)
    /// The signals received so far, a bit each: other bytes in the pipe are a plugin's.
    private static let numbers = Atomic<UInt64>(0)
    /// The number of signals at which the handler itself ends the process, in case a plugin has
    /// closed the pipe or the descriptors of the queues.
    private static var lastSignal: Int { 3 }

    private let cancellation: Cancellation

    /// Calls `body` with the number of each signal received, until ``cancel()``.
    ///
    /// Signals that are ignored stay ignored: the program was started with `nohup`, or in the
    /// background of a script, which ^C must not end.
    ///
    /// - Returns: Stops the calls; `nil` if no pipe or no thread can be made, and signals then have
    ///   their usual effect.
    ///
    /// Thread: `body` is called on a thread of its own.
    static func open(_ body: @escaping @Sendable (Int32) -> Void) -> SignalPipe? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        let reader = ends[0]
        let cancellation = Cancellation()
        let code = SystemThread.start(named: "outlet-signals") {
            var number: UInt8 = 0
            while true {
                let count = read(reader, &number, 1)
                if cancellation.isSet.load(ordering: .acquiring) || count < 0 && errno != EINTR {
                    break
                }
                let bit: UInt64 = 1 << UInt64(number)
                if count == 1, numbers.load(ordering: .acquiring) & bit != 0 { body(Int32(number)) }
            }
        }
        SleepingThread.begin()
        guard code == 0 else {
            for end in ends { close(end) }
            return nil
        }
        writer.store(ends[1], ordering: .relaxed)
        // Initialized here, because the first use must not be in a signal handler.
        received.store(0, ordering: .relaxed)
        numbers.store(0, ordering: .relaxed)
        for number in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(number) {
            var action = sigaction()
            action.__sigaction_handler.sa_sigaction = { number, info, _ in
                if let info { PluginWatch.endIfPluginSent(number, info) }
                let count = SignalPipe.received.add(1, ordering: .relaxed).newValue
                if count >= SignalPipe.lastSignal { PluginWatch.endProcess(128 + number) }
                SignalPipe.numbers.bitwiseOr(1 << UInt64(number), ordering: .releasing)
                var byte = UInt8(truncatingIfNeeded: number)
                let saved = errno
                _ = write(SignalPipe.writer.load(ordering: .relaxed), &byte, 1)
                errno = saved
            }
            action.sa_flags = SA_RESTART | SA_SIGINFO
            sigaction(number, &action, nil)
        }
        return SignalPipe(cancellation: cancellation)
    }

    /// Stops the calls; from now on, the handler itself ends the process.
    func cancel() {
        Self.received.store(Self.lastSignal, ordering: .relaxed)
        cancellation.isSet.store(true, ordering: .releasing)
        // Ends the thread's wait.
        var byte: UInt8 = 0
        _ = write(SignalPipe.writer.load(ordering: .relaxed), &byte, 1)
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        // The handler is a pointer that Swift cannot compare: SIG_IGN has the bits 1.
        return sigaction(number, nil, &action) == 0
            && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }
}

extension CommandError {
    /// The signal that cancels the work; SIGINT if there was none.
    fileprivate static let signal = Atomic(SIGINT)

    /// The error of work that a signal has cancelled.
    ///
    /// - Parameter place: What was cancelled.
    static func cancelled(_ place: String) -> CommandError {
        CommandError(
            signalCode, "\(place): \(word(for: signal.load(ordering: .relaxed)))")
    }

    /// The exit code of work that a signal has cancelled.
    static var signalCode: ExitCode { ExitCode(signal: signal.load(ordering: .relaxed)) }

    /// Makes the error of a program that a signal ends.
    fileprivate init(endedBy number: Int32) {
        self.init(ExitCode(signal: number), CommandError.word(for: number))
    }

    private static func word(for number: Int32) -> String {
        switch number {
        case SIGTERM: "terminated"
        case SIGHUP: "hung up"
        default: "interrupted"
        }
    }
}

extension ExitCode {
    /// Makes the exit code that shells use for a signal: 128 plus its number.
    init(signal number: Int32) { self = ExitCode(rawValue: 128 + number) ?? .interrupted }
}
