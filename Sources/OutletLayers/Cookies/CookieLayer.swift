import FoundationEssentials
import OutletHTTP
public import OutletTransport

/// Sends the cookies of a storage with requests, and stores those that responses set (RFC 6265 §5).
///
/// Cached responses do not set cookies again.
public final class CookieLayer: TransportLayer, HeadObserver {
    /// The wrapped transport.
    public let next: any Transport
    private let storage: CookieStorage
    private let accepts: CookieAcceptPolicy
    private let sends: Bool
    private let verifiesCertificates: Bool

    /// Makes the layer.
    ///
    /// - Parameters:
    ///   - next: The transport to wrap.
    ///   - storage: The cookies.
    ///   - accepts: Which cookies of responses are stored, all by default; the stricter of this
    ///     policy and the storage's own applies.
    ///   - sends: Whether stored cookies are sent; true by default.
    ///   - verifiesCertificates: Whether the session verifies certificates, true by default;
    ///     without that, cookies set over https are not stored.
    public init(
        around next: any Transport, storage: CookieStorage, accepts: CookieAcceptPolicy = .always,
        sends: Bool = true, verifiesCertificates: Bool = true
    ) {
        self.next = next
        self.storage = storage
        self.accepts = accepts
        self.sends = sends
        self.verifiesCertificates = verifiesCertificates
    }

    /// Sends the job with the cookies for its URL.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - handler: Receives the events, as from a transport.
    /// - Returns: The transfer.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        guard sends, let request = storage.addingCookies(to: job.request) else {
            return send(job, handler)
        }
        var job = job
        job.request = request
        return send(job, handler)
    }

    private func send(_ job: TransferJob, _ handler: any TransferHandler) -> any TransferTask {
        guard accepts != .never else { return next.start(job, handler: handler) }
        return next.start(
            job, handler: HeadTap(self, job.request, startedAt: job.firstURL, handler: handler))
    }

    /// Opens the WebSocket with the cookies for its URL.
    ///
    /// - Parameters:
    ///   - job: The handshake to send.
    ///   - handler: Receives the events, as from a transport.
    /// - Returns: The connection.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        let handler: any WebSocketHandler =
            accepts == .never
            ? handler : HeadTap(self, job.request, startedAt: job.firstURL, handler: handler)
        var job = job
        if sends { job.request = storage.addingCookies(to: job.request) ?? job.request }
        return next.connect(job, handler: handler)
    }

    func learn(
        from head: HTTPResponse, to request: HTTPRequest, startedAt first: URL?,
        by task: any TransferTask
    ) {
        guard head.headers.mayContain(CookieStorage.setCookie),
            request.httpShouldHandleCookies, let url = request.url,
            task.mayKeep(from: url, verifiesCertificates: verifiesCertificates)
        else { return }
        storage.setCookies(of: head.headers, from: url, policy: accepts, mainDocumentURL: first)
    }
}
