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
    /// - Parameter sink: Takes the body as it comes, so that it need not fit into memory. Plugins
    ///   may replace a body, so with them it is collected.
    func send(_ request: HTTPRequest, into sink: BodySink? = nil) async -> Exchange {
        guard let plugins else {
            if let sink { return await stream(request, into: sink) }
            return await sendPlain(request)
        }
        let provider = Provider<CommandTarget>(
            // The request goes out as the command line made it, repeated fields included.
            requestClosure: { _, done in done(.success(request)) },
            session: session, plugins: plugins.hooks)
        return await RequestSender.send(
            CommandTarget(request: request), through: provider, plugins, request: request)
    }

    private func sendPlain(_ request: HTTPRequest) async -> Exchange {
        let sent = session.request(request)
        progress?.watch(sent)
        let response = await sent.serializingUnserialized().response
        var exchange = Exchange(request: sent.performedRequests.last ?? request)
        exchange.response = response.response
        exchange.body = response.data
        exchange.metrics = response.metrics
        exchange.attempts = sent.retryCount + 1
        exchange.failure = response.error.map { Exchange.Failure($0, request: exchange.request) }
        return exchange
    }

    private func stream(_ request: HTTPRequest, into sink: BodySink) async -> Exchange {
        let sent = session.streamRequest(request)
        progress?.watch(sent)
        let completion = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                sent.responseStream { stream in
                    switch stream.event {
                    case .stream(.success(let data)): try sink.write(data)
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
        exchange.failure = completion.error.map { Exchange.Failure($0, request: exchange.request) }
        exchange.finish(sink)
        return exchange
    }

    /// Sends a target's request through a provider; cancelling the task cancels it.
    ///
    /// One at a time: watcher and witness are shared.
    func send<Target: TargetType>(_ target: Target) async -> Exchange {
        guard let plugins else { return await sendPlain(request(of: target)) }
        let provider = Provider<Target>(session: session, plugins: plugins.hooks)
        return await RequestSender.send(
            target, through: provider, plugins, request: request(of: target))
    }

    /// What stands for a target's request should none be made.
    private func request<Target: TargetType>(of target: Target) -> HTTPRequest {
        let url: URL? = URL(target: target)
        return HTTPRequest(url: url, method: target.method)
    }

    private static func send<Target: TargetType>(
        _ target: Target, through provider: Provider<Target>, _ plugins: Plugins,
        request: HTTPRequest
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
        switch result {
        case .success(let response): exchange.take(response)
        case .failure(let error): exchange.take(error)
        }
        return exchange
    }
}

extension Exchange {
    /// Notes what became of a body that went into a sink.
    fileprivate mutating func finish(_ sink: BodySink) {
        // An empty body makes a file, too.
        if failure == nil { try? sink.write(Data()) }
        sink.close()
        outputError = sink.error
        if sink.bytes > 0 || failure == nil { savedPath = sink.path }
        guard let failure, let path = sink.path, sink.bytes > 0, outputError == nil else { return }
        let held = "\(path) holds the first \(Quantity.bytes(sink.bytes))"
        let advice = failure.error.advice.isEmpty ? held : "\(failure.error.advice); \(held)"
        self.failure?.error = CommandError(
            failure.error.exitCode, failure.error.message, advice: advice)
    }

    fileprivate mutating func take(_ received: Response) {
        response =
            received.response
            ?? HTTPResponse(url: request.url, statusCode: received.statusCode)
        body = received.data
        metrics = received.metrics ?? metrics
    }

    fileprivate mutating func take(_ error: any Error) {
        let received = (error as? ProviderError)?.response
        if let received { take(received) }
        let cause = (error as? ProviderError)?.underlyingError ?? error
        guard let sessionError = cause as? SessionError else {
            failure = Failure(pluginError: cause, request: request)
            return
        }
        // The status was refused so that retriers are asked; it is a response all the same.
        if sessionError.isResponseValidationError, received != nil { return }
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
