package import Dispatch
package import FoundationEssentials
package import OutletHTTP

/// Produces the events of a ``ScriptedTransfer``, step by step.
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

/// A transfer without a network: a subclass produces the events for the handler.
///
/// It provides what all transfers have in common: calls on one queue, exactly one end, and a
/// handler that may pause, cancel or change the delivery of the body.
package class PlayedTransfer: TransferTask, @unchecked Sendable {
    // because all mutable properties are used on `queue` only, and by `begin` before that. Release
    // builds do not check exclusive access to those that every transfer changes; `Boxed` states
    // what the checks cost.

    package final let identifier = TransferIdentifier.next()
    private final let queue: DispatchQueue
    private final let request: HTTPRequest
    private final let visible = VisibleState()

    /// Set to `nil` at the end, so that the end is reported only once.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private final var handler: (any TransferHandler)?
    /// Where the body goes.
    ///
    /// Thread: the queue.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    package private(set) final var delivery: BodyDelivery
    private final var reportsProgress: Bool
    private final var isSuspended: Bool
    private final var observer: (any BodyObserver)?
    /// The final head, for the observer.
    private final var head: HTTPResponse?
    /// Whether the observer has returned ``BodyDecision/wait`` and has not continued yet.
    private final var isObserverBusy = false
    /// The piece that is delivered when the observer has accepted it.
    private final var heldPiece: Data?
    /// Whether the observer has received the end of the body.
    private final var isEndObserved = false
    /// Whether the server was verified; set by ``noteServer(isVerified:refusal:)``.
    package private(set) final var isServerVerified = true
    /// Where the response comes from.
    package final let source: ResponseSource
    /// The turn of the step that is running; `nil` between steps.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private final var turn: TransportTurn?
    /// The steps to run on the queue once ``begin(onCaller:)`` has run the first one on its own
    /// thread.
    private final let postponed = Lock(Postponed())

    private struct Postponed: Sendable {
        /// Whether a step runs on the thread of ``begin(onCaller:)``.
        var isActive = false
        var steps: [Step] = []

        /// Takes the steps out; `nil` if there are none, and that thread runs no more steps.
        mutating func take() -> [Step]? {
            isActive = !steps.isEmpty
            guard isActive else { return nil }
            defer { steps = [] }
            return steps
        }
    }

    /// A part of the transfer; steps run one after the other.
    package typealias Step = @Sendable (PlayedTransfer) -> Void

    /// Makes a transfer that starts with ``begin(onCaller:)``.
    ///
    /// - Parameters:
    ///   - job: The job that the transfer answers.
    ///   - isSuspended: Whether the transfer starts suspended.
    ///   - source: Where the response comes from.
    ///   - queue: A serial queue on which the handler is called.
    ///   - handler: Receives the events, as from a transport.
    fileprivate init(
        for job: borrowing TransferJob, isSuspended: Bool, source: ResponseSource,
        on queue: DispatchQueue, handler: any TransferHandler
    ) {
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
        _ result: KnownResult, for job: borrowing TransferJob,
        isSuspended: Bool = false, source: ResponseSource = .network, onCaller: Bool = false,
        on queue: DispatchQueue, handler: any TransferHandler
    ) -> PlayedTransfer {
        let task = KnownTransfer(
            result, for: job, isSuspended: isSuspended, source: source, onCaller: onCaller,
            on: queue, handler: handler)
        task.begin(onCaller: onCaller)
        return task
    }

    /// Produces the next events as long as ``mayGoOn`` is true.
    ///
    /// Called at the start, and whenever the transfer is resumed.
    ///
    /// Thread: the queue.
    fileprivate func play() {}

    /// Passes the result of the transfer, which has ended, to ``report(_:)``.
    ///
    /// Called once.
    ///
    /// - Parameter error: Why the transfer ends early; `nil` if the subclass has called
    ///   ``finish(_:)`` without an error.
    ///
    /// Thread: the queue.
    fileprivate func end(_ error: TransferError?) { report(TransferResult(error: error)) }

    package final var state: TransferState { visible.state }

    package final var currentRequest: HTTPRequest? { request }

    /// Starts to play.
    ///
    /// - Parameter onCaller: Whether the first step runs before this returns, not on the queue.
    package final func begin(onCaller: Bool = false) {
        guard onCaller else { return perform { $0.play() } }
        postponed.withLock { $0.isActive = true }
        run { $0.play() }
        // The handler may have passed the transfer to other threads meanwhile.
        while let steps = postponed.withLock({ $0.take() }) {
            for step in steps { queue.async { self.run(step) } }
        }
    }

    package final func cancel() {
        visible.change(to: .canceling)
        perform { $0.finish(.cancelled) }
    }

    package final func suspend() {
        visible.change(to: .suspended)
        perform { $0.isSuspended = true }
    }

    /// Takes effect on the queue, hence after a handler call in progress that returns `pause`.
    package final func resume() {
        visible.change(to: .running)
        perform { transfer in
            transfer.isSuspended = false
            transfer.proceed()
        }
    }

    package final func reportProgress() { perform { $0.reportsProgress = true } }

    /// Runs `step` on the transfer's queue.
    package final func perform(_ step: @escaping Step) {
        let isPostponed = postponed.withLock { postponed in
            if postponed.isActive { postponed.steps.append(step) }
            return postponed.isActive
        }
        if !isPostponed { queue.async { self.run(step) } }
    }

    /// Runs `step` on the transfer's queue after `seconds`.
    package final func perform(after seconds: Double, _ step: @escaping Step) {
        queue.asyncAfter(deadline: .now() + seconds) { self.run(step) }
    }

    private final func run(_ step: Step) {
        TransportTurn.run { turn in
            self.turn = turn
            step(self)
            self.turn = nil
        }
    }

    // MARK: For subclasses and scripts, on the queue

    /// Whether the transfer has not ended.
    package final var isRunning: Bool { handler != nil }

    /// Whether further events may be produced.
    package final var mayGoOn: Bool { isRunning && !isSuspended && !isObserverBusy }

    /// Whether the script must call `notify` with the pieces of the body: for the handler, or for
    /// an observer.
    package final var needsPieces: Bool { delivery.isChunks || observer != nil }

    /// Passes a head, interim or final, to the handler and applies its decision.
    package final func notify(_ head: HTTPResponse) {
        if observer != nil, head.isFinal { self.head = head }
        follow(call { $0.transfer(self, didReceive: head, turn: $1) })
    }

    /// Passes bytes of the body to the observer, and to the handler under ``BodyDelivery/chunks``,
    /// and applies their decisions.
    package final func notify(_ piece: Data) {
        guard show(piece) else { return }
        deliver(piece)
    }

    private final func deliver(_ piece: Data) {
        guard delivery.isChunks else { return }
        follow(
            call { handler, turn in
                piece.withUnsafeBytes { handler.transfer(self, didReceive: $0, turn: turn) }
            })
    }

    /// Passes a piece of the body, or an empty one at its end, to the observer.
    ///
    /// - Returns: Whether the piece is delivered now; false if the observer has failed the transfer,
    ///   or decides later.
    private final func show(_ piece: Data) -> Bool {
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
        case .fail(let error): refuse(error)
        }
        return false
    }

    /// Continues after the observer has called `goOn`.
    private final func goOn(_ error: TransferError?) {
        guard isObserverBusy else { return }
        isObserverBusy = false
        let piece = heldPiece.take()
        if let error { return refuse(error) }
        if let piece, !isEndObserved { deliver(piece) }
        proceed()
    }

    /// Produces the next events, or ends the transfer if the observer has received the end.
    private final func proceed() {
        guard isEndObserved else { return play() }
        if mayGoOn { finish(nil) }
    }

    /// Ends the transfer with an error of the observer.
    private final func refuse(_ cause: TransferError) {
        var error = cause
        error.host = request.url?.host()
        error.stage = .receiving
        finish(error)
    }

    /// Passes the progress to the handler, if it is to be reported.
    package final func notify(_ counts: TransferCounts) {
        guard reportsProgress else { return }
        call { $0.transfer(self, didProgress: counts, turn: $1) }
    }

    /// Sets whether the server was verified; with an error, reports to the handler that it was
    /// refused.
    package final func noteServer(isVerified: Bool, refusal: (any Error)? = nil) {
        isServerVerified = isVerified
        if let refusal { handler?.transfer(self, didRefuseServer: refusal) }
    }

    /// Ends the transfer; only the first call has an effect.
    package final func finish(_ error: TransferError?) {
        guard isRunning else { return }
        if error == nil, !isEndObserved {
            isEndObserved = true
            guard show(Data()) else { return }
        }
        end(error)
    }

    /// Reports the end to the handler, and releases the observer, which may retain the transfer.
    fileprivate final func report(_ result: TransferResult) {
        visible.complete()
        observer = nil
        guard let handler = handler.take(), let turn else { return }
        handler.transferDidFinish(self, result: result, turn: turn)
    }

    private final func follow(_ decision: TransferDecision?) {
        switch decision {
        case .proceed, nil: break
        case .deliver(let delivery): self.delivery = delivery
        case .pause: isSuspended = true
        case .cancel: finish(.cancelled)
        }
    }

    /// Calls `body` with the handler and the step's turn; returns `nil` after the end.
    @discardableResult
    private final func call<Answer>(_ body: (any TransferHandler, TransportTurn) -> Answer)
        -> Answer?
    {
        guard let handler, let turn else { return nil }
        return body(handler, turn)
    }
}

