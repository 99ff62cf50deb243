import Dispatch
import FoundationEssentials
public import OutletHTTP

/// Answering servers that ask for credentials, from the session's storage.
///
/// A request's own credential is answered with by the transport; this begins where there is none.
extension Request {
    /// Where stored credentials are, unless the request does without.
    private var storage: CredentialStorage? {
        guard let storage = core.configuration.urlCredentialStorage, !storage.isEmpty else {
            return nil
        }
        return storage
    }

    /// What the transfer that is about to begin takes along.
    ///
    /// Thread: any, not under the request's lock.
    func authenticationRound() -> AuthenticationRound? {
        guard let storage else { return nil }
        let (round, request, own) = mutable.withLock {
            ($0.authentication, $0.prepared, $0.credential)
        }
        guard own == nil, let request, request.headers["Authorization"] == nil else { return nil }
        if let round, round.space.covers(request.url) { return round }
        let paths = core.protectedPaths.withLock { $0 }
        return AuthenticationRound(for: request.url, in: paths, from: storage)
    }

    /// What answers a head, if anything does.
    func answer(to head: HTTPResponse) -> AuthenticationRound? {
        guard head.statusCode == 401, let storage else { return nil }
        let (former, request, own) = mutable.withLock {
            ($0.authentication, $0.performedRequests.last, $0.credential)
        }
        guard own == nil, request?.headers["Authorization"] == nil else { return nil }
        return AuthenticationRound(answering: head, from: storage, after: former)
    }

    /// Sends the request again with a stored credential.
    ///
    /// - Returns: Whether it does; if not, the response is the request's.
    func authenticate(
        _ task: any TransferTask, _ response: HTTPResponse, _ result: TransferResult
    ) -> Bool {
        guard let round = answer(to: response) else {
            settleAuthentication(response)
            return false
        }
        announce(task)
        let (next, attempt) = mutable.withLock { mutable in
            mutable.authentication = round
            mutable.answeredChallenges &+= 1
            return (mutable.performedRequests.last, mutable.machine.attempt)
        }
        guard let next else { return false }
        let hop = Hop(task: task, response: response, result: result, attempt: attempt)
        guard case .stream = next.body else {
            sendAgain(next, after: hop)
            return true
        }
        // Taking a stream back runs code of the user's: not on the transport's thread.
        core.requestQueue.async { self.sendAgain(next, after: hop) }
        return true
    }

    private func sendAgain(_ next: HTTPRequest, after hop: Hop) {
        do throws(SessionError) {
            try rewind(next.body)
        } catch {
            end(hop, with: error)
            return
        }
        proceed(to: next, after: hop)
    }

    /// The server has asked, and the transport has answered with the request's own credential.
    public func transfer(
        _ task: any TransferTask, didAnswer challenge: HTTPResponse, turn: TransportTurn
    ) {
        tellChallenges(of: challenge, to: task)
        guard challenge.statusCode == 401 else { return }
        let keeps = core.configuration.urlCredentialStorage != nil
        mutable.withLock { mutable in
            mutable.answeredChallenges &+= 1
            guard keeps, let credential = mutable.credential, credential.persistence == .forSession
            else { return }
            mutable.authentication = AuthenticationRound(answering: challenge, with: credential)
        }
    }

    /// Remembers a credential that was let in, and forgets one that was not.
    private func settleAuthentication(_ response: HTTPResponse) {
        guard let storage = core.configuration.urlCredentialStorage, let url = response.url,
            let round = mutable.withLock({ $0.authentication })
        else { return }
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
        guard let url, let scheme = url.scheme?.lowercased() else { return false }
        return scheme == self.protocol && url.host()?.lowercased() == host
            && (url.port ?? (scheme == "https" ? 443 : 80)) == port
    }
}
