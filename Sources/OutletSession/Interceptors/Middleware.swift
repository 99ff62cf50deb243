public import FoundationEssentials
public import OutletHTTP

/// Surrounds the calls of a session: sees what the application asked for, may change it, answer it,
/// send it again, or change what came of it.
///
/// `next` is the rest of the call: the middleware that comes after, then adapters, the transfer with its
/// redirects, retriers and validators. It may be called once, several times one after the other, or not
/// at all; what is returned is what serializers see. A signer that signs again with the
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
/// Runs once for each call, whatever its attempts; anew where a retrier asks for another attempt because
/// of a serializer's failure. It has no time limit of its own. A call that is cancelled ends at once: its
/// task is cancelled, `next` throws, and what comes of it counts no more.
///
/// Where a request goes out several times, its body has to be there several times: data and files are,
/// a stream is taken back to its start (`BodyStream`) or the call fails.
public protocol Middleware: Sendable {
    /// The rest of the call.
    ///
    /// Returns the response, whatever its status; ``CallResponse/failure`` says whether validators
    /// refused it.
    ///
    /// - Throws: ``SessionError`` where there is no response at all: the transfer failed, an adapter
    ///   refused, the call was cancelled.
    typealias Next = @Sendable (_ request: HTTPRequest) async throws -> CallResponse

    /// Takes part in a call.
    ///
    /// - Parameters:
    ///   - request: What is asked for; its `HTTPRequest.context` says by whom.
    ///   - next: The rest of the call.
    /// - Returns: What the call comes to; usually what `next` returned.
    /// - Throws: What the call fails with: inside ``SessionError/requestAdaptationFailed(error:)`` where
    ///   `next` was not called, else as a custom validation failure; a ``SessionError`` as it is.
    ///
    /// Thread: a task of its own.
    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse

    /// Whether the bodies of streams are needed as well; `false` by default.
    ///
    /// They are collected then, within `maximumResponseSize`, and handed over piece by piece no more.
    var needsStreamedBodies: Bool { get }
}

extension Middleware {
    /// Streams stay streams: of theirs ``CallResponse/body`` is `nil`.
    public var needsStreamedBodies: Bool { false }
}

/// What a call has come to, before it is serialized.
public struct CallResponse: Sendable {
    private struct Parts: Sendable {
        var head: HTTPResponse
        var body: Data?
        var failure: (any Error)?
        var request: HTTPRequest?
        var file: URL?
    }

    /// Behind one reference, because it is handed through all middleware.
    private var parts: Boxed<Parts>

    /// The head of the response.
    public var head: HTTPResponse {
        get { parts.value.head }
        set { parts.value.head = newValue }
    }
    /// The body, where the call collects it; `nil` for downloads, streams and WebSockets, where a change
    /// has no effect, and where there is none.
    public var body: Data? {
        get { parts.value.body }
        set { parts.value.body = newValue }
    }
    /// Why the call fails all the same, such as a validator's verdict; `nil` to accept the response.
    public var failure: (any Error)? {
        get { parts.value.failure }
        set { parts.value.failure = newValue }
    }
    /// The request as it was sent last; `nil` in responses that middleware has made.
    package var request: HTTPRequest? { parts.value.request }
    /// Where a download's body is; `nil` for others, and where there is no file.
    package var file: URL? { parts.value.file }

    /// Makes a response, for instance to answer without the network.
    public init(head: HTTPResponse, body: Data? = nil, failure: (any Error)? = nil) {
        parts = Boxed(Parts(head: head, body: body, failure: failure))
    }

    init(head: HTTPResponse, of outcome: AttemptOutcome, in file: URL?) {
        parts = Boxed(
            Parts(
                head: head, body: outcome.data, failure: outcome.error, request: outcome.request,
                file: file))
    }
}

/// A response, or why there is none.
package typealias CallResult = Result<CallResponse, any Error>

/// Middleware that answers by calling back, and so needs no task.
package protocol CallbackMiddleware: Middleware {
    /// As ``Middleware/intercept(_:next:)``.
    ///
    /// - Parameters:
    ///   - next: The rest of the call; may call back before it returns.
    ///   - completion: To be called exactly once.
    /// - Returns: Called once when nobody waits for the completion any more, on any thread; must not
    ///   block.
    ///
    /// Thread: any of the call's; must not block.
    func intercept(
        _ request: HTTPRequest,
        next:
            @escaping @Sendable (HTTPRequest, @escaping @Sendable (CallResult) -> Void) -> Void,
        completion: @escaping @Sendable (CallResult) -> Void
    ) -> (@Sendable () -> Void)?
}

extension CallbackMiddleware {
    package func intercept(
        _ request: HTTPRequest, next: @escaping Next
    ) async throws -> CallResponse {
        try await withCheckedContinuation { continuation in
            _ = intercept(
                request,
                next: { request, completion in
                    Task {
                        do {
                            completion(.success(try await next(request)))
                        } catch {
                            completion(.failure(error))
                        }
                    }
                }, completion: { continuation.resume(returning: $0) })
        }.get()
    }
}

/// A piece of middleware by how it is called; found out once, for all calls of a session.
enum MiddlewareStep: Sendable {
    case calling(any CallbackMiddleware)
    case awaiting(any Middleware)

    init(_ middleware: any Middleware) {
        self =
            (middleware as? any CallbackMiddleware).map { .calling($0) } ?? .awaiting(middleware)
    }
}