/// A transfer whose events a script produces.
package final class ScriptedTransfer: PlayedTransfer, @unchecked Sendable {
    // because it adds no mutable property to `PlayedTransfer`.

    private let script: any TransferScript

    /// Makes a transfer that starts with ``begin(onCaller:)``.
    ///
    /// - Parameters:
    ///   - script: Produces the events.
    ///   - job: The job that the transfer answers.
    ///   - queue: A serial queue on which script and handler are called.
    ///   - handler: Receives the events, as from a transport.
    package init(
        _ script: any TransferScript, for job: TransferJob, on queue: DispatchQueue,
        handler: any TransferHandler
    ) {
        self.script = script
        super.init(
            for: job, isSuspended: false, source: .network, on: queue, handler: handler)
    }

    fileprivate override func play() { script.play(self) }

    fileprivate override func end(_ error: TransferError?) {
        report(script.end(error, delivery: delivery))
    }
}

/// A transfer whose result is known from the start.
private final class KnownTransfer: PlayedTransfer, @unchecked Sendable {
    // because all mutable properties are used on the transfer's queue only.

    private static let pieceSize = 64 << 10

    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private var known: KnownResult
    /// The size of the body in bytes.
    private let size: Int
    private var isHeadDelivered = false
    /// The number of bytes delivered.
    private var offset = 0
    /// Whether everything but the end was delivered, or is being written to a file.
    private var isEnding = false
    /// Whether the body was written to a file.
    private var isPlaced = false
    /// Measures a transfer that does not end in a first step on the thread that starts it, which
    /// takes less than a microsecond.
    private var stopwatch: Stopwatch?

