package import Dispatch
package import FoundationEssentials
package import OutletHTTP

/// What a ``PlayedTransfer`` tells its handler, step by step.
///
/// Thread: the transfer's queue.
package protocol TransferScript: AnyObject, Sendable {
    /// Tells what comes next, as long as ``PlayedTransfer/mayGoOn`` holds; at the start, and whenever
    /// the transfer is resumed.
    func play(_ transfer: PlayedTransfer)

    /// The transfer is over: what it came to.
    ///
    /// Called once, before the handler.
    ///
    /// - Parameter error: Why it ends before all was told.
    func end(_ error: TransferError?, delivery: BodyDelivery) -> TransferResult
}

/// A transfer without a network: a script makes the calls of its handler.
///
/// It has what all transfers have in common: one queue, exactly one end, a handler that may
/// pause, cancel, or have the body delivered otherwise.
package final class PlayedTransfer: TransferTask, @unchecked Sendable {
    // because all that changes is touched on `queue` only.

    package let identifier = TransferIdentifier.next()
    private let queue: DispatchQueue
    private let request: HTTPRequest
    private let script: any TransferScript
    private let visible = VisibleState()

    /// Set to `nil` at the end, so that the end is reported once only.
    private var handler: (any TransferHandler)?
    /// Where the body goes.
    ///
    /// Thread: the queue.
    package private(set) var delivery: BodyDelivery
    private var reportsProgress: Bool
    private var isSuspended: Bool
    private let observer: (any BodyObserver)?
    /// The final head, for the observer.
    private var head: HTTPResponse?
    /// Whether the observer has not made up its mind.
    private var isObserverBusy = false
    /// Whether the observer was told of the body's end.
    private var isEndObserved = false
    /// Set by a script that knows the server.
    package private(set) var isServerVerified = true

    /// Makes a transfer that waits for ``begin()``.
    ///
    /// - Parameters:
    ///   - script: Makes the calls of the handler.
    ///   - job: The job that it answers.
    ///   - isSuspended: Whether the handler is not called before ``resume()``.
    ///   - queue: Where the handler is called; serial.
    ///   - handler: Told as by a transport.
    package init(
        _ script: any TransferScript, for job: TransferJob, isSuspended: Bool = false,
        on queue: DispatchQueue, handler: any TransferHandler
    ) {
        self.script = script
        self.isSuspended = isSuspended
        self.queue = queue
        self.handler = handler
        request = job.request
        delivery = job.delivery
        reportsProgress = job.reportsProgress
        observer = job.bodyObserver
        if isSuspended { visible.wish(.suspended) }
    }

    /// Begins to play a result that is known, as if it came from a network.
    ///
    /// Its head comes first, if it has one; its body goes into a file, if the job or the handler says
    /// so. Parameters as for ``init(_:for:isSuspended:on:handler:)``.
    package static func start(
        _ result: TransferResult, for job: TransferJob, isSuspended: Bool = false,
        on queue: DispatchQueue, handler: any TransferHandler
    ) -> PlayedTransfer {
        let task = PlayedTransfer(
            KnownResult(result), for: job, isSuspended: isSuspended, on: queue, handler: handler)
        task.begin()
        return task
    }

    package var state: TransferState { visible.state }

    package var currentRequest: HTTPRequest? { request }

    /// Lets the script begin.
    package func begin() { perform { $0.script.play($0) } }

    package func cancel() {
        visible.wish(.canceling)
        perform { $0.finish(.cancelled) }
    }

    package func suspend() {
        visible.wish(.suspended)
        perform { $0.isSuspended = true }
    }

    /// On the queue, and so behind the answer that asks for the pause, which may still be on its way.
    package func resume() {
        visible.wish(.running)
        perform { transfer in
            transfer.isSuspended = false
            transfer.script.play(transfer)
        }
    }

    package func reportProgress() { perform { $0.reportsProgress = true } }

    /// Does something on the queue.
    package func perform(_ body: @escaping @Sendable (PlayedTransfer) -> Void) {
        queue.async { body(self) }
    }

    /// Does something on the queue after so many seconds.
    package func perform(
        after seconds: Double, _ body: @escaping @Sendable (PlayedTransfer) -> Void
    ) {
        queue.asyncAfter(deadline: .now() + seconds) { body(self) }
    }

    // MARK: For the script, on the queue

    /// Whether the transfer has not ended.
    package var isRunning: Bool { handler != nil }

    /// Whether the handler may be told more.
    package var mayGoOn: Bool { isRunning && !isSuspended && !isObserverBusy }

    /// Whether pieces of the body are to be told: the handler takes them, or they are observed.
    package var takesPieces: Bool { delivery == .chunks || observer != nil }

    /// Tells a head, interim or final, and does what the handler says.
    package func tell(_ head: HTTPResponse) {
        if head.isFinal { self.head = head }
        follow(told { $0.transfer(self, didReceive: head, turn: $1) })
    }

    /// Shows bytes of the body to who observes it, tells the handler if it takes them, and does what they
    /// say.
    package func tell(_ piece: Data) {
        guard show(piece), delivery == .chunks else { return }
        follow(
            told { handler, turn in
                piece.withUnsafeBytes { handler.transfer(self, didReceive: $0, turn: turn) }
            })
    }

    /// Shows a piece of the body, or its end, to who observes it.
    ///
    /// - Returns: Whether the piece goes where it is to go.
    private func show(_ piece: Data) -> Bool {
        guard let observer, let head else { return true }
        let decision = piece.withUnsafeBytes {
            observer.transfer(self, isAboutToDeliver: $0, of: head) { error in
                self.perform { $0.goOn(error) }
            }
        }
        switch decision {
        case .proceed: break
        case .wait: isObserverBusy = true
        case .fail(let error):
            finish(error)
            return false
        }
        return true
    }

    /// The observer has made up its mind.
    private func goOn(_ error: TransferError?) {
        guard isObserverBusy else { return }
        isObserverBusy = false
        if let error { return finish(error) }
        if isEndObserved { finish(nil) } else { script.play(self) }
    }

    /// Tells how much has passed, if anybody wants to know.
    package func tell(_ counts: TransferCounts) {
        guard reportsProgress else { return }
        told { $0.transfer(self, didProgress: counts, turn: $1) }
    }

    /// Tells whether the server was verified; with an error, that it was refused.
    package func judgeServer(_ isVerified: Bool, refusal: (any Error)? = nil) {
        isServerVerified = isVerified
        if let refusal { handler?.transfer(self, didRefuseServer: refusal) }
    }

    /// Tells the end, the first time only.
    package func finish(_ error: TransferError?) {
        guard isRunning else { return }
        if error == nil, !isEndObserved {
            isEndObserved = true
            guard show(Data()), !isObserverBusy else { return }
        }
        let result = script.end(error, delivery: delivery)
        visible.complete()
        told { handler, turn in
            self.handler = nil
            handler.transferDidFinish(self, result: result, turn: turn)
        }
    }

    private func follow(_ decision: TransferDecision?) {
        switch decision {
        case .proceed, nil: break
        case .deliver(let delivery): self.delivery = delivery
        case .pause: isSuspended = true
        case .cancel: finish(.cancelled)
        }
    }

    /// Tells the handler, in a turn of its own.
    @discardableResult
    private func told<Answer>(_ body: (any TransferHandler, TransportTurn) -> Answer) -> Answer? {
        guard let handler else { return nil }
        let turn = TransportTurn()
        defer { turn.end() }
        return body(handler, turn)
    }
}

