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
        return PlayedTransfer.start(
            TransferResult(
                response: HTTPResponse(
                    url: job.request.url, statusCode: answer.status, headers: answer.headers),
                body: answer.body.isEmpty ? nil : Data(answer.body)),
            for: job, on: DispatchQueue(label: "outlet.plugin.answer"), handler: handler)
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
