import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Answering proxies that ask for credentials, from the session's storage.
///
/// ``TransportConfiguration/proxyCredential`` goes before: the transport answers with it by itself.
extension Request {
    /// What the transfer that is about to begin may answer proxies with: what let this session's
    /// requests in before, and what is being tried.
    ///
    /// Thread: any, not under the request's lock.
    func knownProxyCredentials(_ storage: CredentialStorage) -> [String: Credential] {
        guard core.configuration.transport.proxyCredential == nil else { return [:] }
        var known: [String: Credential] = [:]
        for (proxy, space) in core.proxySpaces.withLock({ $0 }) {
            guard let scheme = AuthenticationScheme(rawValue: space.authenticationMethod),
                var credential = storage.answer(to: space)
            else { continue }
            credential.scheme = scheme
            known[proxy] = credential
        }
        if let round = mutable.withLock({ $0.observers?.proxyRound }) {
            known[round.proxy] = round.answer.credential
        }
        return known
    }

    /// What answers a proxy's head, if anything does.
    func proxyAnswer(to head: HTTPResponse, from task: any TransferTask) -> ProxyRound? {
        guard head.statusCode == 407, core.configuration.transport.proxyCredential == nil,
            let storage,
            let proxy = proxy(of: task), let url = ProxyRound.url(of: proxy)
        else { return nil }
        let (former, sent) = mutable.withLock {
            ($0.observers?.proxyRound, $0.observers?.sentProxyCredentials[proxy])
        }
        let answer = AuthenticationRound(
            answering: head, ofProxy: url, from: storage, after: former?.answer)
        // One that was sent and led here was refused.
        guard let answer, answer.credential != sent else { return nil }
        return ProxyRound(proxy: proxy, answer: answer)
    }

    /// Sends the request again with a stored credential for its proxy.
    ///
    /// - Parameter head: The proxy's answer, to the request or to a `CONNECT`.
    /// - Returns: Whether it does; if not, the result is the request's.
    func authenticateProxy(
        _ task: any TransferTask, _ head: HTTPResponse, _ result: TransferResult
    ) -> Bool {
        guard let round = proxyAnswer(to: head, from: task) else {
            if let proxy = proxy(of: task) {
                core.proxySpaces.withLock { _ = $0.removeValue(forKey: proxy) }
            }
            return false
        }
        mutable.withLock { $0.watched().proxyRound = round }
        return sendAgain(task, head, result)
    }

    /// Remembers a credential that a proxy took.
    func settleProxyAuthentication() {
        guard let round = mutable.withLock({ $0.observers?.proxyRound }) else { return }
        core.proxySpaces.withLock { $0[round.proxy] = round.answer.space }
    }

    private func proxy(of task: any TransferTask) -> String? {
        if !task.proxy.isEmpty { return task.proxy }
        guard case .url(let address, _) = core.configuration.transport.proxy else { return nil }
        return address
    }
}

/// A stored credential that a proxy is answered with.
struct ProxyRound: Sendable {
    /// The proxy, as the transport names it.
    let proxy: String
    let answer: AuthenticationRound

    /// A proxy's address; those without a scheme speak HTTP.
    static func url(of proxy: String) -> URL? {
        URL(string: proxy.containsBytes(of: "://") ? proxy : "http://\(proxy)")
    }
}