/// A result that is known from the start.
private final class KnownResult: TransferScript, @unchecked Sendable {
    // because all that changes is touched on the transfer's queue only.

    private static let pieceSize = 64 << 10

    private let known: TransferResult
    private let body: Data
    private var isHeadTold = false
    private var offset = 0
    /// Everything but the end was delivered.
    private var isEnding = false
    /// What the writing of a file came to.
    private var placed: TransferResult?

    init(_ result: TransferResult) {
        known = result
        body = result.body ?? Data()
    }

    func play(_ transfer: PlayedTransfer) {
        while transfer.mayGoOn, !isEnding {
            guard isHeadTold else {
                isHeadTold = true
                if let head = known.response { transfer.tell(head) }
                continue
            }
            guard transfer.takesPieces, offset < body.count else {
                return tellRest(to: transfer)
            }
            let piece = body.dropFirst(offset).prefix(Self.pieceSize)
            offset += piece.count
            transfer.tell(piece)
            tellProgress(to: transfer)
        }
    }

    func end(_ error: TransferError?, delivery: BodyDelivery) -> TransferResult {
        if let error {
            return TransferResult(response: isHeadTold ? known.response : nil, error: error)
        }
        var result = placed ?? known
        if case .chunks = delivery { result.body = nil }
        return result
    }

    private func tellRest(to transfer: PlayedTransfer) {
        isEnding = true
        guard case .file = transfer.delivery else { return finish(transfer) }
        // The queue does not wait for a disk.
        DiskQueue.shared.async { [known, body, delivery = transfer.delivery] in
            var result = known
            result.place(body, as: delivery)
            transfer.perform { [result] in
                self.placed = result
                self.finish($0)
            }
        }
    }

    private func finish(_ transfer: PlayedTransfer) {
        if offset < body.count {
            offset = body.count
            tellProgress(to: transfer)
        }
        transfer.finish(nil)
    }

    /// Tells how much was handed over, as of what comes over a network.
    private func tellProgress(to transfer: PlayedTransfer) {
        transfer.tell(
            TransferCounts(received: Int64(offset), expectedToReceive: Int64(body.count)))
    }
}
