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
        let sources = [SIGINT, SIGTERM].map { number in
            // The source sees the signal only when the default action is off.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                if interruption.receive(number) {
                    task.cancel()
                } else {
                    _exit(ExitCode(signal: number).rawValue)
                }
            }
            source.resume()
            return source
        }
        let code = await task.value
        for source in sources { source.cancel() }
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

extension ExitCode {
    /// 128 and the signal's number, as shells count.
    init(signal number: Int32) { self = number == SIGTERM ? .terminated : .interrupted }
}
