import Dispatch
import Glibc
import Outlet
import Synchronization

/// Runs a command's asynchronous work; the first SIGINT or SIGTERM cancels it, a second one ends
/// the process at once, and so does what holds the process up after the first.
///
/// The main thread waits here instead of being given to the concurrency runtime: that would cost
/// a millisecond and several threads before the first line of work, also for `--help`.
final class Interruption: Sendable {
    private struct State {
        /// Whether there is nothing to cancel yet.
        var isPreparing = true
        var received: Int32?
        var cancel: (@Sendable () -> Void)?
        var code: ExitCode?
    }
    private let state = Mutex(State())
    private let console: Console

    private init(_ console: Console) { self.console = console }

    /// Runs work that nothing but the end of the process ends: a signal ends that, and says what was
    /// waited for, and so does a limit.
    ///
    /// - Parameters:
    ///   - limit: How long the work may take, in seconds; `nil` for any time.
    ///   - name: What it is, for the error.
    ///
    /// Thread: the main one.
    static func run<Result>(
        _ console: Console, limit: Double? = nil, of name: String = "",
        blocking work: () throws -> Result
    ) rethrows -> Result {
        let timer = limit.map { seconds in
            let timer = DispatchSource.makeTimerSource(queue: .global())
            timer.schedule(deadline: .now() + seconds)
            timer.setEventHandler {
                ProcessEnd.endNow(
                    console,
                    with: CommandError(
                        .timeout, "\(name): not done within \(seconds) s",
                        advice: "--timeout allows more"))
            }
            timer.activate()
            return timer
        }
        defer { timer?.cancel() }
        let source = SignalPipe.open([SIGINT, SIGTERM]) { number in
            ProcessEnd.endNow(console, with: CommandError(endedBy: number))
        }
        defer { source?.cancel() }
        return try work()
    }

    /// Runs work to its end, blocking the caller.
    ///
    /// - Parameters:
    ///   - prepare: Makes the command; a signal ends the process meanwhile.
    ///   - work: What the command does.
    /// - Returns: What the work answers, or the code of the signal that came meanwhile.
    /// - Throws: What `prepare` throws.
    ///
    /// Thread: the main one; never one of the concurrency runtime's own.
    static func run<Command: Sendable>(
        _ console: Console, preparing prepare: () throws -> Command,
        _ work: @escaping @Sendable (Command) async -> ExitCode
    ) throws -> ExitCode {
        let interruption = Interruption(console)
        let done = DispatchSemaphore(value: 0)
        // Before the work begins: a signal that comes with its first output is not lost.
        let source = SignalPipe.open([SIGINT, SIGTERM]) { interruption.receive($0) }
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
        return state.received.map(ExitCode.init(signal:)) ?? state.code ?? .failure
    }

    /// Cancels at the first signal, ends the process at the second.
    private func receive(_ number: Int32) {
        let (isFirst, cancel) = state.withLock { state in
            let isFirst = state.received == nil && !state.isPreparing
            if isFirst { state.received = number }
            return (isFirst, state.cancel)
        }
        let error = CommandError(endedBy: number)
        guard isFirst else { ProcessEnd.endNow(console, with: error) }
        ProcessEnd.hasten(console, with: error, finishesOutput: false)
        cancel?()
    }

    /// What to do at the first signal; done at once if it came already.
    private func onSignal(_ cancel: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.cancel = cancel
            return state.received != nil
        }
        if isLate { cancel() }
    }
}

/// Signals as bytes of a pipe: the handler writes the number, a dispatch source reads it.
///
/// A dispatch source for signals needs them blocked in every thread, the main one too, or loses
/// those that come while the disposition is to ignore them.
private enum SignalPipe {
    nonisolated(unsafe) private static var writer: Int32 = -1
    // because it is written once, before the handler that reads it is installed.

    /// Calls `body` for each of those signals, on a queue, until the source is cancelled.
    ///
    /// - Returns: `nil` when the system gives no pipe; signals then have their usual effect.
    static func open(
        _ numbers: [Int32], _ body: @escaping @Sendable (Int32) -> Void
    ) -> (any DispatchSourceRead)? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let reader = ends[0]
        writer = ends[1]
        let source = DispatchSource.makeReadSource(fileDescriptor: reader, queue: .global())
        source.setEventHandler {
            var number: UInt8 = 0
            while read(reader, &number, 1) == 1 { body(Int32(number)) }
        }
        source.setCancelHandler { close(reader) }
        source.resume()
        for number in numbers {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                var byte = UInt8(truncatingIfNeeded: number)
                let saved = errno
                _ = write(SignalPipe.writer, &byte, 1)
                errno = saved
            }
            action.sa_flags = SA_RESTART
            sigaction(number, &action, nil)
        }
        return source
    }
}

extension CommandError {
    /// The end by a signal.
    fileprivate init(endedBy number: Int32) {
        let code = ExitCode(signal: number)
        self.init(code, code == .terminated ? "terminated" : "interrupted")
    }
}

extension ExitCode {
    /// 128 and the signal's number, as shells count.
    init(signal number: Int32) { self = number == SIGTERM ? .terminated : .interrupted }
}
