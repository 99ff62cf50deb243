import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// A stub transport that calls a closure while it starts a job, before its caller has a task.
final class InterruptingTransport: Transport {
    /// The transport that answers.
    let stub: StubTransport
    /// The tasks that were started.
    let tasks = Recorder<any TransferTask>()
    private let interruption = Lock<(number: Int, call: @Sendable () -> Void)?>(nil)
    private let count = Lock(0)

    init(_ responder: @escaping StubTransport.Responder) {
        stub = StubTransport(responder)
    }

    /// Waits for `count` tasks, and returns the one that was started last.
    ///
    /// Compares identifiers, because threads that start tasks may record them in another order.
    func latest(of count: Int) async throws -> any TransferTask {
        let all = try await tasks.values(count)
        return try #require(all.max { $0.identifier < $1.identifier })
    }

    /// Calls `body` once, while the transfer with the given number is started.
    ///
    /// - Parameters:
    ///   - number: The number of the transfer; the first is 1.
    ///   - body: Called on the thread that starts the transfer.
    func interrupt(start number: Int = 1, with body: @escaping @Sendable () -> Void) {
        interruption.withLock { $0 = (number, body) }
    }

    private func willTake() {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let call = interruption.withLock { interruption -> (@Sendable () -> Void)? in
            guard interruption?.number == number else { return nil }
            return interruption.take()?.call
        }
        call?()
    }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        willTake()
        let task = stub.start(job, handler: handler)
        tasks.record(task)
        return task
    }

    func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        willTake()
        let task = stub.connect(job, handler: handler)
        tasks.record(task)
        return task
    }

    func shutDown() { stub.shutDown() }
}
