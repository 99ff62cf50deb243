import FoundationEssentials
package import OutletHTTP
public import OutletTransport

/// Sends a storage's cookies with requests, and takes in what servers set (RFC 6265 §5).
///
/// What comes from a cache sets nothing again.
public final class CookieLayer: TransportLayer, HeadObserver {
    /// Carries what this layer lets through.
    public let next: any Transport
    private let storage: CookieStorage
    private let accepts: CookieAcceptPolicy
    private let sends: Bool
    private let verifiesCertificates: Bool
    let fields: FieldNames = ["Set-Cookie"]

    /// Makes the layer.
    ///
    /// - Parameters:
    ///   - next: Carries the requests.
    ///   - storage: Where the cookies are.
    ///   - accepts: From whom cookies are taken; the storage's own policy counts besides.
    ///   - sends: Whether stored cookies are sent.
    ///   - verifiesCertificates: Whether certificates are verified; cookies of a server that was
    ///     not are not kept.
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

    /// Sends the job with the cookies for its address.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        let tap = HeadTap(self, job.request, startedAt: job.firstURL, handler: handler)
        guard sends, let request = storage.addingCookies(to: job.request) else {
            return next.start(job, handler: tap)
        }
        var job = job
        job.request = request
        return next.start(job, handler: tap)
    }

    /// Opens the WebSocket with the cookies for its address.
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
    /// The request with the cookies for its address, behind those that it brings itself; `nil` if
    /// there are none.
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
    /// The same request with these cookies in one field, whatever it is made of (RFC 6265 §5.4).
    fileprivate func withCookies(_ pairs: [String]) -> HTTPRequest {
        var request = self
        request.headers.update(
            name: "Cookie", value: pairs.count == 1 ? pairs[0] : pairs.joined(separator: "; "))
        return request
    }
}
