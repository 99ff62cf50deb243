import Dispatch
import FoundationEssentials
import OutletFiles
import OutletHTTP
import OutletSession
import OutletTransport

/// Plays the answers that plugins gave in place of the network, and passes on everything else.
final class AnsweringTransport: TransportLayer {
    let next: any Transport
    private let answers: AnswerStore

    init(_ next: any Transport, answers: AnswerStore) {
        self.next = next
        self.answers = answers
    }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        guard let number = job.request.attributes[AnswerStore.attribute],
            let answer = answers.take(number)
        else { return next.start(job, handler: handler) }
        let task = AnsweredTask(answer, job: job, handler: handler)
        task.resume()
        return task
    }

    func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        guard let number = job.request.attributes[AnswerStore.attribute],
            let answer = answers.take(number)
        else { return next.connect(job, handler: handler) }
        return refuse(
            TransferError(
                code: .badServerResponse, stage: .receiving, host: job.request.url?.host(),
                reason: "a plugin answered \(answer.status) to the WebSocket handshake"),
            response: HTTPResponse(
                url: job.request.url, statusCode: answer.status, headers: answer.headers),
            handler: handler)
    }
}

/// One answer on its way to whoever sent the request.
private final class AnsweredTask: TransferTask {
    let identifier = TransferIdentifier.next()
    private let answer: RequestHandle.Answer
    private let job: TransferJob
    private let queue = DispatchQueue(label: "outlet.plugin.answer")

    private enum Step {
        case head
        case body
        case end
    }

    private struct State {
        var step = Step.head
        var isSuspended = true
        var delivery: BodyDelivery
        /// Dropped at the end: nothing is told twice.
        var handler: (any TransferHandler)?
    }
    private let course: Lock<State>
    private let visible = VisibleState()

    init(_ answer: RequestHandle.Answer, job: TransferJob, handler: any TransferHandler) {
        self.answer = answer
        self.job = job
        course = Lock(State(delivery: job.delivery, handler: handler))
    }

    var state: TransferState { visible.state }

    var currentRequest: HTTPRequest? { job.request }

    func cancel() {
        visible.wish(.canceling)
        queue.async { self.finish(.cancelled) }
    }

    func suspend() {
        visible.wish(.suspended)
        hold()
    }

    private func hold() { course.withLock { $0.isSuspended = true } }

    func resume() {
        visible.wish(.running)
        course.withLock { $0.isSuspended = false }
        queue.async { self.play() }
    }

    private var head: HTTPResponse {
        HTTPResponse(url: job.request.url, statusCode: answer.status, headers: answer.headers)
    }

    private func play() {
        while let (step, handler) = next() {
            let turn = TransportTurn()
            var decision = TransferDecision.proceed
            switch step {
            case .head: decision = handler.transfer(self, didReceive: head, turn: turn)
            case .body:
                if case .chunks = course.withLock({ $0.delivery }) {
                    decision = answer.body.withUnsafeBytes {
                        handler.transfer(self, didReceive: $0, turn: turn)
                    }
                }
            case .end: finish(nil)
            }
            turn.end()
            switch decision {
            case .proceed: break
            case .deliver(let delivery): course.withLock { $0.delivery = delivery }
            case .pause: hold()
            case .cancel: finish(.cancelled)
            }
        }
    }

    /// The step to take now, if any.
    private func next() -> (Step, any TransferHandler)? {
        course.withLock { state in
            guard !state.isSuspended, let handler = state.handler else { return nil }
            let step = state.step
            state.step = step == .head && !answer.body.isEmpty ? .body : .end
            return (step, handler)
        }
    }

    private func finish(_ error: TransferError?) {
        let handler = course.withLock { state -> (any TransferHandler)? in
            defer { state.handler = nil }
            return state.handler
        }
        guard let handler else { return }
        var result = TransferResult(response: head, error: error)
        if error == nil { result.place(Data(answer.body), as: course.withLock { $0.delivery }) }
        visible.complete()
        let turn = TransportTurn()
        handler.transferDidFinish(self, result: result, turn: turn)
        turn.end()
    }
}
