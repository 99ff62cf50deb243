package import Dispatch
package import FoundationEssentials
package import OutletHTTP

/// Produces the events of a ``PlayedTransfer``, step by step.
///
/// Thread: the transfer's queue.
package protocol TransferScript: AnyObject, Sendable {
    /// Produces the next events as long as ``PlayedTransfer/mayGoOn`` is true.
    ///
    /// Called at the start, and whenever the transfer is resumed.
    func play(_ transfer: PlayedTransfer)

    /// Returns the result of the transfer, which has ended.
    ///
    /// Called once, before the handler's end.
    ///
    /// - Parameters:
    ///   - error: Why the transfer ends early; `nil` if the script has called
    ///     ``PlayedTransfer/finish(_:)`` without an error.
    ///   - delivery: Where the body goes, after the handler's decisions.
    func end(_ error: TransferError?, delivery: BodyDelivery) -> TransferResult
}

/// A transfer without a network: a script produces the events for the handler.
///
/// It provides what all transfers have in common: calls on one queue, exactly one end, and a
/// handler that may pause, cancel or change the delivery of the body.
package final class PlayedTransfer: TransferTask, @unchecked Sendable {
    // because all mutable properties are used on `queue` only, and by `begin` before that.

    package let identifier = TransferIdentifier.next()
    private let queue: DispatchQueue
    private let request: HTTPRequest
    private let script: any TransferScript
    private let visible = VisibleState()

    /// Set to `nil` at the end, so that the end is reported only once.
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
    /// Whether the observer has returned ``BodyDecision/wait`` and has not continued yet.
    private var isObserverBusy = false
    /// The piece that is delivered when the observer has accepted it.
    private var heldPiece: Data?
    /// Whether the observer has received the end of the body.
    private var isEndObserved = false
    /// Whether the server was verified; set by ``noteServer(isVerified:refusal:)``.
    package private(set) var isServerVerified = true
    /// Where the response comes from.
    package let source: ResponseSource
    /// The turn of the step that is running.
    private var turn = TransportTurn()
    /// The steps to run on the queue once ``begin(onCaller:)`` has run the first one on its own
    /// thread; `nil` after that, and without it.
    private let postponed: Lock<[Step]?> = Lock(nil)

    /// A part of the transfer; steps run one after the other.
    package typealias Step = @Sendable (PlayedTransfer) -> Void

    /// Makes a transfer that starts with ``begin(onCaller:)``.
    ///
    /// - Parameters:
    ///   - script: Produces the events.
    ///   - job: The job that the transfer answers.
    ///   - isSuspended: Whether the transfer starts suspended.
    ///   - source: Where the response comes from; from a network by default.
    ///   - queue: A serial queue on which script and handler are called.
    ///   - handler: Receives the events, as from a transport.
    package init(
        _ script: any TransferScript, for job: TransferJob, isSuspended: Bool = false,
        source: ResponseSource = .network, on queue: DispatchQueue, handler: any TransferHandler
    ) {
        self.script = script
        self.source = source
        self.isSuspended = isSuspended
        self.queue = queue
        self.handler = handler
        request = job.request
        delivery = job.delivery
        reportsProgress = job.reportsProgress
        observer = job.bodyObserver
        if isSuspended { visible.change(to: .suspended) }
    }

    /// Starts a transfer with a known result, as if it came from a network.
    ///
    /// The handler receives the head, then the body as the job or the handler says, and the end.
    ///
    /// - Parameters:
    ///   - result: The result.
    ///   - job: The job that the transfer answers.
    ///   - isSuspended: Whether the transfer starts suspended.
    ///   - source: Where the response comes from; from a network by default.
    ///   - onCaller: Whether the handler may be called before this returns.
    ///   - queue: A serial queue on which the handler is called otherwise.
    ///   - handler: Receives the events, as from a transport.
    package static func start(
        _ result: TransferResult, for job: TransferJob, isSuspended: Bool = false,
        source: ResponseSource = .network, onCaller: Bool = false, on queue: DispatchQueue,
        handler: any TransferHandler
    ) -> PlayedTransfer {
        let task = PlayedTransfer(
            KnownResult(result), for: job, isSuspended: isSuspended, source: source, on: queue,
            handler: handler)
        task.begin(onCaller: onCaller)
        return task
    }

    package var state: TransferState { visible.state }

    package var currentRequest: HTTPRequest? { request }

    /// Starts the script.
    ///
    /// - Parameter onCaller: Whether the first step runs before this returns, not on the queue.
    package func begin(onCaller: Bool = false) {
        guard onCaller else { return perform { $0.script.play($0) } }
        postponed.withLock { $0 = [] }
        run { $0.script.play($0) }
        // The handler may have passed the transfer to other threads meanwhile.
        while true {
            let steps = postponed.withLock { postponed -> [Step] in
                let steps = postponed ?? []
                postponed = steps.isEmpty ? nil : []
                return steps
            }
            guard !steps.isEmpty else { return }
            for step in steps { queue.async { self.run(step) } }
        }
    }

    package func cancel() {
        visible.change(to: .canceling)
        perform { $0.finish(.cancelled) }
    }

    package func suspend() {
        visible.change(to: .suspended)
        perform { $0.isSuspended = true }
    }

    /// Takes effect on the queue, hence after a handler call in progress that returns `pause`.
    package func resume() {
        visible.change(to: .running)
        perform { transfer in
            transfer.isSuspended = false
            transfer.script.play(transfer)
        }
    }

    package func reportProgress() { perform { $0.reportsProgress = true } }

    /// Runs `step` on the transfer's queue.
    package func perform(_ step: @escaping Step) {
        let isPostponed = postponed.withLock { postponed in
            postponed?.append(step)
            return postponed != nil
        }
        if !isPostponed { queue.async { self.run(step) } }
    }

    /// Runs `step` on the transfer's queue after `seconds`.
    package func perform(after seconds: Double, _ step: @escaping Step) {
        queue.asyncAfter(deadline: .now() + seconds) { self.run(step) }
    }

    private func run(_ step: Step) {
        step(self)
        turn.end()
    }

    // MARK: For the script, on the queue

    /// Whether the transfer has not ended.
    package var isRunning: Bool { handler != nil }

    /// Whether the script may produce further events.
    package var mayGoOn: Bool { isRunning && !isSuspended && !isObserverBusy }

    /// Whether the script must call `notify` with the pieces of the body: for the handler, or for
    /// an observer.
    package var needsPieces: Bool { delivery == .chunks || observer != nil }

    /// Passes a head, interim or final, to the handler and applies its decision.
    package func notify(_ head: HTTPResponse) {
        if head.isFinal { self.head = head }
        follow(call { $0.transfer(self, didReceive: head, turn: $1) })
    }

    /// Passes bytes of the body to the observer, and to the handler under ``BodyDelivery/chunks``,
    /// and applies their decisions.
    package func notify(_ piece: Data) {
        guard show(piece) else { return }
        deliver(piece)
    }

    private func deliver(_ piece: Data) {
        guard delivery == .chunks else { return }
        follow(
            call { handler, turn in
                piece.withUnsafeBytes { handler.transfer(self, didReceive: $0, turn: turn) }
            })
    }

    /// Passes a piece of the body, or an empty one at its end, to the observer.
    ///
    /// - Returns: Whether the piece is delivered now; false if the observer has failed the transfer,
    ///   or decides later.
    private func show(_ piece: Data) -> Bool {
        guard let observer, let head else { return true }
        let decision = piece.withUnsafeBytes {
            observer.transfer(self, isAboutToDeliver: $0, of: head) { error in
                self.perform { $0.goOn(error) }
            }
        }
        switch decision {
        case .proceed: return true
        case .wait:
            isObserverBusy = true
            heldPiece = piece
        case .fail(let error): finish(error)
        }
        return false
    }

    /// Continues after the observer has called `goOn`.
    private func goOn(_ error: TransferError?) {
        guard isObserverBusy else { return }
        isObserverBusy = false
        let piece = heldPiece.take()
        if let error { return finish(error) }
        if let piece, !isEndObserved { deliver(piece) }
        if isEndObserved { finish(nil) } else { script.play(self) }
    }

    /// Passes the progress to the handler, if it is to be reported.
    package func notify(_ counts: TransferCounts) {
        guard reportsProgress else { return }
        call { $0.transfer(self, didProgress: counts, turn: $1) }
    }

    /// Sets whether the server was verified; with an error, reports to the handler that it was
    /// refused.
    package func noteServer(isVerified: Bool, refusal: (any Error)? = nil) {
        isServerVerified = isVerified
        if let refusal { handler?.transfer(self, didRefuseServer: refusal) }
    }

    /// Ends the transfer; only the first call has an effect.
    package func finish(_ error: TransferError?) {
        guard isRunning else { return }
        if error == nil, !isEndObserved {
            isEndObserved = true
            guard show(Data()) else { return }
        }
        let result = script.end(error, delivery: delivery)
        visible.complete()
        let handler = handler.take()
        handler?.transferDidFinish(self, result: result, turn: turn)
    }

    private func follow(_ decision: TransferDecision?) {
        switch decision {
        case .proceed, nil: break
        case .deliver(let delivery): self.delivery = delivery
        case .pause: isSuspended = true
        case .cancel: finish(.cancelled)
        }
    }

    /// Calls `body` with the handler and the step's turn; returns `nil` after the end.
    @discardableResult
    private func call<Answer>(_ body: (any TransferHandler, TransportTurn) -> Answer) -> Answer? {
        guard let handler else { return nil }
        return body(handler, turn)
    }
}

