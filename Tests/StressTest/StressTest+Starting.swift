import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTransport

/// All ways to send a request that do not use Swift concurrency.
extension StressTest {
    /// Starts a request; its number determines how it is sent.
    func start(_ ticket: Ticket) -> Controls {
        switch ticket.number / 2 % 8 {
        case 0: transfer(ticket, .collect)
        case 1: transfer(ticket, .chunks, over: quiet[ticket.number % quiet.count])
        case 2: transfer(ticket, .file(path: ticket.path, offset: 0))
        case 3: data(ticket)
        case 4: download(ticket)
        case 5: stream(ticket)
        case 6: ticket.number % 5 == 0 ? lonely(ticket) : data(ticket)
        default:
            // A blocking transfer cannot be cancelled, and must not block its thread for long.
            ticket.isCancelled || !ticket.peer.isReliable
                ? transfer(ticket, .chunks) : blocking(ticket)
        }
    }

    private func transfer(
        _ ticket: Ticket, _ delivery: BodyDelivery, over transport: CurlTransport? = nil
    ) -> Controls {
        var job = TransferJob(request: ticket.request, delivery: delivery)
        job.reportsProgress = ticket.number % 3 == 0
        // Takes effect on an idle transport only. `transport` is never idle, those of `quiet` are.
        job.mayRunOnCaller = true
        let task = (transport ?? self.transport).start(job, handler: Ending(ticket))
        return Controls(
            cancel: { task.cancel() }, suspend: { task.suspend() }, resume: { task.resume() })
    }

    private func blocking(_ ticket: Ticket) -> Controls {
        Ending(ticket).end(transport.perform(TransferJob(request: ticket.request)))
        return Controls(cancel: {}, suspend: {}, resume: {})
    }

    /// Starts a transfer over a new transport.
    ///
    /// The transport is shut down if the request is to be cancelled. Otherwise it is released here
    /// and must still complete the transfer.
    private func lonely(_ ticket: Ticket) -> Controls {
        var configuration = SessionConfiguration()
        configuration.proxy = .none
        let transport = CurlTransport(configuration: configuration.transport)
        let controls = transfer(ticket, .collect, over: transport)
        guard ticket.isCancelled else { return controls }
        return Controls(
            cancel: { transport.shutDown() }, suspend: controls.suspend, resume: controls.resume)
    }

    private func data(_ ticket: Ticket) -> Controls {
        let request = session.request(ticket.request).response { [self] response in
            end(ticket, response.error, response.response)
        }
        return controls(of: request)
    }

    private func download(_ ticket: Ticket) -> Controls {
        let request = session.download(ticket.request) { _, _ in
            (URL(filePath: ticket.path), [.removePreviousFile])
        }
        .response { [self] response in
            unlink(ticket.path)
            end(ticket, response.error, response.response)
        }
        return controls(of: request)
    }

    private func stream(_ ticket: Ticket) -> Controls {
        let request = session.streamRequest(ticket.request).responseStream { [self] stream in
            guard case .complete(let completion) = stream.event else { return }
            end(ticket, completion.error, completion.response)
        }
        return controls(of: request)
    }

    private func controls(of request: Request) -> Controls {
        Controls(
            cancel: { request.cancel() }, suspend: { request.suspend() },
            resume: { request.resume() })
    }

    private func end(_ ticket: Ticket, _ error: SessionError?, _ response: HTTPResponse?) {
        let outcome = error.map { error in
            (error.underlyingError as? TransferError)?.code.rawValue
                ?? (error.isExplicitlyCancelledError ? "cancelled" : "\(error)")
        }
        end(
            ticket, outcome ?? "ok", "\(ticket.request.method) \(error?.underlyingError as Any)",
            isSuccess: error == nil && response?.statusCode == 200)
    }
}

/// Counts the end of one transfer.
///
/// Half of the requests to be cancelled are also cancelled here, when the response head arrives.
private final class Ending: TransferHandler {
    private let ticket: Ticket

    init(_ ticket: Ticket) { self.ticket = ticket }

    func transfer(
        _ task: any TransferTask, didReceive head: HTTPResponse, turn: TransportTurn
    ) -> TransferDecision {
        ticket.isCancelled && ticket.number % 4 == 0 ? .cancel : .proceed
    }

    func transferDidFinish(_ task: any TransferTask, result: TransferResult, turn: TransportTurn) {
        end(result)
    }

    func end(_ result: TransferResult) {
        unlink(ticket.path)
        ticket.test.end(
            ticket, result.error?.code.rawValue ?? "ok",
            "\(ticket.request.method) \(result.error as Any)",
            isSuccess: result.error == nil && result.response?.statusCode == 200)
    }
}
