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
    /// Does nothing.
    public func willSend(_ request: Request) {}
    /// Does nothing.
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

/// Makes values of responses, for programs that ask for this plugin's.
public protocol ResponseSerializing: Plugin {
    /// Makes a value.
    ///
    /// - Returns: The value's type, `json`, `text` or one of the plugin's own, and the value encoded so.
    /// - Throws: Any error; the response fails with its text.
    ///
    /// Thread: where the program is finishing the request, which waits for it.
    func serialize(
        _ response: Response, for request: Request
    ) throws -> (type: String, bytes: [UInt8])
}

/// Watches what requests come to, after the fact.
public protocol EventMonitoring: Plugin {
    /// Runs for some events, in their order.
    ///
    /// - Parameter dropped: How many were left out before these, because this was too slow.
    ///
    /// Thread: one of the host's workers, beside other hooks; never two at once.
    func monitor(_ events: [RequestEvent], dropped: UInt64)
}

/// What a request has come to.
public struct RequestEvent: Sendable {
    /// What has happened; numbers without a name here are of newer hosts.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// The number.
        public let rawValue: UInt32

        /// Makes a kind of any number.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// An attempt begins; `a` is which, from 1, `text` the address.
        public static let attempt = Kind(rawValue: 0)
        /// A head has come; `a` is the status, `text` the address.
        public static let response = Kind(rawValue: 1)
        /// A redirect is followed; `a` is the status, `text` where it leads.
        public static let redirect = Kind(rawValue: 2)
        /// Another attempt will be made; `a` is how many there were.
        public static let retry = Kind(rawValue: 3)
        /// An attempt has ended; `a` is the bytes sent, `b` those received.
        public static let measured = Kind(rawValue: 4)
        /// A request has ended; `a` is the last status, 0 without, `b` the attempts, `text` the code of
        /// its failure.
        public static let finished = Kind(rawValue: 5)
        /// A request was cancelled.
        public static let cancelled = Kind(rawValue: 6)
        /// A request was suspended.
        public static let suspended = Kind(rawValue: 7)
        /// A request was started, or goes on.
        public static let resumed = Kind(rawValue: 8)
    }

    /// What has happened.
    public let kind: Kind
    /// When, in nanoseconds of the monotonic clock.
    public let time: UInt64
    /// How long it took; zero for most kinds.
    public let duration: Duration
    /// As the kind says.
    public let a: Int64
    /// As the kind says.
    public let b: Int64
    /// The request's id, as ``Request/id``.
    public let requestID: String
    /// As the kind says.
    public let text: String
}

/// Refuses servers that the program itself would talk to; ``PluginInfo/isNonblocking`` must be set.
public protocol ServerJudging: Plugin {
    /// Runs inside of the handshake of each new connection, behind the program's own checks.
    ///
    /// - Throws: Any error; the server is refused with its text.
    ///
    /// Thread: the transport's, for which all transfers wait: it must not block.
    func judge(_ server: ServerIdentity) throws
}

/// What a server has shown in its handshake.
public struct ServerIdentity: Sendable {
    /// The host, in lower case, without brackets.
    public let host: String
    /// The port.
    public let port: Int
    /// The way from the server's own certificate to an authority, DER; pins are compared with these.
    public let certificates: [[UInt8]]
    /// What is wrong with them by the program's authorities; `nil` when nothing is, or the program does
    /// not verify certificates.
    public let fault: String?
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