/// A result that is known from the start.
private final class KnownResult: TransferScript, @unchecked Sendable {
    // because all mutable properties are used on the transfer's queue only.

    private static let pieceSize = 64 << 10

    private var known: TransferResult
    /// The size of the body in bytes.
    private let size: Int
    private var isHeadDelivered = false
    private var offset = 0
    /// Whether everything but the end was delivered.
    private var isEnding = false
    private let stopwatch = Stopwatch()

    init(_ result: TransferResult) {
        known = result
        size = result.body?.count ?? 0
    }

    func play(_ transfer: PlayedTransfer) {
        while transfer.mayGoOn, !isEnding {
            guard isHeadDelivered else {
                isHeadDelivered = true
                if let head = known.response { transfer.notify(head) }
                continue
            }
            guard transfer.needsPieces, offset < size, let body = known.body else {
                return notifyRest(to: transfer)
            }
            let piece = body.dropFirst(offset).prefix(Self.pieceSize)
            offset += piece.count
            transfer.notify(piece)
            notifyProgress(to: transfer)
        }
    }

    func end(_ error: TransferError?, delivery: BodyDelivery) -> TransferResult {
        if let error {
            return TransferResult(response: isHeadDelivered ? known.response : nil, error: error)
        }
        if case .chunks = delivery { known.body = nil }
        if known.metrics.resourceFetchType == .localCache {
            known.metrics.total = Int64(stopwatch.seconds * 1e6)
        }
        return known
    }

    private func notifyRest(to transfer: PlayedTransfer) {
        isEnding = true
        guard case .file = transfer.delivery else { return finish(transfer) }
        // The transfer's queue must not wait for a disk.
        DiskQueue.shared.async { [known, delivery = transfer.delivery] in
            var result = known
            result.place(known.body ?? Data(), as: delivery)
            transfer.perform { [result] in
                self.known = result
                self.finish($0)
            }
        }
    }

    private func finish(_ transfer: PlayedTransfer) {
        if offset < size {
            offset = size
            notifyProgress(to: transfer)
        }
        transfer.finish(nil)
    }

    /// Reports the bytes delivered so far, as for a response from a network.
    private func notifyProgress(to transfer: PlayedTransfer) {
        transfer.notify(
            TransferCounts(received: Int64(offset), expectedToReceive: Int64(size)))
    }
}
