public import Dispatch
import FoundationEssentials
import OutletHTTP
public import OutletTransport

/// Answers authentication challenges of servers and proxies, with the job's credential or a stored
/// one.
///
/// Each answer is a transfer of its own and passes through the inner layers, so that cookies set by
/// a challenge are sent with its answer. The handler sees one transfer, and receives the challenges
/// in `TransferHandler.transfer(_:didUse:turn:)`. Only the steps of NTLM and Negotiate, which
/// belong to one connection, are left to the transport.
public final class AuthenticationLayer: TransportLayer {
    /// The wrapped transport.
    public let next: any Transport
    /// The stored credentials; `nil` for none.
    let storage: CredentialStorage?
    /// The proxy of every transfer, for transports that do not report it; `nil` if the proxy
    /// depends on the host.
    private let proxy: String?
    /// Whether the transport has a credential for proxies, which takes precedence over stored ones.
    let hasProxyCredential: Bool
    /// Rewinds body streams, and calls handlers if a transfer is cancelled between two requests.
    let queue: DispatchQueue
    /// The paths at which servers have requested credentials.
    private let protectedPaths = Lock(ProtectedPaths())
    /// The protection spaces of proxies that have accepted a stored credential, by proxy.
    private let proxySpaces = Lock<[String: ProtectionSpace]>([:])

    /// Makes the layer.
    ///
    /// - Parameters:
    ///   - next: The transport to wrap.
    ///   - storage: The credentials for jobs without one of their own; `nil` for none.
    ///   - configuration: The transport's configuration, for its proxy settings.
    ///   - queue: Rewinds body streams, and calls handlers if a transfer is cancelled between two
    ///     requests.
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

    /// Sends the job, and sends it again with a credential if the server or a proxy requests one.
    ///
    /// Only forwards jobs with another `TransferJob.credentialUse` than `onChallenge`, jobs without
    /// a credential if no credential is stored, and those which a plugin has answered.
    ///
    /// - Parameters:
    ///   - job: The job to send.
    ///   - handler: Receives the events of all requests as those of one transfer.
    /// - Returns: The transfer.
    public func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        guard job.hasCredential || storage?.isEmpty == false,
            job.credentialUse == .onChallenge, job.request.givenAnswer?.isPending != true
        else { return next.start(job, handler: handler) }
        return AuthenticationTask.start(job, self, handler: handler)
    }

    /// Opens the WebSocket, and opens it again with a credential if the server requests one.
    ///
    /// - Parameters:
    ///   - job: The handshake to send.
    ///   - handler: Receives the events of all handshakes as those of one connection.
    /// - Returns: The connection.
    public func connect(
        _ job: WebSocketJob, handler: any WebSocketHandler
    ) -> any WebSocketConnection {
        guard job.credential != nil || storage?.isEmpty == false, job.challenge == nil,
            job.request.givenAnswer?.isPending != true
        else { return next.connect(job, handler: handler) }
        return AuthenticationSocket.start(job, self, handler: handler)
    }

    // MARK: Stored credentials

    /// The stored credential to send with a request before the server has requested one.
    func preemptiveRound(for request: HTTPRequest, opensWebSocket: Bool) -> AuthenticationRound? {
        guard let storage else { return nil }
        let paths = protectedPaths.withLock { $0 }
        guard let round = AuthenticationRound(for: request.url, in: paths, from: storage) else {
            return nil
        }
        switch round.credential.scheme {
        case .basic, .bearer: return round
        case .ntlm, .negotiate: return opensWebSocket ? nil : round
        // These need the challenge to compute the answer.
        case .digest, nil: return nil
        }
    }

    /// Returns the stored credentials that proxies have accepted before, by proxy.
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

    /// Returns the proxy of a transfer, as the transport names it.
    ///
    /// `nil` without a proxy, and for proxies that do not speak HTTP: then a 407 is the server's.
    func proxy(of task: any TransferTask) -> String? {
        let name = task.proxy.isEmpty ? proxy : task.proxy
        guard let name, let scheme = ProxyRound.url(of: name)?.scheme?.lowercasedASCII,
            scheme == "http" || scheme == "https"
        else { return nil }
        return name
    }

    /// Records whether a server accepted a credential.
    func note(_ round: AuthenticationRound, isAccepted: Bool, at url: URL) {
        protectedPaths.withLock { paths in
            if isAccepted {
                paths.insert(round.space, for: url)
            } else {
                paths.remove(round.space, for: url)
            }
        }
    }

    /// Records that a proxy accepted a credential.
    func note(_ round: ProxyRound) {
        proxySpaces.withLock { $0[round.proxy] = round.answer.space }
    }

    /// Removes the protection space of a proxy that has refused a credential.
    func forget(proxy: String) {
        proxySpaces.withLock { _ = $0.removeValue(forKey: proxy) }
    }
}
