public import Dispatch
import FoundationEssentials
package import OutletHTTP
import OutletLayers
import OutletTransport
public import OutletSession

extension Request {
    /// The request as a command line for curl, safe to paste into a shell.
    ///
    /// - Parameter redactingSecrets: Whether passwords, tokens and the like are left out by
    ///   ``Redaction/standard``. The command does not authenticate then.
    /// - Returns: `$ curl command could not be created` while there is no request with a host.
    public func cURLDescription(redactingSecrets: Bool = true) -> String {
        guard let request = wireRequest else { return CURLCommand.failure }
        return CURLCommand(
            request: request, credentials: credentials(for: request),
            redaction: redactingSecrets ? .standard : .none
        ).text
    }

    /// What is stored for basic authentication with the host as realm; else the request's own.
    private func credentials(for request: HTTPRequest) -> [Credential] {
        let own = [ownCredential].compactMap(\.self)
        guard let storage = sessionConfiguration.urlCredentialStorage, let url = request.url,
            let host = url.host()
        else { return own }
        let space = ProtectionSpace(
            host: host, port: url.port ?? 0, protocol: url.scheme ?? host, realm: host,
            authenticationMethod: AuthenticationScheme.basic.rawValue)
        guard let stored = storage.credentials(for: space) else { return own }
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
        whenMade(on: nil) { handler($0.cURLDescription(redactingSecrets: redactingSecrets)) }
        return self
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
        whenMade(on: queue) { handler($0.cURLDescription(redactingSecrets: redactingSecrets)) }
        return self
    }

    /// The commands of all attempts, as ``cURLDescription(redactingSecrets:)`` makes them; the loop
    /// ends with the request, and does not start it.
    ///
    /// - Parameter bufferingPolicy: What becomes of commands that nobody takes in time.
    public func cURLDescriptions(
        bufferingPolicy: StreamOf<String>.BufferingPolicy = .unbounded
    ) -> StreamOf<String> {
        valuesWhenMade(bufferingPolicy: bufferingPolicy) { $0.cURLDescription() }
    }
}

extension HTTPRequest {
    /// A request as a command line for curl, without its secrets.
    package static func cURLDescription(of request: HTTPRequest?) -> String {
        guard let request else { return CURLCommand.failure }
        return CURLCommand(request: request, credentials: [], redaction: .standard).text
    }
}
