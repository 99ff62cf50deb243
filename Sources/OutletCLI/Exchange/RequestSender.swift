import FoundationEssentials
import Outlet
import Synchronization

/// Sends requests, and gathers what is to be told of each.
///
/// One at a time: the watcher is shared.
struct RequestSender: Sendable {
    let session: Session
    /// Told what plugins do.
    let watcher: PluginWatcher
    /// Keeps plugins from repeating what is printed already; `nil` where none retries.
    let retries: PrintedGuard?
    /// Shows people how far a request has come; `nil` for nobody.
    let progress: ProgressReporter?

    /// Sends one request; cancelling the task cancels it.
    ///
    /// - Parameter receiver: Takes the response while it arrives; where a plugin replaces bodies, once it
    ///   has.
    func send(_ request: HTTPRequest, to receiver: any ResponseReceiver) async -> Exchange {
        let sent = session.streamRequest(request)
        progress?.watch(sent)
        // Retriers are asked about failures only, so a status from 400 on is one.
        if retries != nil { sent.validate(statusCode: 200..<400) }
        let response = HeldResponse(receiver, retries)
        let completion = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                sent.onHTTPResponse { [weak sent] head, decide in
                    let isWanted = response.begin(
                        head, to: sent?.performedRequests.last ?? request)
                    decide(isWanted ? .allow : .cancel)
                }
                sent.responseStream { stream in
                    switch stream.event {
                    case .stream(.success(let data)): try response.append(data)
                    case .complete(let completion): continuation.resume(returning: completion)
                    }
                }
            }
        } onCancel: {
            sent.cancel()
        }
        response.end()
        var exchange = Exchange(request: sent.performedRequests.last ?? request)
        exchange.response = completion.response
        exchange.metrics = completion.metrics
        exchange.attempts = sent.retryCount + 1
        exchange.actions = watcher.take()
        if let error = completion.error,
            !(response.isDeclined && error.isExplicitlyCancelledError),
            // The status was refused so that retriers are asked; it is a response all the same.
            !error.isUnacceptableStatus
        {
            exchange.failure = Exchange.Failure(error, request: exchange.request)
        }
        // Whatever it was that a plugin was asked about: the answer was not waited for.
        if sent.isCancelled, !response.isDeclined {
            exchange.failure = Exchange.Failure(
                .explicitlyCancelled, request: exchange.request)
        }
        return exchange
    }
}

extension SessionError {
    fileprivate var isUnacceptableStatus: Bool {
        if case .responseValidationFailed(.unacceptableStatusCode) = self { true } else { false }
    }
}
