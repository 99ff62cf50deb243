import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The authentication state of one request: the credentials it was sent with, and the one that
/// answers the last challenge.
///
/// Thread: any.
final class AuthenticationState: Sendable {
    /// The credentials of the next transfer.
    struct Additions {
        var credential: Credential?
        var use = CredentialUse.onChallenge
        var challenge: AuthenticationChallenge?
        var toProxies: [String: Credential] = [:]
    }

    private struct State: Sendable {
        /// The credential for the server.
        var round: AuthenticationRound?
        /// The credential for a proxy.
        var proxyRound: ProxyRound?
        var sentToProxies: [String: Credential] = [:]
        /// Whether the next transfer sends a credential that was not sent before.
        var hasUnsentCredential = false
        /// The number of transfers that were sent with a new credential.
        var sent = 0
    }

    private let layer: AuthenticationLayer
    private let request: HTTPRequest
    private let own: Credential?
    private let memory: AttemptMemory?
    private let opensWebSocket: Bool
    private let course: Lock<State>

    /// Makes the state of a request that has not been sent yet.
    ///
    /// - Parameters:
    ///   - layer: Has the storage and the known protection spaces.
    ///   - request: The request to send.
    ///   - own: The request's own credential; stored credentials are then not used for the server.
    ///   - memory: Contains the credential of former hops of the same attempt.
    ///   - opensWebSocket: Whether the request is a WebSocket handshake.
    init(
        _ layer: AuthenticationLayer, _ request: HTTPRequest, own: Credential?,
        memory: AttemptMemory?, opensWebSocket: Bool
    ) {
        self.layer = layer
        self.request = request
        self.own = own
        self.memory = memory
        self.opensWebSocket = opensWebSocket
        var state = State()
        if !request.hasAuthorizationField {
            if let known = memory?.value(of: AuthenticationRound.self),
                known.space.covers(request.url)
            {
                state.round = known
            } else if own == nil {
                state.round = layer.preemptiveRound(for: request, opensWebSocket: opensWebSocket)
                state.hasUnsentCredential = state.round != nil
            }
        }
        course = Lock(state)
    }

    /// The number of transfers that were sent with a new credential.
    var sent: Int { course.withLock { $0.sent } }

    /// Returns the credentials of the transfer that is about to start.
    func next() -> Additions {
        var additions = Additions(credential: own)
        additions.toProxies = layer.knownProxyCredentials()
        let round = course.withLock { state in
            if let answer = state.proxyRound {
                additions.toProxies[answer.proxy] = answer.answer.credential
            }
            state.sentToProxies = additions.toProxies
            if state.hasUnsentCredential { state.sent += 1 }
            state.hasUnsentCredential = false
            return state.round
        }
        if let round {
            memory?.keep(round)
            additions.credential = round.credential
            additions.use = .atOnce
            additions.challenge = round.nextChallenge()
        } else if let own, answersChallenges(with: own) {
            additions.use = .identifiesOnly
        }
        return additions
    }

    /// Chooses the credential that answers a challenge, for the next transfer.
    ///
    /// - Parameters:
    ///   - head: The head of the response.
    ///   - task: The transfer of the response.
    ///   - refusesTunnel: Whether a proxy sent the head instead of opening a tunnel to the server.
    /// - Returns: Whether there is a credential; if not, the head is the response.
    func answer(
        to head: HTTPResponse, from task: any TransferTask, refusesTunnel: Bool = false
    ) -> Bool {
        switch head.statusCode {
        case 401:
            guard let round = round(answering: head) else { return false }
            let proxyRound = course.withLock { state in
                state.round = round
                state.hasUnsentCredential = true
                return state.proxyRound
            }
            // The proxy's credential was accepted, because the response is the server's.
            if let proxyRound { layer.note(proxyRound) }
            return true
        case 407:
            guard refusesTunnel || !head.comesThroughTunnel,
                let proxy = layer.proxy(of: task)
            else { return false }
            guard let round = round(answering: head, ofProxy: proxy) else {
                layer.forget(proxy: proxy)
                return false
            }
            course.withLock { state in
                state.proxyRound = ProxyRound(proxy: proxy, answer: round)
                state.hasUnsentCredential = true
            }
            return true
        default: return false
        }
    }

    /// Records a challenge that the transport answered itself.
    func noteAnswered(_ head: HTTPResponse) {
        guard head.statusCode == 401, let own else { return }
        course.withLock { state in
            state.sent += 1
            guard own.persistence == .forSession,
                let round = AuthenticationRound(answering: head, with: own, after: state.round)
            else { return }
            state.round = round
        }
    }

    /// Stores an accepted credential and its protection space; removes the space of a refused one.
    func settle(_ head: HTTPResponse) {
        guard let storage = layer.storage else { return }
        let (round, proxyRound) = course.withLock { ($0.round, $0.proxyRound) }
        if let proxyRound, head.statusCode != 407 { layer.note(proxyRound) }
        guard let round, let url = head.url, head.statusCode != 407 else { return }
        let isAccepted = head.statusCode != 401
        if isAccepted, round.isOwn { storage.set(round.credential, for: round.space) }
        layer.note(round, isAccepted: isAccepted, at: url)
    }

    private func round(answering head: HTTPResponse) -> AuthenticationRound? {
        guard !request.hasAuthorizationField else { return nil }
        let former = course.withLock { $0.round }
        if let own {
            guard answersChallenges(with: own) else { return nil }
            return AuthenticationRound(
                answering: head, among: schemes, after: former, isOwn: true
            ) { _ in own }
        }
        guard let storage = layer.storage else { return nil }
        return AuthenticationRound(answering: head, among: schemes, after: former) {
            storage.answer(to: $0)
        }
    }

    private func round(
        answering head: HTTPResponse, ofProxy proxy: String
    ) -> AuthenticationRound? {
        guard let storage = layer.storage, !layer.hasProxyCredential, !opensWebSocket,
            let url = ProxyRound.url(of: proxy)
        else { return nil }
        let (former, sent) = course.withLock { ($0.proxyRound, $0.sentToProxies[proxy]) }
        let round = AuthenticationRound(
            answering: head, ofProxy: url, from: storage, after: former?.answer)
        // A credential that was sent to this proxy and resulted in a 407 was refused.
        guard let round, round.credential != sent else { return nil }
        return round
    }

    /// The schemes of challenges that can be answered, the safest first.
    private var schemes: [AuthenticationScheme] {
        opensWebSocket ? [.bearer, .digest, .basic] : AuthenticationScheme.allCases
    }

    /// Whether this layer answers challenges with a request's own credential, instead of the
    /// transport.
    ///
    /// Basic and bearer credentials are sent with a WebSocket handshake at once, without a
    /// challenge.
    private func answersChallenges(with own: Credential) -> Bool {
        switch own.scheme {
        case .digest, nil: true
        case .basic, .bearer: !opensWebSocket
        case .ntlm, .negotiate: false
        }
    }
}

extension HTTPRequest {
    /// Whether the request has an `Authorization` field.
    fileprivate var hasAuthorizationField: Bool { headers["Authorization"] != nil }
}

extension HTTPResponse {
    /// Whether the response cannot be a proxy's, because only the server can send responses inside
    /// a tunnel.
    fileprivate var comesThroughTunnel: Bool {
        guard let url, let origin = try? Origin(url) else { return true }
        return origin.isSecure
    }
}

extension ProtectionSpace {
    /// Whether a URL has the origin of the space.
    fileprivate func covers(_ url: URL?) -> Bool {
        guard let url, let origin = try? Origin(url) else { return false }
        return origin.scheme == self.protocol && origin.host == host && origin.port == port
    }
}
