import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Which credentials one request was sent with, and which one answers a challenge.
///
/// Thread: any.
final class AuthenticationCourse: Sendable {
    /// What the next transfer takes along.
    struct Additions {
        var credential: Credential?
        var use = CredentialUse.onChallenge
        var challenge: AuthenticationChallenge?
        var toProxies: [String: Credential] = [:]
    }

    private struct State: Sendable {
        /// What the server is answered with.
        var round: AuthenticationRound?
        /// What a proxy is answered with.
        var proxyRound: ProxyRound?
        var sentToProxies: [String: Credential] = [:]
        /// What answers next has not been sent yet.
        var hasNews = false
        /// How many credentials were sent.
        var sent = 0
    }

    private let layer: AuthenticationLayer
    private let request: HTTPRequest
    private let own: Credential?
    private let memory: AttemptMemory?
    private let opensWebSocket: Bool
    private let course: Lock<State>

    /// - Parameters:
    ///   - request: The request to send.
    ///   - own: The request's own credential; stored credentials are then not used.
    ///   - memory: What former hops of the same attempt have left.
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
        if !request.bringsCredential {
            if let known = memory?.value(of: AuthenticationRound.self),
                known.space.covers(request.url)
            {
                state.round = known
            } else if own == nil {
                state.round = layer.unaskedRound(for: request, opensWebSocket: opensWebSocket)
                state.hasNews = state.round != nil
            }
        }
        course = Lock(state)
    }

    /// How many credentials were sent.
    var sent: Int { course.withLock { $0.sent } }

    /// What the transfer takes along that begins now.
    func next() -> Additions {
        var baggage = Additions(credential: own)
        baggage.toProxies = layer.knownProxyCredentials()
        let round = course.withLock { state in
            if let answer = state.proxyRound {
                baggage.toProxies[answer.proxy] = answer.answer.credential
            }
            state.sentToProxies = baggage.toProxies
            if state.hasNews { state.sent += 1 }
            state.hasNews = false
            return state.round
        }
        if let round {
            memory?.keep(round)
            baggage.credential = round.credential
            baggage.use = .atOnce
            baggage.challenge = round.nextChallenge()
        } else if let own, answersChallenges(with: own) {
            baggage.use = .identifiesOnly
        }
        return baggage
    }

    /// Finds what answers a head, for the next transfer.
    ///
    /// - Parameter refusesTunnel: Whether it came in place of a tunnel to the server.
    /// - Returns: Whether there is anything; if not, the head is the answer.
    func answer(
        to head: HTTPResponse, from task: any TransferTask, refusesTunnel: Bool = false
    ) -> Bool {
        switch head.statusCode {
        case 401:
            guard let round = round(answering: head) else { return false }
            course.withLock { state in
                state.round = round
                state.hasNews = true
                // It led to the server.
                if let answer = state.proxyRound { layer.note(answer) }
            }
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
                state.hasNews = true
            }
            return true
        default: return false
        }
    }

    /// The transport has answered a challenge itself.
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

    /// Remembers what was let in, and forgets what was not.
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
        guard !request.bringsCredential else { return nil }
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
        // One that was sent and led here was refused.
        guard let round, round.credential != sent else { return nil }
        return round
    }

    /// The schemes of challenges that can be answered, the safest first.
    private var schemes: [AuthenticationScheme] {
        opensWebSocket ? [.bearer, .digest, .basic] : AuthenticationScheme.allCases
    }

    /// Whether challenges are answered with a request's own credential here, not by the transport,
    /// and not before they come: a WebSocket's handshake brings what it can at once.
    private func answersChallenges(with own: Credential) -> Bool {
        switch own.scheme {
        case .digest, nil: true
        case .basic, .bearer: !opensWebSocket
        case .ntlm, .negotiate: false
        }
    }
}

extension HTTPRequest {
    /// Whether it has a field that says who asks.
    fileprivate var bringsCredential: Bool { headers["Authorization"] != nil }
}

extension HTTPResponse {
    /// Whether a proxy between could not have made it: only the server speaks inside of a tunnel.
    fileprivate var comesThroughTunnel: Bool {
        guard let url, let origin = try? Origin(url) else { return true }
        return origin.isSecure
    }
}

extension ProtectionSpace {
    /// Whether an address is of the space's origin.
    fileprivate func covers(_ url: URL?) -> Bool {
        guard let url, let origin = try? Origin(url) else { return false }
        return origin.scheme == self.protocol && origin.host == host && origin.port == port
    }
}
