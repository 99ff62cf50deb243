public import FoundationEssentials
public import OutletHTTP

/// Runs around each call of a session: it can change the application's request, answer it, send it
/// again, or change its response.
///
/// `next` runs the rest of the call: further middleware, then adapters, the transfer with its
/// redirects, retriers and validators. It may be called once, several times in sequence, or not at
/// all. Serializers receive what the middleware returns. A signer that signs again with the
/// server's time after a 401:
///
/// ```swift
/// struct Signer: Middleware {
///     func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
///         let response = try await next(signed(request, at: Date()))
///         guard response.head.statusCode == 401, let time = serverTime(response.head) else {
///             return response
///         }
///         return try await next(signed(request, at: time))
///     }
/// }
/// ```
///
/// It runs once for each call, however many attempts the call has, and again if a retrier requests
/// another attempt after a serializer has failed. It has no time limit of its own. When the call is
/// cancelled, its task is cancelled, `next` throws, and the result is ignored.
///
/// If a request is sent several times, its body must be available each time: data and files are; a
/// stream is rewound (`BodyStream`), or the call fails.
public protocol Middleware: Sendable {
    /// Runs the rest of the call and returns the response, whatever its status.
    ///
    /// If validators refused it, ``CallResponse/failure`` is their error.
    ///
    /// - Throws: ``SessionError`` if there is no response: the transfer or an adapter has failed,
    ///   or the call was cancelled. Also if it is called while another call of it is running, or
    ///   after the middleware has returned.
    typealias Next = @Sendable (_ request: HTTPRequest) async throws -> CallResponse

    /// Returns the response of a call.
    ///
    /// - Parameters:
    ///   - request: The application's request; `HTTPRequest.context` has its id.
    ///   - next: Runs the rest of the call.
    /// - Returns: The response of the call; usually what `next` returned.
    /// - Throws: The error of the call: a ``SessionError`` as it is; other errors inside
    ///   ``SessionError/requestAdaptationFailed(error:)`` if no response has arrived, for example
    ///   because `next` was not called, else as a custom validation failure.
    ///
    /// Thread: a task of its own.
    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse

    /// Whether the middleware needs the bodies of streams, too; `false` by default.
    ///
    /// If `true`, such a body is collected, up to `maximumResponseSize`, before the stream delivers
    /// it.
    var needsStreamedBodies: Bool { get }
}

extension Middleware {
    /// `false`: ``CallResponse/body`` is `nil` for streams, unless other middleware of the session
    /// needs their bodies.
    public var needsStreamedBodies: Bool { false }
}

/// The response of a call before it is serialized.
public struct CallResponse: Sendable {
    private struct Parts: Sendable {
        var head: HTTPResponse
        var body: Data?
        var failure: (any Error)?
        var request: HTTPRequest?
        var file: URL?
    }

    /// A copy costs one retain, because all middleware passes the response on.
    private var parts: Boxed<Parts>

    /// The head of the response.
    public var head: HTTPResponse {
        get { parts.value.head }
        set { parts.value.head = newValue }
    }
    /// The body, if the call collects it.
    ///
    /// `nil` if there is none, and for downloads, WebSockets and streams that are not collected
    /// (see ``Middleware/needsStreamedBodies``). There, setting it has no effect, except for a stream
    /// that middleware answers without calling `next`.
    public var body: Data? {
        get { parts.value.body }
        set { parts.value.body = newValue }
    }
    /// The error with which the call fails in spite of its response, such as that of a validator;
    /// `nil` to accept the response.
    public var failure: (any Error)? {
        get { parts.value.failure }
        set { parts.value.failure = newValue }
    }
    /// The request that was sent last; `nil` in responses made by middleware.
    package var request: HTTPRequest? { parts.value.request }
    /// The file of a download; `nil` for others, and if there is no file.
    package var file: URL? { parts.value.file }

