public import Dispatch
import FoundationEssentials
package import OutletHTTP
import OutletTransport

extension Request {
    /// The request as a command line for curl, safe to paste into a shell.
    ///
    /// - Parameter redactingSecrets: Whether passwords, tokens and the like are left out by
    ///   ``Redaction/standard``. The command does not authenticate then.
    /// - Returns: `$ curl command could not be created` while there is no request with a host.
    public func cURLDescription(redactingSecrets: Bool = true) -> String {
        let (made, prepared, credential) = mutable.withLock { mutable in
            // After a redirect what is prepared is the next hop.
            (
                mutable.requests.last, mutable.redirects == 0 ? mutable.prepared?.request : nil,
                mutable.credential
            )
        }
        guard let request = prepared ?? made.map({ core.wireRequest(from: $0) }) else {
            return CURLCommand.failure
        }
        return CURLCommand(
            request: core.policies?.withCookies(request) ?? request,
            credentials: storedCredentials(for: request, or: credential),
            redaction: redactingSecrets ? .standard : .none
        ).text
    }

    /// What is stored for basic authentication with the host as realm; else the request's own.
    private func storedCredentials(
        for request: HTTPRequest, or own: Credential?
    ) -> [Credential] {
        guard let storage = core.configuration.urlCredentialStorage, let url = request.url,
            let host = url.host()
        else { return [own].compactMap(\.self) }
        let space = ProtectionSpace(
            host: host, port: url.port ?? 0, protocol: url.scheme ?? host, realm: host,
            authenticationMethod: AuthenticationScheme.basic.rawValue)
        guard let stored = storage.credentials(for: space) else { return [own].compactMap(\.self) }
        return stored.values.sorted { $0.user < $1.user }
    }

    /// Calls a closure with the command once the request is made, or could not be made.
    ///
    /// - Parameters:
    ///   - redactingSecrets: Whether secrets are left out.
    ///   - handler: Called once, on the session's root queue; one that was set before and not yet
    ///     called is forgotten.
    @discardableResult
    public func cURLDescription(
        redactingSecrets: Bool = true, calling handler: @escaping @Sendable (String) -> Void
    ) -> Self {
        cURLDescription(
            on: core.rootQueue, redactingSecrets: redactingSecrets, calling: handler)
    }

    /// Calls a closure with the command once the request is made, or could not be made.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs.
    ///   - redactingSecrets: Whether secrets are left out.
    ///   - handler: Called once; one that was set before and not yet called is forgotten.
    @discardableResult
    public func cURLDescription(
        on queue: DispatchQueue, redactingSecrets: Bool = true,
        calling handler: @escaping @Sendable (String) -> Void
    ) -> Self {
        let observer = RequestObservers.Observer<Request>(queue: queue) { request in
            handler(request.cURLDescription(redactingSecrets: redactingSecrets))
        }
        let isMade = mutable.withLock { mutable in
            let isMade = mutable.prepared != nil || mutable.machine.phase >= .evaluating
            if !isMade { mutable.watched().curl = observer }
            return isMade
        }
        if isMade { core.tell(observer, self) }
        return self
    }

    /// Calls who waits for the command, if anybody does: the request is made, or will not be.
    func tellCURL() {
        let observer = mutable.withLock { mutable in
            defer { mutable.observers?.curl = nil }
            return mutable.observers?.curl
        }
        if let observer { core.tell(observer, self) }
    }
}

extension HTTPRequest {
    /// A request as a command line for curl, without its secrets.
    package static func cURLDescription(of request: HTTPRequest?) -> String {
        guard let request else { return CURLCommand.failure }
        return CURLCommand(request: request, credentials: [], redaction: .standard).text
    }
}
