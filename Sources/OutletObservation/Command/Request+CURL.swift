public import Dispatch
import FoundationEssentials
package import OutletHTTP
import OutletLayers
import OutletTransport
public import OutletSession

extension Request {
    /// Returns the request as a curl command line, safe to paste into a shell.
    ///
    /// - Parameter redactingSecrets: Whether passwords, tokens and other secrets are replaced by a
    ///   mark (`Redaction.standard`). Such a command cannot authenticate.
    /// - Returns: The command for the last attempt; `$ curl command could not be created` before
    ///   the request is made, and if it has no host or is not valid HTTP.
    public func cURLDescription(redactingSecrets: Bool = true) -> String {
        guard let request = wireRequest else { return CURLCommand.failure }
        return CURLCommand(
            request: request, credentials: credentials(for: request, own: ownCredential),
            redaction: redactingSecrets ? .standard : .none
        ).text
    }

    /// Returns the request of an attempt or a redirect hop, which interceptors have changed and the
    /// session sends next, as a curl command line, secrets redacted.
    package func cURLDescription(of request: HTTPRequest) -> String {
        let wire = wireRequest(of: request)
        let own = ownCredential(for: request)
        return CURLCommand(
            request: wire, credentials: credentials(for: wire, own: own), redaction: .standard
        ).text
    }

    /// The credentials stored for basic authentication with the host as realm; if there are none,
    /// the request's own.
    private func credentials(for request: HTTPRequest, own: Credential?) -> [Credential] {
        let own = [own].compactMap(\.self)
        guard let storage = sessionConfiguration.urlCredentialStorage, let url = request.url,
            let host = url.host()
        else { return own }
        let space = ProtectionSpace(
            host: host, port: url.port ?? 0, protocol: url.scheme ?? host, realm: host,
            authenticationMethod: AuthenticationScheme.basic.rawValue)
        guard let stored = storage.credentials(for: space) else { return own }
        return stored.values.sorted { $0.user < $1.user }
    }

    /// Calls a closure with the curl command line once the request is made, or could not be made.
    ///
    /// The session retains a request that is not started until it ends.
    ///
    /// - Parameters:
    ///   - redactingSecrets: Whether secrets are replaced by a mark.
    ///   - handler: Called once, on the session's root queue. Replaces a closure that was set
    ///     before and not called yet.
    /// - Returns: The request itself.
    @discardableResult
    public func cURLDescription(
        redactingSecrets: Bool = true, calling handler: @escaping @Sendable (String) -> Void
    ) -> Self {
        whenMade(on: nil) { handler($0.cURLDescription(redactingSecrets: redactingSecrets)) }
        return self
    }

    /// Calls a closure on a queue with the curl command line once the request is made, or could not
    /// be made.
    ///
    /// - Parameters:
    ///   - queue: The queue on which `handler` is called.
    ///   - redactingSecrets: Whether secrets are replaced by a mark.
    ///   - handler: Called once. Replaces a closure that was set before and not called yet.
    /// - Returns: The request itself.
    @discardableResult
    public func cURLDescription(
        on queue: DispatchQueue, redactingSecrets: Bool = true,
        calling handler: @escaping @Sendable (String) -> Void
    ) -> Self {
        whenMade(on: queue) { handler($0.cURLDescription(redactingSecrets: redactingSecrets)) }
        return self
    }

    /// Returns the curl command lines of all attempts, secrets redacted.
    ///
    /// The sequence ends with the request. Iterating over it does not start the request.
    ///
    /// - Parameter bufferingPolicy: How many commands are buffered for a slow loop; all by default.
    public func cURLDescriptions(
        bufferingPolicy: StreamOf<String>.BufferingPolicy = .unbounded
    ) -> StreamOf<String> {
        valuesWhenMade(bufferingPolicy: bufferingPolicy) { $0.cURLDescription() }
    }
}

extension HTTPRequest {
    /// Returns a request as a curl command line, secrets redacted.
    ///
    /// - Parameter request: The request; `nil` returns `$ curl command could not be created`.
    package static func cURLDescription(of request: HTTPRequest?) -> String {
        guard let request else { return CURLCommand.failure }
        return CURLCommand(request: request, credentials: [], redaction: .standard).text
    }
}
