import Dispatch
import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// Answering servers that ask for credentials: with the request's own one, or from the session's storage.
///
/// Each answer is a transfer of its own, so that the cookies of the challenge go along. Only the steps
/// of NTLM and Negotiate, which belong to one connection, are the transport's.
extension Request {
    /// Where stored credentials are, unless the request does without.
    var storage: CredentialStorage? {
        guard let storage = core.configuration.urlCredentialStorage, !storage.isEmpty else {
            return nil
        }
        return storage
    }

    /// What the transfer that is about to begin takes along although nobody has asked yet.
    ///
    /// Thread: any, not under the request's lock.
    func unaskedRound(_ storage: CredentialStorage) -> AuthenticationRound? {
        let (request, own) = mutable.withLock { ($0.prepared?.request, $0.credential) }
        guard own == nil, let request else { return nil }
        let paths = core.protectedPaths.withLock { $0 }
        let unasked = AuthenticationRound(
            for: core.wireURL(of: request), in: paths, from: storage)
        return unasked.flatMap { maySendUnasked($0.credential) ? $0 : nil }
    }

    /// Whether a head leads to the same request with a credential.
    func mayAnswer(_ head: HTTPResponse, from task: any TransferTask) -> Bool {
        switch head.statusCode {
        case 401: answer(to: head) != nil
        case 407: proxyAnswer(to: head, from: task) != nil
        default: false
        }
    }

    /// What answers a head, if anything does.
    func answer(to head: HTTPResponse) -> AuthenticationRound? {
        guard head.statusCode == 401 else { return nil }
        let storage = storage
        guard storage != nil || mutable.withLock({ $0.credential != nil }) else { return nil }
        let (former, request, own, mayUseOwn) = mutable.withLock { mutable in
            let request = mutable.performedRequests.last
            return (
                mutable.authentication, request, mutable.credential,
                keepsCredential(for: request, &mutable)
            )
        }
        guard request?.headers["Authorization"] == nil else { return nil }
        if let own {
            guard mayUseOwn, answersChallenges(with: own) else { return nil }
            return AuthenticationRound(
                answering: head, among: schemes, after: former, isOwn: true
            ) { _ in own }
        }
        guard let storage else { return nil }
        return AuthenticationRound(answering: head, among: schemes, after: former) {
            storage.answer(to: $0)
        }
    }

    /// The schemes of challenges that can be answered, the safest first.
    private var schemes: [AuthenticationScheme] {
        opensWebSocket ? [.bearer, .digest, .basic] : AuthenticationScheme.allCases
    }

    /// Whether a stored credential can go along before anybody has asked for it: there is no answer
    /// to a Digest challenge that has not come yet.
    private func maySendUnasked(_ credential: Credential) -> Bool {
        switch credential.scheme {
        case .basic, .bearer: true
        case .ntlm, .negotiate: !opensWebSocket
        case .digest, nil: false
        }
    }

    /// Whether challenges are answered with a request's own credential here, not by the transport, and
    /// not before they come: a WebSocket's handshake brings what it can at once.
    func answersChallenges(with own: Credential) -> Bool {
        switch own.scheme {
        case .digest, nil: true
        case .basic, .bearer: !opensWebSocket
        case .ntlm, .negotiate: false
        }
    }

    /// Whether a request's own credential goes along: not to another origin that a redirect leads to.
    func keepsCredential(for request: HTTPRequest?, _ mutable: inout Mutable) -> Bool {
        mutable.redirects == 0
            || Origin.isSame(core.wireURL(of: mutable.requests.last), request?.url)
    }

    /// Sends the request again with a stored credential, where a server wants one (401).
    ///
    /// - Returns: Whether it does; if not, the response is the request's.
    func authenticate(
        _ task: any TransferTask, _ response: HTTPResponse, _ result: TransferResult
    ) -> Bool {
        guard let round = answer(to: response) else {
            settleAuthentication(response)
            return false
        }
        settleProxyAuthentication()
        mutable.withLock { $0.authentication = round }
        return sendAgain(task, response, result)
    }

    /// Sends the last request once more, with what was found for it.
    ///
    /// - Returns: Whether it does.
    func sendAgain(
        _ task: any TransferTask, _ response: HTTPResponse, _ result: TransferResult
    ) -> Bool {
        announce(task)
        let (next, attempt) = mutable.withLock { mutable in
            mutable.answeredChallenges &+= 1
            return (mutable.prepared, mutable.machine.attempt)
        }
        guard let next else { return false }
        let hop = Hop(task: task, response: response, result: result, attempt: attempt)
        guard case .stream = next.request.body else {
            sendAgain(next, after: hop)
            return true
        }
        // Taking a stream back runs code of the user's: not on the transport's thread.
        core.requestQueue.async { self.sendAgain(next, after: hop) }
        return true
    }

    private func sendAgain(_ next: ConfiguredRequest, after hop: Hop) {
        do throws(SessionError) {
            try rewind(next.request)
        } catch {
            end(hop, with: error)
            return
        }
        proceed(to: next, after: hop)
    }

    /// The server has asked, and the transport has answered: in a step of NTLM or Negotiate, or with
    /// what it knows for a proxy.
    public func transfer(
        _ task: any TransferTask, didUse head: HTTPResponse, turn: TransportTurn
    ) {
        tellChallenges(of: head, to: task)
        guard head.statusCode == 401 else { return }
        let keeps = core.configuration.urlCredentialStorage != nil
        mutable.withLock { mutable in
            mutable.answeredChallenges &+= 1
            guard keeps, let credential = mutable.credential, credential.persistence == .forSession
            else { return }
            mutable.authentication = AuthenticationRound(answering: head, with: credential)
        }
    }

    /// Remembers credentials that were let in, and forgets one that was not.
    func settleAuthentication(_ response: HTTPResponse) {
        guard let storage = core.configuration.urlCredentialStorage else { return }
        settleProxyAuthentication()
        guard let url = response.url, let round = mutable.withLock({ $0.authentication }) else {
            return
        }
        guard response.statusCode != 401 else {
            core.protectedPaths.withLock { $0.remove(round.space, for: url) }
            return
        }
        if round.isOwn { storage.set(round.credential, for: round.space) }
        core.protectedPaths.withLock { $0.insert(round.space, for: url) }
    }
}

extension ProtectionSpace {
    /// Whether an address is of the space's origin.
    func covers(_ url: URL?) -> Bool {
        guard let url, let origin = try? Origin(url) else { return false }
        return origin.scheme == self.protocol && origin.host == host && origin.port == port
    }
}
