/// A plugin with asynchronous hooks; the base of all such protocols.
public protocol WorkingPlugin: Plugin {}

/// Changes requests before they are sent.
public protocol RequestPreparing: WorkingPlugin {
    /// Runs once per attempt, after all adapters, in the order of the plugins.
    ///
    /// Does not run for redirect hops; see ``RequestFinalizing``. Threads and cancellation as in
    /// ``RequestAdapting/adapt(_:)``.
    ///
    /// - Parameter request: The request; changeable until this returns.
    /// - Throws: Any error; the request fails with its text.
    nonisolated(nonsending) func prepare(_ request: MutableRequest) async throws
}

/// Observes requests and responses, without changing them.
public protocol RequestObserving: Plugin {
    /// Runs before each request on the wire: attempts, redirect hops, rounds of authentication.
    ///
    /// Also runs for a request that a plugin answered, which is not sent. Unless the plugin is
    /// ``PluginInfo/isNonblocking``, it runs while the request is sent; it has ended before
    /// ``didReceive(_:for:)`` runs.
    ///
    /// - Parameter request: The request as it is sent; readable until this returns.
    ///
    /// Thread: one of the host's worker threads, or for a plugin that is
    /// ``PluginInfo/isNonblocking`` the transport's or one of the program's. Hooks may run at the
    /// same time.
    func willSend(_ request: Request)

    /// Runs once per call, when its response or failure is known, before a plugin may replace it.
    ///
    /// - Parameters:
    ///   - response: The response or failure; readable until this returns. Has no body for
    ///     downloads and WebSockets, nor for streams unless a plugin is ``ResponseProcessing``.
    ///   - request: The request; readable until this returns.
    ///
    /// Thread: one of the host's worker threads, or for a plugin that is
    /// ``PluginInfo/isNonblocking`` the transport's or one of the program's. Hooks may run at the
    /// same time.
    func didReceive(_ response: Response, for request: Request)
}

extension RequestObserving {
    /// Does nothing.
    ///
    /// - Parameter request: Ignored.
    public func willSend(_ request: Request) {}
    /// Does nothing.
    ///
    /// - Parameters:
    ///   - response: Ignored.
    ///   - request: Ignored.
    public func didReceive(_ response: Response, for request: Request) {}
}

/// Keeps state for each call, and releases it when the call has ended.
public protocol CallTracking: Plugin {
    /// Runs exactly once for every call that any hook of this plugin received, failed and cancelled
    /// calls included, after all other hooks.
    ///
    /// - Parameter id: The value of ``Request/id`` in the other hooks.
    ///
    /// Thread: one of the host's worker threads, or for a plugin that is
    /// ``PluginInfo/isNonblocking`` the transport's or one of the program's. Hooks of other calls may
    /// run at the same time.
    func requestDone(id: String)
}

/// Replaces responses and failures.
public protocol ResponseProcessing: WorkingPlugin {
    /// Runs once per call, after ``RequestObserving/didReceive(_:for:)`` of all plugins.
    ///
    /// Does not run for cancelled calls. Threads and cancellation as in
    /// ``RequestAdapting/adapt(_:)``.
    ///
    /// - Parameters:
    ///   - response: The response or failure; replaceable until this returns.
    ///   - request: The request; readable until this returns.
    /// - Throws: Any error; the request fails with its text.
    nonisolated(nonsending) func process(
        _ response: MutableResponse, for request: Request
    ) async throws
}

/// Changes requests asynchronously, for example by fetching a token.
public protocol RequestAdapting: WorkingPlugin {
    /// Runs once per attempt, before ``RequestPreparing/prepare(_:)``.
    ///
    /// Does not run for redirect hops; see ``RequestFinalizing``. The host fails the request if
    /// this exceeds its time limit. The task is cancelled when the request is cancelled or fails.
    ///
    /// - Parameter request: The request; changeable until this returns.
    /// - Throws: Any error; the request fails with its text.
    ///
    /// Thread: one of the host's worker threads up to the first suspension, or for a plugin that is
    /// ``PluginInfo/isNonblocking`` the transport's or one of the program's; without a suspension no
    /// other thread is involved. Hooks of several requests may run at the same time.
    nonisolated(nonsending) func adapt(_ request: MutableRequest) async throws
}

