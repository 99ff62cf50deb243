import OutletSession
public import OutletTransport

/// Answers servers that ask for credentials, with what a closure says for the target.
public final class CredentialsPlugin: PluginType {
    /// Returns the credential for a target; `nil` for none.
    public typealias CredentialClosure = @Sendable (any TargetType) -> Credential?

    private let credentialsClosure: CredentialClosure

    /// Makes the plugin.
    public init(credentialsClosure: @escaping CredentialClosure) {
        self.credentialsClosure = credentialsClosure
    }

    /// Gives the request its credential.
    public func willSend(_ request: any RequestType, target: any TargetType) {
        guard let credential = credentialsClosure(target) else { return }
        request.authenticate(with: credential)
    }
}
