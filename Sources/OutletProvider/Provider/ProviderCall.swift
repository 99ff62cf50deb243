import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// One call of a provider: the hooks of all plugins around one request, sent or stubbed.
///
/// Holds everything the request needs, so that it continues if the provider is released.
final class ProviderCall: Sendable {
    let held: HeldTarget
    let plugins: [any PluginType]
    let session: Session
    let queue: DispatchQueue?
    let token: CancellableToken
    let progress: ProgressBlock?
    /// Whether the transfer may be shared with equal requests.
    let sharesTransfer: Bool
    /// Whether the plugins process the result here; if not, the caller of the provider does.
    private let processes: Bool
    private let completion: Completion

    init(
        target: HeldTarget, plugins: [any PluginType], session: Session, queue: DispatchQueue?,
        token: CancellableToken, progress: ProgressBlock?, sharesTransfer: Bool, processes: Bool,
        completion: @escaping Completion
    ) {
        held = target
        self.plugins = plugins
        self.session = session
        self.queue = queue
        self.token = token
        self.progress = progress
        self.sharesTransfer = sharesTransfer
        self.processes = processes
        self.completion = completion
    }

    var target: any TargetType { held.target }

    // MARK: To the sample

    /// Answers with the endpoint's sample and runs the hooks.
    ///
    /// - Parameter delay: In seconds; `nil` answers at once.
    func stub(_ request: HTTPRequest, _ endpoint: Endpoint, delay: Double?) {
        let prepared: HTTPRequest
        do {
            var described = request
            described.context.describe(as: UUID(), attempt: 1)
            described.context.heldTarget = held
            prepared = try prepare(described)
        } catch {
            fail(.underlying(SessionError.requestAdaptationFailed(error: error), nil))
            return
        }
        willSend(StubbedRequest(request: prepared, session: session))
        let answered = OnceFlag()
        let answer: @Sendable () -> Void = {
            guard answered.claim() else { return }
            self.finish(self.sample(endpoint, prepared))
        }
        guard let delay else {
            if let queue { queue.async(execute: answer) } else { answer() }
            return
        }
        let queue = queue ?? session.callbackQueue
        // Dispatch would wait for ever for what is not a number.
        let time = delay.isFinite ? max(0, delay) : 0
        queue.asyncAfter(deadline: .now() + time, execute: answer)
        token.onCancel { queue.async(execute: answer) }
    }

    private func sample(
        _ endpoint: Endpoint, _ request: HTTPRequest
    ) -> Result<Response, ProviderError> {
        guard !token.isCancelled else {
            return .failure(.underlying(SessionError.explicitlyCancelled, nil))
        }
        let response: Response
        switch endpoint.sampleResponseClosure() {
        case .networkResponse(let code, let data):
            response = Response(statusCode: code, data: data, request: request)
        case .response(let head, let data):
            response = Response(
                statusCode: head.statusCode, data: data, request: request, response: head)
        case .networkError(let error): return .failure(.underlying(error, nil))
        }
        let codes = target.validationType.statusCodes
        guard codes.isEmpty || codes.contains(response.statusCode) else {
            let error = SessionError.responseValidationFailed(
                reason: .unacceptableStatusCode(code: response.statusCode))
            return .failure(.underlying(error, response))
        }
        return .success(response)
    }

    // MARK: Hooks

    func prepare(_ request: HTTPRequest) throws -> HTTPRequest {
        try plugins.reduce(request) { request, plugin in
            var prepared = try plugin.prepare(request, target: target)
            prepared.continueCall(of: request)
            return prepared
        }
    }

    func willSend(_ request: any RequestType) {
        for plugin in plugins { plugin.willSend(request, target: target) }
    }

    /// Fails the call before anything is sent, on the completion's queue.
    func fail(_ error: ProviderError) {
        (queue ?? session.callbackQueue).async { self.finish(.failure(error)) }
    }

    func finish(
        _ result: Result<Response, ProviderError>,
        between: (Result<Response, ProviderError>) -> Void = { _ in }
    ) {
        for plugin in plugins { plugin.didReceive(result, target: target) }
        between(result)
        complete(result)
    }

    /// Completes the call with a result that ``PluginType/didReceive(_:target:)`` has seen.
    func complete(_ result: Result<Response, ProviderError>) {
        token.settle()
        let isProcessed = processes && !plugins.isEmpty
        completion(isProcessed ? plugins.reduce(result) { $1.process($0, target: target) } : result)
    }
}

/// A stubbed request, as plugins see it; ignores credentials.
private struct StubbedRequest: RequestType {
    let request: HTTPRequest?
    let session: Session

    var sessionHeaders: [String: String] { session.sessionConfiguration.headers.dictionary }

    func authenticate(
        username: String, password: String, persistence: Credential.Persistence
    ) -> Self { self }

    func authenticate(with credential: Credential) -> Self { self }
}
