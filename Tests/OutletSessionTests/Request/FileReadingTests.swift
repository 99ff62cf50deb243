import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Tests transfers that read files in chunks.
@Suite struct FileReadingTests {
    /// Calls a closure with the task at the first chunk, and proceeds.
    private final class Teller: TransferHandler {
        let pieces = Recorder<Int>()
        let ends = Recorder<TransferError?>()
        private let order: @Sendable (any TransferTask) -> Void

        init(_ order: @escaping @Sendable (any TransferTask) -> Void) { self.order = order }

        func transfer(
            _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer,
            turn: TransportTurn
        ) -> TransferDecision {
            if pieces.count == 0 { order(task) }
            pieces.record(chunk.count)
            return .proceed
        }

        func transferDidFinish(
            _ task: any TransferTask, result: TransferResult, turn: TransportTurn
        ) {
            ends.record(result.error)
        }
    }

    /// Reads a file of several chunks.
    private func read(_ teller: Teller) async throws {
        let directory = try TemporaryDirectory()
        try directory.write("", to: "long")
        let path = directory.path("long")
        #expect(truncate(path, 1 << 20) == 0)
        let job = TransferJob(
            request: HTTPRequest(url: URL(filePath: path)), delivery: .chunks)
        let task = FileReading.start(
            job, TransportConfiguration(), Deadlines(), handler: teller)
        _ = try await teller.ends.values(1)
        #expect(task.state == .completed)
    }

    @Test func `a cancelled file transfer reads no more chunks`() async throws {
        let teller = Teller { $0.cancel() }
        try await read(teller)
        #expect(teller.ends.values.first??.code == .cancelled)
        #expect(teller.pieces.count == 1)
    }

    @Test func `a resumed file transfer continues at the same position`() async throws {
        let teller = Teller { task in
            task.suspend()
            task.resume()
        }
        try await read(teller)
        #expect(teller.ends.values == [nil])
        #expect(teller.pieces.values.reduce(0, +) == 1 << 20)
    }
}
