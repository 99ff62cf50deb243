/// A plugin with hooks that may take their time; what each such protocol has in common.
public protocol WorkingPlugin: Plugin {}

/// Changes requests before they are sent.
public protocol RequestPreparing: WorkingPlugin {
    /// Runs once per attempt, behind all adapters, in the order of the plugins.
    ///
    /// Threads and cancellation as in ``RequestAdapting/adapt(_:)``.
    ///
    /// - Throws: Any error; the request fails with its text.
    nonisolated(nonsending) func prepare(_ request: MutableRequest) async throws
}

/// Watches requests go out and outcomes come in.
public protocol RequestObserving: Plugin {
    /// Runs right before a request is sent.
    ///
    /// Thread: one of the host's workers, beside other hooks.
    func willSend(_ request: Request)

    /// Runs when the outcome is known, before anybody may replace it.
    ///
    /// Thread: one of the host's workers, beside other hooks.
    func didReceive(_ response: Response, for request: Request)
}

extension RequestObserving {
    /// Takes no notice.
    public func willSend(_ request: Request) {}
    /// Takes no notice.
    public func didReceive(_ response: Response, for request: Request) {}
}

/// Keeps something for each call, and lets go of it when the call is over.
public protocol CallTracking: Plugin {
    /// Runs exactly once for every call that any hook of this plugin saw, refused and cancelled ones
    /// included, behind all of them.
    ///
    /// - Parameter id: What ``Request/id`` was in the other hooks.
    ///
    /// Thread: one of the host's workers, beside other hooks.
    func requestDone(id: String)
}

/// May put another outcome in place of the one that arrived.
public protocol ResponseProcessing: WorkingPlugin {
    /// Runs after all ``RequestObserving/didReceive(_:for:)``.
    ///
    /// Threads and cancellation as in ``RequestAdapting/adapt(_:)``.
    ///
    /// - Throws: Any error; the request fails with its text.
    nonisolated(nonsending) func process(
        _ response: MutableResponse, for request: Request
    ) async throws
}

/// Changes requests and may take its time about it.
public protocol RequestAdapting: WorkingPlugin {
    /// Runs before each attempt. The request stays changeable until this returns.
    ///
    /// Runs on the host's thread up to its first suspension; one that never suspends costs no
    /// task of its own. Cancelled when nobody waits for the request any more.
    ///
    /// - Throws: Any error; the request fails with its text.
    nonisolated(nonsending) func adapt(_ request: MutableRequest) async throws
}

/// Changes the fields of requests as they are sent: signs them, or refuses them.
public protocol RequestFinalizing: WorkingPlugin {
    /// Runs before each request on the wire: attempts, hops of redirects, rounds of authentication.
    ///
    /// The fields that are sent are there, `Host` and `Content-Length` included, which cannot be changed;
    /// nothing but fields can. Threads and cancellation as in ``RequestAdapting/adapt(_:)``.
    ///
    /// - Throws: Any error; the request fails with its text.
    nonisolated(nonsending) func finalize(_ request: MutableRequest) async throws
}

/// Decides about redirects that are about to be followed.
public protocol RedirectDeciding: WorkingPlugin {
    /// Runs before each redirect is followed.
    ///
    /// Threads and cancellation as in ``RequestAdapting/adapt(_:)``.
    ///
    /// - Parameters:
    ///   - request: What was sent.
    ///   - response: The redirect, without a body.
    ///   - next: What would be sent; it may be changed.
    /// - Throws: Any error; the request fails with its text.
    nonisolated(nonsending) func redirect(
        _ request: Request, answeredWith response: Response, to next: MutableRequest
    ) async throws -> RedirectDecision
}

/// What a ``RedirectDeciding`` plugin decides.
public enum RedirectDecision: Sendable {
    /// Follow it, with the changes made.
    case follow
    /// Do not follow: the redirect is the response.
    case take
}

/// Decides about another attempt after a failure.
public protocol RequestRetrying: WorkingPlugin {
    /// Runs after an attempt failed: no response, or one that was not accepted.
    ///
    /// Threads as in ``RequestAdapting/adapt(_:)``.
    ///
    /// - Parameters:
    ///   - request: What was sent.
    ///   - response: What came of it.
    ///   - attempt: How many attempts were made; at least 1.
    nonisolated(nonsending) func retry(
        _ request: Request, after response: Response, attempt: Int
    ) async -> RetryDecision
}

/// What a ``RequestRetrying`` plugin decides.
public enum RetryDecision: Sendable, Equatable {
    /// This plugin would not retry; the next one is asked.
    case doNotRetry
    /// Send again at once.
    case retry
    /// Send again after a wait.
    case retryAfter(Duration)
    /// Do not retry, and fail with this text.
    case fail(String)
}
