package import Dispatch
import FoundationEssentials
package import OutletHTTP

/// A transfer whose result is known: it is played to the handler as if it came from a network.
package final class PlayedTransfer: TransferTask, @unchecked Sendable {
    // because all that changes is touched on `queue` only.

    private static let pieceSize = 64 << 10

    package let identifier = TransferIdentifier.next()
    private let queue: DispatchQueue
    private let request: HTTPRequest
    private let known: TransferResult
    private let body: Data
    private let visible = VisibleState()

    /// Set to `nil` at the end, so that the end is reported once only.
    private var handler: (any TransferHandler)?
    private var delivery: BodyDelivery
    private var reportsProgress: Bool
    private var isHeadTold = false
    private var offset = 0
    private var isSuspended: Bool
    /// All is told but the end.
    private var isEnding = false

    /// Begins to play a result.
    ///
    /// - Parameters:
    ///   - result: What comes in the end. Its head is told first, if it has one; its body goes into a
    ///     file, if the job or the handler says so.
    ///   - job: What the result is for.
    ///   - isSuspended: Whether nothing is told before ``resume()``.
    ///   - queue: Where the handler is told; serial.
    ///   - handler: Told as by a transport.
    package static func start(
        _ result: TransferResult, for job: TransferJob, isSuspended: Bool = false,
        on queue: DispatchQueue, handler: any TransferHandler
    ) -> PlayedTransfer {
        let task = PlayedTransfer(result, job, isSuspended, queue, handler)
        queue.async { task.play() }
        return task
    }

    private init(
        _ result: TransferResult, _ job: TransferJob, _ isSuspended: Bool, _ queue: DispatchQueue,
        _ handler: any TransferHandler
    ) {
        known = result
        body = result.body ?? Data()
        self.isSuspended = isSuspended
        self.queue = queue
        self.handler = handler
        request = job.request
        delivery = job.delivery
        reportsProgress = job.reportsProgress
        if isSuspended { visible.wish(.suspended) }
    }

    package var state: TransferState { visible.state }

    package var currentRequest: HTTPRequest? { request }

    package func cancel() {
        visible.wish(.canceling)
        queue.async { self.finish(self.cancelled) }
    }

    package func suspend() {
        visible.wish(.suspended)
        queue.async { self.isSuspended = true }
    }

    /// On the queue, and so behind the answer that asks for the pause, which may still be on its way.
    package func resume() {
        visible.wish(.running)
        queue.async {
            self.isSuspended = false
            self.play()
        }
    }

    package func reportProgress() { queue.async { self.reportsProgress = true } }

    // MARK: On the queue

    private func play() {
        while handler != nil, !isSuspended, !isEnding {
            guard isHeadTold else {
                isHeadTold = true
                if let head = known.response {
                    follow(told { $0.transfer(self, didReceive: head, turn: $1) })
                }
                continue
            }
            guard case .chunks = delivery, offset < body.count else { return end() }
            let piece = body.dropFirst(offset).prefix(Self.pieceSize)
            offset += piece.count
            follow(
                told { handler, turn in
                    piece.withUnsafeBytes { handler.transfer(self, didReceive: $0, turn: turn) }
                })
            tellProgress()
        }
    }

    private var cancelled: TransferResult {
        TransferResult(response: isHeadTold ? known.response : nil, error: .cancelled)
    }

    private func follow(_ decision: TransferDecision?) {
        switch decision {
        case .proceed, nil: break
        case .deliver(let delivery): self.delivery = delivery
        case .pause: isSuspended = true
        case .cancel: finish(cancelled)
        }
    }

    private func end() {
        isEnding = true
        var result = known
        switch delivery {
        case .chunks: result.body = nil
        case .collect: break
        case .file:
            // The queue does not wait for a disk.
            DiskQueue.shared.async { [delivery, body, queue, result] in
                var result = result
                result.place(body, as: delivery)
                queue.async { [result] in self.finishWhole(result) }
            }
            return
        }
        finishWhole(result)
    }

    private func finishWhole(_ result: TransferResult) {
        if offset < body.count {
            offset = body.count
            tellProgress()
        }
        finish(result)
    }

    /// Tells how much was handed over, as of what comes over a network.
    private func tellProgress() {
        guard reportsProgress else { return }
        let counts = TransferCounts(
            received: Int64(offset), expectedToReceive: Int64(body.count))
        told { $0.transfer(self, didProgress: counts, turn: $1) }
    }

    /// Tells the handler, in a turn of its own.
    @discardableResult
    private func told<Answer>(_ body: (any TransferHandler, TransportTurn) -> Answer) -> Answer? {
        guard let handler else { return nil }
        let turn = TransportTurn()
        defer { turn.end() }
        return body(handler, turn)
    }

    /// Tells the end, the first time only.
    private func finish(_ result: TransferResult) {
        visible.complete()
        told { handler, turn in
            self.handler = nil
            handler.transferDidFinish(self, result: result, turn: turn)
        }
    }
}
