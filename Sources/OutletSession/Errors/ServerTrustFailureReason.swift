public import OutletTransport

extension SessionError {
    /// Why a server is not trusted.
    public enum ServerTrustFailureReason: Sendable {
        /// The subject and the result of a failed check.
        public struct Output: Sendable, Equatable {
            /// The host that was checked.
            public let host: String
            /// The server's certificates, and the results of the built-in checks.
            public let trust: ServerTrust
            /// Why the check failed.
            public let fault: TrustFault

            /// Makes an output.
            ///
            /// - Parameters:
            ///   - host: The host that was checked.
            ///   - trust: The server's certificates, and the results of the built-in checks.
            ///   - fault: Why the check failed.
            public init(_ host: String, _ trust: ServerTrust, _ fault: TrustFault) {
                self.host = host
                self.trust = trust
                self.fault = fault
            }
        }

        /// All hosts must have an evaluator, and this host has none.
        case noRequiredEvaluator(host: String)
        /// An evaluator of pinned certificates has none.
        case noCertificatesFound
        /// An evaluator of pinned public keys has none.
        case noPublicKeysFound
        /// An additional check cannot be made; for custom evaluators.
        case policyApplicationFailed(trust: ServerTrust, fault: TrustFault)
        /// The certificates cannot be used as trusted authorities; for custom evaluators.
        case settingAnchorCertificatesFailed(fault: TrustFault, certificates: [Certificate])
        /// The revocation check cannot be set up; for custom evaluators.
        case revocationPolicyCreationFailed
        /// The verification failed for another reason; for custom evaluators.
        case trustEvaluationFailed(error: (any Error)?)
        /// The certificate chain is not valid.
        case defaultEvaluationFailed(output: Output)
        /// The certificate is not for the host.
        case hostValidationFailed(output: Output)
        /// A certificate was revoked, or is not known to be good.
        case revocationCheckFailed(output: Output, options: RevocationOptions)
        /// None of the server's certificates is a pinned one.
        case certificatePinningFailed(
            host: String, trust: ServerTrust, pinnedCertificates: [Certificate],
            serverCertificates: [Certificate])
        /// None of the server's public keys is a pinned one.
        case publicKeyPinningFailed(
            host: String, trust: ServerTrust, pinnedKeys: [PublicKey], serverKeys: [PublicKey])
        /// A custom evaluator refused the server with this error.
        case customEvaluationFailed(error: any Error)
    }
}

extension SessionError.ServerTrustFailureReason: CustomStringConvertible {
    /// The host, and why it is not trusted.
    public var description: String {
        switch self {
        case .noRequiredEvaluator(let host):
            "\(host): no evaluator is set for this host, and every host must have one"
        case .noCertificatesFound: "no certificates were given to compare with"
        case .noPublicKeysFound: "no public keys were given to compare with"
        case .policyApplicationFailed(let trust, let fault): "\(trust.host): \(fault)"
        case .settingAnchorCertificatesFailed(let fault, let certificates):
            "\(certificates.count) certificates cannot be trusted instead: \(fault)"
        case .revocationPolicyCreationFailed: "revocation cannot be checked"
        case .trustEvaluationFailed(let error): error.map { "\($0)" } ?? "unknown reason"
        case .defaultEvaluationFailed(let output), .hostValidationFailed(let output):
            "\(output.host): \(output.fault)"
        case .revocationCheckFailed(let output, _): "\(output.host): \(output.fault)"
        case .certificatePinningFailed(let host, _, let pinned, let shown):
            "\(host): none of the server's \(shown.count) certificates is one of the "
                + "\(pinned.count) pinned ones; it shows \(shown.first.map { "\($0)" } ?? "none")"
        case .publicKeyPinningFailed(let host, _, let pinned, let shown):
            "\(host): none of the server's keys is one of the \(pinned.count) pinned ones; it shows "
                + shown.map { "\($0)" }.joined(separator: ", ")
        case .customEvaluationFailed(let error): "\(error)"
        }
    }
}

extension SessionError.ServerTrustFailureReason {
    var underlyingError: (any Error)? {
        switch self {
        case .trustEvaluationFailed(let error): error
        case .customEvaluationFailed(let error): error
        case .policyApplicationFailed(_, let fault),
            .settingAnchorCertificatesFailed(let fault, _):
            fault
        case .defaultEvaluationFailed(let output), .hostValidationFailed(let output),
            .revocationCheckFailed(let output, _):
            output.fault
        case .noRequiredEvaluator, .noCertificatesFound, .noPublicKeysFound,
            .revocationPolicyCreationFailed, .certificatePinningFailed, .publicKeyPinningFailed:
            nil
        }
    }
}
