public import OutletTransport

/// Trusts servers whose chain holds one of some certificates.
public struct PinnedCertificatesTrustEvaluator: ServerTrustEvaluating, Equatable {
    private let certificates: [Certificate]
    private let acceptSelfSignedCertificates: Bool
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Makes an evaluator.
    ///
    /// - Parameters:
    ///   - certificates: The server's own, or those of authorities; a second one that is not in use
    ///     yet lets the server change. No bundle is searched for them: an evaluator without any
    ///     trusts nobody.
    ///   - acceptSelfSignedCertificates: Whether `certificates` are the only authorities that count,
    ///     so that a server's certificate signed by itself will do.
    ///   - performDefaultValidation: Whether the chain must be good.
    ///   - validateHost: Whether the certificate must be for the host.
    public init(
        certificates: [Certificate] = [], acceptSelfSignedCertificates: Bool = false,
        performDefaultValidation: Bool = true, validateHost: Bool = true
    ) {
        self.certificates = certificates
        self.acceptSelfSignedCertificates = acceptSelfSignedCertificates
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// Checks chain and host, then looks for the certificates.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !certificates.isEmpty else {
            throw SessionError.serverTrustEvaluationFailed(reason: .noCertificatesFound)
        }
        let verdict =
            acceptSelfSignedCertificates
            ? trust.verdict(anchors: certificates)
            : ChainVerdict(path: trust.certificates, fault: trust.chainFault)
        if performDefaultValidation, let fault = verdict.fault {
            throw SessionError.serverTrustEvaluationFailed(
                reason: .defaultEvaluationFailed(output: .init(host, trust, fault)))
        }
        if validateHost { try trust.performValidation(forHost: host) }
        guard verdict.path.allSatisfy({ !certificates.contains($0) }) else { return }
        throw SessionError.serverTrustEvaluationFailed(
            reason: .certificatePinningFailed(
                host: host, trust: trust, pinnedCertificates: certificates,
                serverCertificates: verdict.path))
    }

    /// Whether the certificate is for the host, or is pinned itself.
    public func verifies(_ trust: ServerTrust, forHost host: String) -> Bool {
        trust.hostFault(for: host) == nil
            || trust.sentCertificates.first.map(certificates.contains) == true
    }
}

extension ServerTrustEvaluating where Self == PinnedCertificatesTrustEvaluator {
    /// Trusts nobody: no certificates were given to compare with.
    public static var pinnedCertificates: PinnedCertificatesTrustEvaluator {
        PinnedCertificatesTrustEvaluator()
    }

    /// Trusts servers whose chain holds one of some certificates.
    public static func pinnedCertificates(
        certificates: [Certificate] = [], acceptSelfSignedCertificates: Bool = false,
        performDefaultValidation: Bool = true, validateHost: Bool = true
    ) -> PinnedCertificatesTrustEvaluator {
        PinnedCertificatesTrustEvaluator(
            certificates: certificates, acceptSelfSignedCertificates: acceptSelfSignedCertificates,
            performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}
