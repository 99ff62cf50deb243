import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Records the callbacks of a transfer, and waits for its end.
final class Recorder: TransferHandler {
    private struct State {
        var used: [HTTPResponse] = []
        var heads: [HTTPResponse] = []
        var sources: [ResponseSource] = []
        var lastRequest: HTTPRequest?
        var result: TransferResult?
        var waiter: CheckedContinuation<TransferResult, Never>?
    }
    private let state = Lock(State())

    func transfer(_ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn) {
        state.withLock { $0.used.append(head) }
    }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        let source = task.source
        state.withLock { state in
            state.heads.append(head)
            state.sources.append(source)
        }
        return .proceed
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        let request = task.currentRequest
        let waiter = state.withLock { state in
            state.result = result
            state.lastRequest = request
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: result)
    }

    /// The result of the transfer.
    var result: TransferResult {
        get async {
            await withCheckedContinuation { waiter in
                let result = state.withLock { state in
                    if state.result == nil { state.waiter = waiter }
                    return state.result
                }
                if let result { waiter.resume(returning: result) }
            }
        }
    }

    var used: [HTTPResponse] { state.withLock { $0.used } }
    var heads: [HTTPResponse] { state.withLock { $0.heads } }
    var sources: [ResponseSource] { state.withLock { $0.sources } }
    /// The task's request at the end.
    var lastRequest: HTTPRequest? { state.withLock { $0.lastRequest } }
}

extension Transport {
    /// Sends a request, and waits for the end.
    func send(_ request: HTTPRequest) async -> Recorder {
        let recorder = Recorder()
        _ = start(TransferJob(request: request), handler: recorder)
        _ = await recorder.result
        return recorder
    }
}
