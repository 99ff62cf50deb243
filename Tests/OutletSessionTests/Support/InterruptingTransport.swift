import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// A stub transport that calls a closure while it takes a job: its caller has no task by then.
final class InterruptingTransport: Transport {
    /// What answers.
    let stub: StubTransport
    /// The tasks that it has begun.
    let tasks = Recorder<any TransferTask>()
    private let interruption = Lock<(number: Int, call: @Sendable () -> Void)?>(nil)
    private let count = Lock(0)

    init(_ responder: @escaping StubTransport.Responder) {
        stub = StubTransport(responder)
    }

    /// The task that was begun last, once there are so many: the thread that has begun one may come to
    /// note it after the next.
    func latest(of count: Int) async throws -> any TransferTask {
        let all = try await tasks.values(count)
        return try #require(all.max { $0.identifier < $1.identifier })
    }

    /// Calls `body` inside the start of that transfer; the first is number 1.
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
