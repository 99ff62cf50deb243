import FoundationEssentials
import Outlet
import Synchronization

/// Sends requests, and collects the results of each in an ``Exchange``.
///
/// Sends one request at a time, because the watcher cannot tell the actions of requests apart.
struct RequestSender: Sendable {
    let session: Session
    /// Decides about redirects.
    let redirects: Redirector
    /// Records the actions of plugins.
    let watcher: PluginWatcher
    /// Refuses retries after output; `nil` if no plugin retries.
    let retries: RetryGuard?
    /// Shows the progress of requests; `nil` for none.
    let progress: ProgressReporter?

    /// Sends one request; cancelling the task cancels it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - receiver: Receives the response while it arrives. If a plugin replaces bodies, it
    ///     receives the replaced response.
    /// - Returns: The exchange, with a failure if there is no complete response.
    func send(_ request: HTTPRequest, to receiver: any ResponseReceiver) async -> Exchange {
        let sent = session.streamRequest(request).redirect(using: redirects)
        progress?.watch(sent)
        if let retries {
            retries.begin(sent, input: request.standardInput)
            // Makes a status of 400 and above a failure, because retriers are only called for
            // failures.
            sent.validate(statusCode: 200..<400)
        }
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
        response.end(hasResponse: completion.response != nil)
        var exchange = Exchange(request: sent.performedRequests.last ?? request)
        exchange.response = completion.response
        exchange.trailers = sent.trailers ?? [:]
        exchange.metrics = completion.metrics
        exchange.attempts = sent.retryCount + 1
        exchange.actions = watcher.take()
        exchange.refusedRetry = retries?.refusal
        if let error = completion.error,
            !(response.isDeclined && error.isExplicitlyCancelledError),
            // The status was rejected only to call the retriers; the response is not a failure.
            !error.isUnacceptableStatus
        {
            exchange.failure = Exchange.Failure(error, request: exchange.request)
                .naming(changersIn: exchange.actions, of: request)
        }
        // A cancelled request counts as interrupted, whatever error a plugin has made of it.
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
