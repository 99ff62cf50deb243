package import FoundationEssentials
package import OutletHTTP
public import OutletTransport

/// Sends by https what is addressed by http to hosts that have asked for it, and takes in who asks
/// (RFC 6797).
public final class HSTSLayer: TransportLayer, HeadObserver {
    /// Carries what this layer lets through.
    public let next: any Transport
    private let storage: HSTSStorage
    private let verifiesCertificates: Bool
    let fields: FieldNames = ["Strict-Transport-Security"]

    /// Makes the layer.
    ///
    /// - Parameters:
    ///   - next: Carries the requests.
    ///   - storage: The hosts.
    ///   - verifiesCertificates: Whether certificates are verified; the wish of a server that was
    ///     not does not count.
    public init(
        around next: any Transport, storage: HSTSStorage, verifiesCertificates: Bool = true
    ) {
        self.next = next
        self.storage = storage
        self.verifiesCertificates = verifiesCertificates
    }

    /// Sends the job; to https where a policy of its host says so.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        var job = job
        if let url = storage.address(for: job.request) { job.request.url = url }
        // What a host says in clear does not count (RFC 6797 §8.1).
        guard job.request.url?.isEncrypted == true else { return next.start(job, handler: handler) }
        return next.start(
            job, handler: HeadTap(self, job.request, startedAt: job.firstURL, handler: handler))
    }

    /// Opens the WebSocket; by wss where a policy of its host says so.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        var job = job
        if let url = storage.address(for: job.request) { job.request.url = url }
        return next.connect(job, handler: HeadTap(self, job.request, handler: handler))
    }

    func learn(
        from head: HTTPResponse, to request: HTTPRequest, startedAt first: URL?,
        by task: any TransferTask
    ) {
        guard task.mayKeep(from: request.url, verifiesCertificates: verifiesCertificates) else {
            return
        }
        storage.learn(from: head.headers, of: request.url)
    }
}

extension URL {
    /// Whether the scheme is `https` or `wss`; `scheme` would cost as much as a tenth of a request.
    fileprivate var isEncrypted: Bool {
        var text = absoluteString
        return text.withUTF8 {
            $0.startsIgnoringCase(with: "https:") || $0.startsIgnoringCase(with: "wss:")
        }
    }
}

extension HSTSStorage {
    /// The address that a request has to go to; `nil` if that is its own.
    package func address(for request: HTTPRequest) -> URL? {
        isEmpty ? nil : request.url.flatMap(upgrade)
    }
}
