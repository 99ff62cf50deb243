package import FoundationEssentials
package import OutletHTTP
public import OutletTransport

/// Changes http URLs of known HSTS hosts to https, and stores the policies of responses (RFC 6797).
public final class HSTSLayer: TransportLayer, HeadObserver {
    /// The wrapped transport.
    public let next: any Transport
    private let storage: HSTSStorage
    private let verifiesCertificates: Bool
    private let upgrades: Bool
    private let learns: Bool
    private static let field: FieldNames = ["Strict-Transport-Security"]

    /// Makes the layer.
    ///
    /// - Parameters:
    ///   - next: The transport to wrap.
    ///   - storage: The known hosts and their policies.
    ///   - verifiesCertificates: Whether the session verifies certificates, true by default;
    ///     without that, policies of responses are ignored.
    public convenience init(
        around next: any Transport, storage: HSTSStorage, verifiesCertificates: Bool = true
    ) {
        self.init(
            around: next, storage: storage, verifiesCertificates: verifiesCertificates,
            upgrades: true, learns: true)
    }

    /// Makes the layer, or one of two layers that share its work.
    ///
    /// - Parameters:
    ///   - next: The transport to wrap.
    ///   - storage: The known hosts and their policies.
    ///   - verifiesCertificates: Whether the session verifies certificates.
    ///   - upgrades: Whether URLs are changed.
    ///   - learns: Whether policies of responses are stored.
    package init(
        around next: any Transport, storage: HSTSStorage, verifiesCertificates: Bool,
        upgrades: Bool, learns: Bool
    ) {
        self.next = next
        self.storage = storage
        self.verifiesCertificates = verifiesCertificates
        self.upgrades = upgrades
        self.learns = learns
    }

    /// Sends the job, over https if the host has a policy.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - handler: Receives the events, as from a transport.
    /// - Returns: The transfer.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        guard upgrades, let url = storage.address(for: job.request) else {
            return send(job, handler)
        }
        var job = job
        job.request.url = url
        return send(job, handler)
    }

    /// Whether the scheme of a request's URL is `https` or `wss`.
    private static func isEncrypted(_ request: HTTPRequest) -> Bool {
        guard var text = request.url?.absoluteString else { return false }
        return text.withUTF8 { bytes in
            switch bytes.firstIndex(of: UInt8(ascii: ":")) {
            case 5: bytes.startsIgnoringCase(with: "https")
            case 3: bytes.startsIgnoringCase(with: "wss")
            default: false
            }
        }
    }

    private func send(_ job: TransferJob, _ handler: any TransferHandler) -> any TransferTask {
        // Policies in responses over http are ignored (RFC 6797 §8.1).
        guard learns, Self.isEncrypted(job.request) else {
            return next.start(job, handler: handler)
        }
        return next.start(
            job, handler: HeadTap(self, job.request, startedAt: job.firstURL, handler: handler))
    }

    /// Opens the WebSocket, over TLS if the host has a policy.
    ///
    /// - Parameters:
    ///   - job: The handshake to send.
    ///   - handler: Receives the events, as from a transport.
    /// - Returns: The connection.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        var job = job
        if upgrades, let url = storage.address(for: job.request) { job.request.url = url }
        guard learns else { return next.connect(job, handler: handler) }
        return next.connect(
            job, handler: HeadTap(self, job.request, startedAt: job.firstURL, handler: handler))
    }

    func learn(
        from head: HTTPResponse, to request: HTTPRequest, startedAt first: URL?,
        by task: any TransferTask
    ) {
        guard head.headers.containsAny(of: Self.field),
            task.mayKeep(from: request.url, verifiesCertificates: verifiesCertificates)
        else { return }
        storage.learn(from: head.headers, of: request.url)
    }
}

extension HSTSStorage {
    /// Returns the https URL that a request has to use; `nil` if it can use its own.
    package func address(for request: HTTPRequest) -> URL? {
        isEmpty ? nil : request.url.flatMap(upgrade)
    }
}