    /// Makes a response, for instance to answer without the network.
    ///
    /// - Parameters:
    ///   - head: The head of the response.
    ///   - body: The body; `nil` for none.
    ///   - failure: The error with which the call fails; `nil` to accept the response.
    public init(head: HTTPResponse, body: Data? = nil, failure: (any Error)? = nil) {
        parts = Boxed(Parts(head: head, body: body, failure: failure))
    }

    func isCopy(of other: CallResponse) -> Bool { parts.isIdentical(to: other.parts) }

    init(head: HTTPResponse, of outcome: AttemptOutcome, in file: URL?) {
        parts = Boxed(
            Parts(
                head: head, body: outcome.data, failure: outcome.error, request: outcome.request,
                file: file))
    }
}

/// The response of a call, or its error.
package typealias CallResult = Result<CallResponse, any Error>

extension CallResult {
    /// Whether both are the same response, and neither was changed since it was copied.
    func isCopy(of other: CallResult) -> Bool {
        guard case .success(let response) = self, case .success(let other) = other else {
            return false
        }
        return response.isCopy(of: other)
    }
}

/// Middleware that only sees the outcome of a call, and may replace it.
///
/// As the innermost middleware of a session it needs no task.
/// Its types are classes, because each request copies it, which costs more for other values.
package protocol OutcomeMiddleware: AnyObject, Middleware {
    /// Whether requests must not share their transfers with other ones.
    var needsOwnTransfers: Bool { get }

    /// Whether ``end(_:of:isCancelled:)`` is to be called also for requests for which ``begin(_:of:)``
    /// was not.
    var judgesOutcomes: Bool { get }

    /// Whether ``begin(_:of:)`` is to be called for a request.
    ///
    /// - Parameter hasStream: Whether its body may be read from a stream.
    func needsLifetime(hasStream: Bool) -> Bool

    /// Called before the attempts of a call, and again before those of a retry.
    ///
    /// - Parameters:
    ///   - request: The application's request; its context may be changed.
    ///   - lifetime: The lifetime of the request.
    func begin(_ request: inout HTTPRequest, of lifetime: RequestLifetime)

    /// Called after the attempts of a call.
    ///
    /// - Parameters:
    ///   - result: The outcome.
    ///   - request: The application's request, as ``begin(_:of:)`` has changed it.
    ///   - isCancelled: Whether the call has been cancelled; its outcome can then not be replaced.
    ///
    /// Thread: any thread of the call; must not block.
    func end(
        _ result: CallResult, of request: HTTPRequest, isCancelled: Bool
    ) -> OutcomeDecision
}

/// The decision of an ``OutcomeMiddleware``.
package enum OutcomeDecision: Sendable {
    case unchanged
    case replaced(CallResult)
    /// The decision follows.
    case later(PendingOutcome)
}

/// The decision of an ``OutcomeMiddleware`` that follows.
package struct PendingOutcome: Sendable {
    /// Sets the closure that receives the outcome, to be called exactly once, on any thread.
    ///
    /// The result is called once if the decision is no longer needed, on any thread.
    package typealias Begin =
        @Sendable (_ completion: @escaping @Sendable (CallResult) -> Void) -> @Sendable () -> Void

    let begin: Begin

    /// - Parameter begin: Called once.
    package init(_ begin: @escaping Begin) { self.begin = begin }
}

extension OutcomeMiddleware {
    /// Calls ``end(_:of:isCancelled:)``, where it is not the innermost middleware.
    package func intercept(
        _ request: HTTPRequest, next: @escaping Next
    ) async throws -> CallResponse {
        let result: CallResult
        do {
            result = .success(try await next(request))
        } catch {
            result = .failure(error)
        }
        switch end(result, of: request, isCancelled: Task.isCancelled) {
        case .unchanged: return try result.get()
        case .replaced(let replacement): return try replacement.get()
        case .later(let pending):
            return try await withCheckedContinuation { continuation in
                _ = pending.begin { continuation.resume(returning: $0) }
            }.get()
        }
    }
}
