public import OutletTransport

extension SessionError {
    /// Why a server is not trusted.
    public enum ServerTrustFailureReason: Sendable {
        /// What a check was about, and what it found.
        public struct Output: Sendable, Equatable {
            /// The host that was checked.
            public let host: String
            /// What the server has shown.
            public let trust: ServerTrust
            /// What is wrong with it.
            public let fault: TrustFault

            /// Makes an output.
            public init(_ host: String, _ trust: ServerTrust, _ fault: TrustFault) {
                self.host = host
                self.trust = trust
                self.fault = fault
            }
        }

        /// Every host needs an evaluator, and this has none.
        case noRequiredEvaluator(host: String)
        /// Certificates are to be compared, but none were given.
        case noCertificatesFound
        /// Keys are to be compared, but none were given.
        case noPublicKeysFound
        /// A check of an evaluator's own cannot be made.
        case policyApplicationFailed(trust: ServerTrust, fault: TrustFault)
        /// These certificates cannot be the authorities that count.
        case settingAnchorCertificatesFailed(fault: TrustFault, certificates: [Certificate])
        /// Revocation cannot be checked.
        case revocationPolicyCreationFailed
        /// The verifier failed.
        case trustEvaluationFailed(error: (any Error)?)
        /// The chain is not good.
        case defaultEvaluationFailed(output: Output)
        /// The certificate is not for the host.
        case hostValidationFailed(output: Output)
        /// A certificate was taken back, or may have been.
        case revocationCheckFailed(output: Output, options: RevocationOptions)
        /// None of the server's certificates is one of those that were given.
        case certificatePinningFailed(
            host: String, trust: ServerTrust, pinnedCertificates: [Certificate],
            serverCertificates: [Certificate])
        /// None of the server's keys is one of those that were given.
        case publicKeyPinningFailed(
            host: String, trust: ServerTrust, pinnedKeys: [PublicKey], serverKeys: [PublicKey])
        /// An evaluator of the user's refused.
        case customEvaluationFailed(error: any Error)
    }
}

extension SessionError.ServerTrustFailureReason: CustomStringConvertible {
    /// The host, and what is wrong.
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