/// Changes the headers of requests as they are sent: signs requests, or refuses them.
public protocol RequestFinalizing: WorkingPlugin {
    /// Runs before each request on the wire: attempts, redirect hops, rounds of authentication.
    ///
    /// The request has the headers that are sent, such as `Host` and `Content-Length`, except
    /// answers to Digest, NTLM and Negotiate and the headers of a WebSocket handshake. Only headers
    /// can be changed, but not `Host` and `Content-Length`; a change applies to this request alone.
    /// Does not run for requests that a plugin answered or that the cache answers. Threads and
    /// cancellation as in ``RequestAdapting/adapt(_:)``.
    ///
    /// - Parameter request: The request; its headers are changeable until this returns.
    /// - Throws: Any error; the request fails with its text.
    nonisolated(nonsending) func finalize(_ request: MutableRequest) async throws
}

/// Follows, changes or refuses redirects.
public protocol RedirectDeciding: WorkingPlugin {
    /// Runs before each redirect is followed.
    ///
    /// Threads and cancellation as in ``RequestAdapting/adapt(_:)``.
    ///
    /// - Parameters:
    ///   - request: The request that was sent.
    ///   - response: The redirect response, without a body.
    ///   - next: The request that would be sent, without what must not go to another server;
    ///     changeable, but not answerable. If its URL is changed to another server, its credentials
    ///     are removed.
    /// - Returns: Whether to follow the redirect. The next plugin decides after
    ///   ``RedirectDecision/follow``.
    /// - Throws: Any error; the request fails with its text.
    nonisolated(nonsending) func redirect(
        _ request: Request, answeredWith response: Response, to next: MutableRequest
    ) async throws -> RedirectDecision
}

/// The decision of a ``RedirectDeciding`` plugin.
public enum RedirectDecision: Sendable {
    /// Follow the redirect, with the changes made.
    case follow
    /// Do not follow: the redirect is the response of the call.
    case take
}

/// Serializes responses to values, for programs that use this plugin as a serializer.
public protocol ResponseSerializing: Plugin {
    /// Serializes a response.
    ///
    /// - Parameters:
    ///   - response: The response; readable until this returns.
    ///   - request: The request; readable until this returns.
    /// - Returns: The type of the value, `json`, `text` or one of the plugin's own such as
    ///   `com.example.invoice`, and the encoded value, at most 64 MiB. Use few different types:
    ///   their names stay in memory for the life of the process.
    /// - Throws: Any error; the response fails with its text.
    ///
    /// Thread: one of the host's worker threads; may block until the deadline. If the plugin is
    /// ``PluginInfo/isNonblocking``, the one on which the program serializes the response.
    func serialize(
        _ response: Response, for request: Request
    ) throws -> (type: String, bytes: [UInt8])
}

/// Observes events of requests after they have happened.
public protocol EventMonitoring: Plugin {
    /// Runs for one or more events, in the order in which they happened.
    ///
    /// - Parameters:
    ///   - events: The events; ignore unknown kinds.
    ///   - dropped: How many events before these were dropped because the plugin was too slow.
    ///
    /// Thread: one of the host's worker threads, one call at a time, but at the same time as other
    /// hooks.
    func monitor(_ events: [RequestEvent], dropped: UInt64)
}

/// An event of a request.
public struct RequestEvent: Sendable {
    /// The kind of an event; newer hosts may use values that have no name here.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// The number in `outlet/events.h`.
        public let rawValue: UInt32

