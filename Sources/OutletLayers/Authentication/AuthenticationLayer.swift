public import Dispatch
import FoundationEssentials
import OutletHTTP
public import OutletTransport

/// Answers servers and proxies that ask for credentials: with the job's own one, or from a storage.
///
/// Each answer is a transfer of its own, so that the layers below take part in it: the cookies of a
/// challenge go along with its answer. The handler sees one transfer, and the challenges in
/// `TransferHandler.transfer(_:didUse:turn:)`. Only the steps of NTLM and Negotiate, which belong
/// to one connection, are the transport's.
public final class AuthenticationLayer: TransportLayer {
    /// Carries what this layer sends.
    public let next: any Transport
    /// Where the stored credentials are; `nil` where there are none.
    let storage: CredentialStorage?
    /// The proxy of every transfer, for transports that do not report it; `nil` if the proxy
    /// depends on the host.
    private let proxy: String?
    /// Whether the transport has a credential for proxies, which goes before what is stored.
    let hasProxyCredential: Bool
    /// Rewinds body streams, and calls handlers when a cancel comes between two transfers.
    let queue: DispatchQueue
    /// The paths at which servers have requested credentials.
    private let protectedPaths = Lock(ProtectedPaths())
    /// The same for proxies.
    private let proxySpaces = Lock<[String: ProtectionSpace]>([:])

    /// Makes the layer.
    ///
    /// - Parameters:
    ///   - next: Carries what this layer sends.
    ///   - storage: Answers jobs that have no credential of their own.
    ///   - configuration: That of the transport: its proxies.
    ///   - queue: Where body streams are rewound.
    public init(
        around next: any Transport, storage: CredentialStorage? = nil,
        configuration: TransportConfiguration = .default,
        queue: DispatchQueue = DispatchQueue(label: "outlet.authentication")
    ) {
        self.next = next
        self.storage = storage
        self.queue = queue
        if case .url(let address, except: []) = configuration.proxy {
            proxy = address
        } else {
            proxy = nil
        }
        hasProxyCredential = configuration.proxyCredential != nil
    }

    /// Sends the job, and sends it again with a credential if the server requests one.
    ///
    /// Passes on jobs whose `TransferJob.credentialUse` leaves that to another part.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        guard job.credential != nil || storage?.isEmpty == false,
            job.credentialUse == .onChallenge
        else { return next.start(job, handler: handler) }
        return AuthenticationTask.start(job, self, handler: handler)
    }

    /// Opens the WebSocket, and opens it again with a credential if the server requests one.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        guard job.credential != nil || storage?.isEmpty == false, job.challenge == nil else {
            return next.connect(job, handler: handler)
        }
        return AuthenticationSocket.start(job, self, handler: handler)
    }

    // MARK: Stored credentials

    /// The stored credential to send with a request before the server has requested one.
    func unaskedRound(for request: HTTPRequest, opensWebSocket: Bool) -> AuthenticationRound? {
        guard let storage else { return nil }
        let paths = protectedPaths.withLock { $0 }
        guard let round = AuthenticationRound(for: request.url, in: paths, from: storage) else {
            return nil
        }
        switch round.credential.scheme {
        case .basic, .bearer: return round
        case .ntlm, .negotiate: return opensWebSocket ? nil : round
        // There is no answer to a challenge that has not come yet.
        case .digest, nil: return nil
        }
    }

    /// What proxies may be answered with: what let requests in before.
    func knownProxyCredentials() -> [String: Credential] {
        guard let storage, !hasProxyCredential else { return [:] }
        var known: [String: Credential] = [:]
        for (proxy, space) in proxySpaces.withLock({ $0 }) {
            guard let scheme = AuthenticationScheme(rawValue: space.authenticationMethod),
                var credential = storage.answer(to: space)
            else { continue }
            credential.scheme = scheme
            known[proxy] = credential
        }
        return known
    }

    /// The proxy of a transfer, as the transport names it; `nil` without one, and for those that do
    /// not speak HTTP: a 407 is the server's then.
    func proxy(of task: any TransferTask) -> String? {
        let name = task.proxy.isEmpty ? proxy : task.proxy
        guard let name, let scheme = ProxyRound.url(of: name)?.scheme?.lowercasedASCII,
            scheme == "http" || scheme == "https"
        else { return nil }
        return name
    }

    /// Remembers that a credential was let in, or was not.
    func note(_ round: AuthenticationRound, isAccepted: Bool, at url: URL) {
        protectedPaths.withLock { paths in
            if isAccepted {
                paths.insert(round.space, for: url)
            } else {
                paths.remove(round.space, for: url)
            }
        }
    }

    /// Remembers that a proxy has taken a credential.
    func note(_ round: ProxyRound) {
        proxySpaces.withLock { $0[round.proxy] = round.answer.space }
    }

    /// Forgets what a proxy took before.
    func forget(proxy: String) {
        proxySpaces.withLock { _ = $0.removeValue(forKey: proxy) }
    }
}
