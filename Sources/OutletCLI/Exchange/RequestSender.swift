import FoundationEssentials
import Outlet
import Synchronization

/// Sends requests, and gathers what is to be told of each.
///
/// Without plugins straight through the session; with them through a provider, so that every hook
/// runs as it does in a program.
struct RequestSender: Sendable {
    let session: Session
    /// Plugins, and what watches them; `nil` when none takes part.
    let plugins: Plugins?
    /// Shows people how far a request has come; `nil` for nobody.
    let progress: ProgressReporter?

    /// The provider's side of plugins.
    struct Plugins: Sendable {
        let hooks: [any PluginType]
        let watcher: PluginWatcher
        /// One of the session's event monitors.
        let witness: RequestWitness
    }

    /// Sends one request; cancelling the task cancels it.
    ///
    /// - Parameter receiver: Takes the response while it arrives. Plugins may replace a body, so with
    ///   them it is collected first.
    func send(_ request: HTTPRequest, to receiver: any ResponseReceiver) async -> Exchange {
        guard let plugins else { return await stream(request, to: receiver) }
        let provider = Provider<CommandTarget>(
            // The request goes out as the command line made it, repeated fields included.
            requestClosure: { _, done in done(.success(request)) },
            session: session, plugins: plugins.hooks)
        return await RequestSender.send(
            CommandTarget(request: request), through: provider, plugins, request: request,
            to: receiver)
    }

    private func stream(
        _ request: HTTPRequest, to receiver: any ResponseReceiver
    ) async -> Exchange {
        let sent = session.streamRequest(request)
        progress?.watch(sent)
        let isDeclined = Mutex(false)
        let completion = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                sent.onHTTPResponse { [weak sent] head, decide in
                    let isWanted = receiver.receive(
                        head, to: sent?.performedRequests.last ?? request)
                    isDeclined.withLock { $0 = !isWanted }
                    decide(isWanted ? .allow : .cancel)
                }
                sent.responseStream { stream in
                    switch stream.event {
                    case .stream(.success(let data)): try receiver.receive(data)
                    case .complete(let completion): continuation.resume(returning: completion)
                    }
                }
            }
        } onCancel: {
            sent.cancel()
        }
        var exchange = Exchange(request: sent.performedRequests.last ?? request)
        exchange.response = completion.response
        exchange.metrics = completion.metrics
        exchange.attempts = sent.retryCount + 1
        if let error = completion.error,
            !(isDeclined.withLock { $0 } && error.isExplicitlyCancelledError)
        {
            exchange.failure = Exchange.Failure(error, request: exchange.request)
        }
        return exchange
    }

    /// Sends a target's request through a provider; cancelling the task cancels it.
    ///
    /// One at a time: watcher and witness are shared.
    func send<Target: TargetType>(
        _ target: Target, to receiver: any ResponseReceiver
    ) async -> Exchange {
        guard let plugins else { return await stream(request(of: target), to: receiver) }
        let provider = Provider<Target>(session: session, plugins: plugins.hooks)
        return await RequestSender.send(
            target, through: provider, plugins, request: request(of: target), to: receiver)
    }

    /// What stands for a target's request should none be made.
    private func request<Target: TargetType>(of target: Target) -> HTTPRequest {
        let url: URL? = URL(target: target)
        return HTTPRequest(url: url, method: target.method)
    }

    private static func send<Target: TargetType>(
        _ target: Target, through provider: Provider<Target>, _ plugins: Plugins,
        request: HTTPRequest, to receiver: any ResponseReceiver
    ) async -> Exchange {
        let result: Result<Response, any Error>
        do {
            result = .success(try await provider.request(target))
        } catch {
            result = .failure(error)
        }
        let sent = plugins.witness.take()
        var exchange = Exchange(request: sent?.performedRequests.last ?? request)
        exchange.attempts = (sent?.retryCount ?? 0) + 1
        exchange.metrics = sent?.metrics
        exchange.actions = plugins.watcher.take()
        let received: Response?
        switch result {
        case .success(let response): received = response
        case .failure(let error):
            received = (error as? ProviderError)?.response
            exchange.take(error, isAnswered: received != nil)
        }
        if let received { exchange.take(received, to: receiver) }
        return exchange
    }
}

extension Exchange {
    fileprivate mutating func take(_ received: Response, to receiver: any ResponseReceiver) {
        let head =
            received.response
            ?? HTTPResponse(url: request.url, statusCode: received.statusCode)
        response = head
        metrics = received.metrics ?? metrics
        guard receiver.receive(head, to: request) else { return }
        // What cannot be written the receiver says at the end.
        try? receiver.receive(received.data)
    }

    fileprivate mutating func take(_ error: any Error, isAnswered: Bool) {
        let cause = (error as? ProviderError)?.underlyingError ?? error
        guard let sessionError = cause as? SessionError else {
            failure = Failure(pluginError: cause, request: request)
            return
        }
        // The status was refused so that retriers are asked; it is a response all the same.
        if sessionError.isResponseValidationError, isAnswered { return }
        failure = Failure(sessionError, request: request)
    }
}

/// The command line's request as a target.
struct CommandTarget: TargetType {
    let request: HTTPRequest

    var baseURL: URL { request.url ?? URL(filePath: "/") }
    var path: String { "" }
    var method: HTTPMethod { request.method }
    var task: HTTPTask { .requestPlain }
    var headers: [String: String]? { nil }
    /// Retriers are asked about failures only, so a status from 400 on is one.
    var validationType: ValidationType { .successAndRedirectCodes }
}

/// Remembers the session's last request, and has its progress shown.
final class RequestWitness: EventMonitor {
    private let last = Mutex<Request?>(nil)
    private let progress: ProgressReporter?

    init(progress: ProgressReporter?) { self.progress = progress }

    func requestDidResume(_ request: Request) {
        last.withLock { $0 = request }
        progress?.watch(request)
    }

    /// The last request that was started, once.
    func take() -> Request? {
        last.withLock { last in
            defer { last = nil }
            return last
        }
    }
}
