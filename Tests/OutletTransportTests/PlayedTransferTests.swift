import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletTransport

/// Transfers without a network.
@Suite(.timeLimit(.minutes(2))) struct PlayedTransferTests {
    private final class Ending: TransferHandler {
        let results = Recorder<TransferResult>()

        func transferDidFinish(
            _ task: any TransferTask, result: TransferResult, turn: TransportTurn
        ) {
            results.record(result)
        }
    }

    /// Decides about the end of a body, by default when the test does.
    private final class Observer: BodyObserver {
        let asked = Once<@Sendable (TransferError?) -> Void>()
        private let decision: BodyDecision
        private let released: Once<Void>?

        init(_ decision: BodyDecision = .wait, released: Once<Void>? = nil) {
            self.decision = decision
            self.released = released
        }

        deinit { released?.set(()) }

        func transfer(
            _ task: any TransferTask, isAboutToDeliver bytes: UnsafeRawBufferPointer,
            of head: HTTPResponse, goOn: @escaping @Sendable (TransferError?) -> Void
        ) -> BodyDecision {
            guard bytes.isEmpty else { return .proceed }
            asked.set(goOn)
            return decision
        }
    }

    private let queue = DispatchQueue(label: "outlet.test.played")
    private let url = URL(string: "http://a.example/")
    private let handler = Ending()

    private func start(_ observer: Observer) -> PlayedTransfer {
        var job = TransferJob(request: HTTPRequest(url: url))
        job.bodyObserver = observer
        return PlayedTransfer.start(
            KnownResult(
                TransferResult(
                    response: HTTPResponse(url: url, statusCode: 200), body: Data("x".utf8))),
            for: job, on: queue, handler: handler)
    }

    @Test func `a suspended transfer ends when it is resumed, not when its observer decides`()
        async throws
    {
        let observer = Observer()
        let transfer = start(observer)
        let goOn = try await observer.asked.value()
        transfer.suspend()
        goOn(nil)
        queue.sync {}
        #expect(handler.results.values.isEmpty)
        transfer.resume()
        transfer.resume()
        #expect(try await handler.results.values(1)[0].error == nil)
        queue.sync {}
        #expect(handler.results.count == 1)
    }

    @Test(arguments: [TransferError(code: .refused, reason: "no"), nil])
    func `a transfer that has ended retains no observer that keeps it`(
        refusal: TransferError?
    ) async throws {
        let released = Once<Void>()
        let transfer = try await {
            let observer = Observer(released: released)
            let transfer = start(observer)
            // The observer keeps this closure, and with it the transfer.
            try await observer.asked.value()(refusal)
            return transfer
        }()
        #expect(try await handler.results.values(1)[0].error?.code == refusal?.code)
        try await released.value()
        withExtendedLifetime(transfer) {}
    }

    @Test(arguments: [true, false])
    func `the error of an observer has the stage and the host`(isLater: Bool) async throws {
        let refusal = TransferError(code: .refused, reason: "no")
        let observer = Observer(isLater ? .wait : .fail(refusal))
        _ = start(observer)
        if isLater { try await observer.asked.value()(refusal) }
        let error = try await handler.results.values(1)[0].error
        #expect(error?.code == .refused && error?.reason == "no")
        #expect(error?.stage == .receiving && error?.host == "a.example")
    }

    @Test func `a part continues a file without its beginning being read`() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("", to: "file")
        // More than fits into the memory, but a hole that takes no space.
        let size: Int64 = 1 << 42
        #expect(truncate(path, Int(size) + 10) == 0)
        var result = TransferResult(response: HTTPResponse(url: url, statusCode: 206))
        result.deliver(Data("abc".utf8), as: .file(path: path, offset: size))
        #expect(result.error == nil)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var end = [UInt8](repeating: 0, count: 10)
        #expect(pread(descriptor, &end, end.count, Int(size)) == 3)
        #expect(end.starts(with: "abc".utf8))
    }
}
