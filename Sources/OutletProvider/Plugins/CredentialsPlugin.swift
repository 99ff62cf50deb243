import OutletSession
public import OutletTransport

/// Answers authentication challenges with a credential that a closure chooses by target.
///
/// Stubbed requests receive no challenges; for them the credential has no effect.
public final class CredentialsPlugin: PluginType {
    /// Returns the credential for a target; `nil` sets none.
    ///
    /// Called before each attempt and each redirect hop.
    ///
    /// Thread: that of ``PluginType/willSend(_:target:)``.
    public typealias CredentialClosure = @Sendable (any TargetType) -> Credential?

    private let credentialsClosure: CredentialClosure

    /// Makes the plugin.
    ///
    /// - Parameter credentialsClosure: Returns the credential; see ``CredentialClosure``.
    public init(credentialsClosure: @escaping CredentialClosure) {
        self.credentialsClosure = credentialsClosure
    }

    /// Sets the credential that the closure returns for the target.
    ///
    /// - Parameters:
    ///   - request: The prepared request; can be given a credential here.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    public func willSend(_ request: any RequestType, target: any TargetType) {
        guard let credential = credentialsClosure(target) else { return }
        request.authenticate(with: credential)
    }
}
