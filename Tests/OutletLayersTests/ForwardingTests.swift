import FoundationEssentials
import OutletHTTP
import OutletTesting
import OutletTransport
import Testing

/// A handler that wraps another one and implements no callback itself.
@Suite struct ForwardingTests {
    private final class Forwarder: ForwardingTransferHandler {
        let handler: any TransferHandler

        init(_ handler: any TransferHandler) { self.handler = handler }
    }

    /// Records each call, and returns values that differ from the defaults.
    private final class Noting: TransferHandler {
        private let calls = Lock([String]())
        var noted: [String] { calls.withLock { $0 } }

        private func note(_ call: String) { calls.withLock { $0.append(call) } }

        func transfer(_ task: any TransferTask, didRefuseServer refusal: any Error) {
            note("refused \(refusal)")
        }

        func transfer(_ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn) {
            note("used \(head.statusCode)")
        }

        func transferNeedsNewBody(_ task: any TransferTask) throws(TransferError) {
            note("needs a new body")
            throw TransferError(code: .requestBodyStreamExhausted, reason: "noted")
        }

        func transfer(
            _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
        ) -> TransferDecision {
            note("head \(head.statusCode)")
            return .deliver(.chunks)
        }

        func transfer(
            _ task: any TransferTask, didReceive chunk: UnsafeRawBufferPointer, turn: TransportTurn
        ) -> TransferDecision {
            note("chunk of \(chunk.count)")
            return .pause
        }

        func transfer(
            _ task: any TransferTask, didProgress progress: TransferCounts, turn: TransportTurn
        ) {
            note("progress")
        }

        func transferDidFinish(
            _ task: any TransferTask, result: TransferResult, turn: TransportTurn
        ) {
            note("end \(result.response?.statusCode ?? 0)")
        }
    }

    @Test func `a forwarding handler passes on each call and returns its result`() {
        let noting = Noting()
        let forwarder = Forwarder(noting)
        let task = StubTransport(answers: [.silence]).start(
            TransferJob(request: HTTPRequest(url: nil)), handler: Noting())
        let (turn, head) = (TransportTurn(), HTTPResponse(url: nil, statusCode: 418))
        forwarder.transfer(task, didRefuseServer: TransferError(code: .unknown, reason: "x"))
        forwarder.transfer(task, didUse: head, turn: turn)
        #expect(throws: TransferError.self) { try forwarder.transferNeedsNewBody(task) }
        guard case .deliver(.chunks) = forwarder.transfer(task, didReceive: head, turn: turn) else {
            Issue.record("another decision about the head")
            return
        }
        let decision = [1, 2].withUnsafeBytes {
            forwarder.transfer(task, didReceive: $0, turn: turn)
        }
        guard case .pause = decision else {
            Issue.record("another decision about the chunk")
            return
        }
        forwarder.transfer(task, didProgress: TransferCounts(), turn: turn)
        forwarder.transferDidFinish(task, result: TransferResult(response: head), turn: turn)
        let heads = noting.noted.map { $0.prefix(while: { $0 != " " }) }
        #expect(heads == ["refused", "used", "needs", "head", "chunk", "progress", "end"])
        #expect(noting.noted.suffix(3) == ["chunk of 16", "progress", "end 418"])
        task.cancel()
    }
}