        /// Makes a kind from any number.
        ///
        /// - Parameter rawValue: The number in `outlet/events.h`.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// An attempt begins; `a` is its number, from 1, `text` the URL.
        public static let attempt = Kind(rawValue: 0)
        /// A head arrived, except of redirects that are followed; `a` is the status, `text` the
        /// URL.
        public static let response = Kind(rawValue: 1)
        /// A redirect is followed; `a` is the status, `text` the new URL.
        public static let redirect = Kind(rawValue: 2)
        /// Another attempt follows; `a` is the number of attempts so far.
        public static let retry = Kind(rawValue: 3)
        /// An attempt has ended; `a` is the bytes sent, `b` the bytes received, heads included;
        /// ``RequestEvent/duration`` is its duration.
        public static let measured = Kind(rawValue: 4)
        /// A request has ended; `a` is the last status or 0, `b` the number of attempts, `text` the
        /// code of the failure, empty on success.
        public static let finished = Kind(rawValue: 5)
        /// A request was cancelled.
        public static let cancelled = Kind(rawValue: 6)
        /// A request was suspended.
        public static let suspended = Kind(rawValue: 7)
        /// A request was started or resumed.
        public static let resumed = Kind(rawValue: 8)
    }

    /// The kind of the event.
    public let kind: Kind
    /// When it happened, in nanoseconds of `CLOCK_MONOTONIC`.
    public let time: UInt64
    /// The duration for ``Kind/measured``; zero for kinds without one.
    public let duration: Duration
    /// The first number of the event; its meaning depends on ``kind``.
    public let a: Int64
    /// The second number of the event; its meaning depends on ``kind``.
    public let b: Int64
    /// The request's id, equal to ``Request/id``.
    public let requestID: String
    /// The text of the event; its meaning depends on ``kind``.
    public let text: String
}

/// Refuses servers that the program itself accepts.
///
/// ``PluginInfo/isNonblocking`` must be `true`, or the host refuses the plugin.
public protocol ServerTrustDeciding: Plugin {
    /// Runs in the TLS handshake of each new connection, after the program's own checks.
    ///
    /// A connection that is reused is not checked again.
    ///
    /// - Parameter server: The server or `https` proxy.
    /// - Throws: Any error; the server is refused with its text.
    ///
    /// Thread: the transport's. Must not block: all transfers wait for it.
    func evaluate(_ server: ServerIdentity) throws
}

/// The identity of a server or an `https` proxy, from its TLS handshake.
public struct ServerIdentity: Sendable {
    /// The host, in lower case, IPv6 addresses without brackets.
    public let host: String
    /// The port.
    public let port: Int
    /// The certificate chain from the server's certificate to an authority, in DER.
    ///
    /// Compare pins with these certificates.
    public let certificates: [[UInt8]]
    /// Why the program's authorities do not verify the chain; `nil` if they do, or if the program
    /// does not verify certificates.
    public let fault: String?
}

/// Decides whether a failed request is retried.
public protocol RequestRetrying: WorkingPlugin {
    /// Runs after an attempt failed: without a response, or with one that was not accepted.
    ///
    /// Threads and cancellation as in ``RequestAdapting/adapt(_:)``.
    ///
    /// - Parameters:
    ///   - request: The request that was sent.
    ///   - response: The response or failure of the attempt.
    ///   - attempt: The number of attempts so far; at least 1.
    /// - Returns: Whether and when to retry.
    nonisolated(nonsending) func retry(
        _ request: Request, after response: Response, attempt: Int
    ) async -> RetryDecision
}

/// The decision of a ``RequestRetrying`` plugin.
public enum RetryDecision: Sendable, Equatable {
    /// Do not retry, unless the next plugin decides to.
    case doNotRetry
    /// Retry at once.
    case retry
    /// Retry after a delay, at most a day; a longer one fails the request. Negative counts as zero.
    case retryAfter(Duration)
    /// Do not retry, and fail the request with a text.
    case fail(String)
}
