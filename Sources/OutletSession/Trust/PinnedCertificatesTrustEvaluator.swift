public import OutletTransport

/// Trusts servers whose certificate chain contains one of several certificates.
public struct PinnedCertificatesTrustEvaluator: ServerTrustEvaluating, Equatable {
    private let certificates: [Certificate]
    private let acceptSelfSignedCertificates: Bool
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Makes an evaluator.
    ///
    /// - Parameters:
    ///   - certificates: Certificates of the server or of authorities. Include a second certificate
    ///     that is not in use yet, so that the server can change to it. Certificates are not
    ///     searched for in a bundle: an empty list refuses every server.
    ///   - acceptSelfSignedCertificates: Whether `certificates` replace the trusted authorities, so
    ///     that a self-signed certificate among them is valid.
    ///   - performDefaultValidation: Whether the chain has to be valid, too.
    ///   - validateHost: Whether the certificate has to match the host, too.
    public init(
        certificates: [Certificate] = [], acceptSelfSignedCertificates: Bool = false,
        performDefaultValidation: Bool = true, validateHost: Bool = true
    ) {
        self.certificates = certificates
        self.acceptSelfSignedCertificates = acceptSelfSignedCertificates
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// Checks the chain and the host, then compares the certificates.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    /// - Throws: `SessionError.serverTrustEvaluationFailed(reason:)` for the first fault.
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

    /// Whether the server's certificate matches the host, or is pinned itself.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    public func verifies(_ trust: ServerTrust, forHost host: String) -> Bool {
        trust.hostFault(for: host) == nil
            || trust.sentCertificates.first.map(certificates.contains) == true
    }
}

extension ServerTrustEvaluating where Self == PinnedCertificatesTrustEvaluator {
    /// Refuses every server, because there are no certificates to compare with.
    public static var pinnedCertificates: PinnedCertificatesTrustEvaluator {
        PinnedCertificatesTrustEvaluator()
    }

    /// Trusts servers whose chain contains one of several certificates; see
    /// ``PinnedCertificatesTrustEvaluator``.
    ///
    /// - Parameters:
    ///   - certificates: Certificates of the server or of authorities. Include a second certificate
    ///     that is not in use yet, so that the server can change to it. Certificates are not
    ///     searched for in a bundle: an empty list refuses every server.
    ///   - acceptSelfSignedCertificates: Whether `certificates` replace the trusted authorities, so
    ///     that a self-signed certificate among them is valid.
    ///   - performDefaultValidation: Whether the chain has to be valid, too.
    ///   - validateHost: Whether the certificate has to match the host, too.
    public static func pinnedCertificates(
        certificates: [Certificate] = [], acceptSelfSignedCertificates: Bool = false,
        performDefaultValidation: Bool = true, validateHost: Bool = true
    ) -> PinnedCertificatesTrustEvaluator {
        PinnedCertificatesTrustEvaluator(
            certificates: certificates, acceptSelfSignedCertificates: acceptSelfSignedCertificates,
            performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }
}
