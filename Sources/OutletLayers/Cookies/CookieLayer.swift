import FoundationEssentials
package import OutletHTTP
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
    let fields: FieldNames = ["Set-Cookie"]

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
        let tap = HeadTap(self, job.request, startedAt: job.firstURL, handler: handler)
        guard sends, let request = storage.addingCookies(to: job.request) else {
            return next.start(job, handler: tap)
        }
        var job = job
        job.request = request
        return next.start(job, handler: tap)
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
        let tap = HeadTap(self, job.request, handler: handler)
        var job = job
        if sends { job.request = storage.addingCookies(to: job.request) ?? job.request }
        return next.connect(job, handler: tap)
    }

    func learn(
        from head: HTTPResponse, to request: HTTPRequest, startedAt first: URL?,
        by task: any TransferTask
    ) {
        guard accepts != .never, request.httpShouldHandleCookies, let url = request.url,
            task.mayKeep(from: url, verifiesCertificates: verifiesCertificates)
        else { return }
        storage.setCookies(
            head.headers.values(for: "Set-Cookie"), from: url, policy: accepts,
            mainDocumentURL: first)
    }
}

extension CookieStorage {
    /// Returns the request with the stored cookies for its URL, after its own ones; `nil` if none
    /// are added.
    ///
    /// Stored cookies with the name of one of the request's own are not added.
    package func addingCookies(to request: HTTPRequest) -> HTTPRequest? {
        guard !isEmpty, request.httpShouldHandleCookies, let url = request.url else { return nil }
        let stored = cookies(for: url)
        guard !stored.isEmpty else { return nil }
        guard let own = request.headers.value(for: "Cookie") else {
            return request.withCookies(stored.map(\.pair))
        }
        let ownNames = own.parts(separatedBy: ";").map { pair -> Substring in
            pair.cut(at: "=").map { $0.head.trimmingBlanks } ?? ""
        }
        let added = stored.filter { cookie in
            !ownNames.contains { $0.hasSameBytes(as: cookie.name) }
        }.map(\.pair)
        return added.isEmpty ? nil : request.withCookies([own] + added)
    }
}

extension HTTPRequest {
    /// Returns the request with all cookies in one `Cookie` field (RFC 6265 §5.4).
    fileprivate func withCookies(_ pairs: [String]) -> HTTPRequest {
        var request = self
        request.headers.update(
            name: "Cookie", value: pairs.count == 1 ? pairs[0] : pairs.joined(separator: "; "))
        return request
    }
}