    init(
        _ result: KnownResult, for job: borrowing TransferJob, isSuspended: Bool,
        source: ResponseSource, onCaller: Bool, on queue: DispatchQueue,
        handler: any TransferHandler
    ) {
        known = result
        size = result.value.body?.count ?? 0
        stopwatch = onCaller ? nil : Stopwatch()
        super.init(
            for: job, isSuspended: isSuspended, source: source, on: queue, handler: handler)
    }

    override func play() {
        if mayGoOn, !isHeadDelivered {
            isHeadDelivered = true
            if let head = known.value.response { notify(head) }
        }
        while mayGoOn, !isEnding {
            guard needsPieces, offset < size, let body = known.value.body else {
                notifyRest()
                break
            }
            let piece = body.dropFirst(offset).prefix(Self.pieceSize)
            offset += piece.count
            notify(piece)
            notifyProgress()
        }
        if mayGoOn, isPlaced { finishAll() }
        if isRunning, stopwatch == nil { stopwatch = Stopwatch() }
    }

    override func end(_ error: TransferError?) {
        if let error {
            return report(
                TransferResult(
                    response: isHeadDelivered ? known.value.response : nil, error: error))
        }
        let isFromCache = known.value.metrics.resourceFetchType == .localCache
        let isChunks = delivery.isChunks
        guard isChunks || isFromCache && stopwatch != nil else { return reportUnchanged(known) }
        var result = known.value
        if isChunks { result.body = nil }
        if isFromCache, let stopwatch { result.metrics.total = Int64(stopwatch.seconds * 1e6) }
        report(result)
    }

    /// Not inlined, because the compiler would copy the result.
    @inline(never)
    private func reportUnchanged(_ result: KnownResult) { report(result.value) }

    private func notifyRest() {
        isEnding = true
        guard delivery.isFile else { return finishAll() }
        // The transfer's queue must not wait for a disk.
        DiskQueue.shared.async { [self, known, delivery] in
            var result = known.value
            result.deliver(known.value.body ?? Data(), as: delivery)
            perform { [result] _ in
                self.known = KnownResult(result)
                self.isPlaced = true
                self.play()
            }
        }
    }

    private func finishAll() {
        if offset < size {
            offset = size
            notifyProgress()
        }
        finish(nil)
    }

    /// Reports the bytes delivered so far, as for a response from a network.
    private func notifyProgress() {
        notify(TransferCounts(received: Int64(offset), expectedToReceive: Int64(size)))
    }
}
