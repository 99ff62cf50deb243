import Dispatch
import Glibc
import Synchronization

/// Turns the first SIGINT or SIGTERM into a cancellation, and a second one into an end at once.
final class Interruption: Sendable {
    private let received = Mutex<Int32?>(nil)

    /// Runs work that a signal may cancel.
    ///
    /// - Returns: What the work answers, or the code of the signal that came meanwhile.
    static func run(_ work: @escaping @Sendable () async -> ExitCode) async -> ExitCode {
        let interruption = Interruption()
        let task = Task(operation: work)
        let source = SignalPipe.open([SIGINT, SIGTERM]) { number in
            if interruption.receive(number) {
                task.cancel()
            } else {
                _exit(ExitCode(signal: number).rawValue)
            }
        }
        let code = await task.value
        source?.cancel()
        return interruption.received.withLock { $0 }.map(ExitCode.init(signal:)) ?? code
    }

    /// Notes a signal; whether it is the first.
    private func receive(_ number: Int32) -> Bool {
        received.withLock { received in
            defer { received = received ?? number }
            return received == nil
        }
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

extension ExitCode {
    /// 128 and the signal's number, as shells count.
    init(signal number: Int32) { self = number == SIGTERM ? .terminated : .interrupted }
}
