public import FoundationEssentials
import OutletHTTP

/// The certificates and other data that a server has sent in the TLS handshake, for evaluators.
public struct ServerTrust: Sendable {
    /// The host of the request, in lower case; an IPv6 address without brackets.
    public let host: String
    /// The port.
    public let port: Int
    /// The verified chain, from the server's own certificate to an authority, each certificate
    /// signed by the next.
    ///
    /// If verification failed, the chain ends with the last certificate whose signature is proved.
    /// Compare pins with these certificates only: the server may send any others.
    public let certificates: [Certificate]
    /// The certificates as the server has sent them, its own first.
    ///
    /// The server has proved only that it has the private key of the first.
    public let sentCertificates: [Certificate]
    /// The OCSP response that the server has stapled (RFC 6066 §8) as DER; `nil` if there is none.
    public let ocspResponse: Data?
    /// Why the chain does not lead to an authority of the session; `nil` if it is valid.
    ///
    /// Also set if the server's certificate requires a stapled OCSP response (RFC 7633), and
    /// ``ocspResponse`` does not prove that it is good.
    ///
    /// The host is not checked here; see ``hostFault(for:)``.
    public let chainFault: TrustFault?

    private let verifier: any TrustVerifier

    /// Makes a value, and calls `verifier` to verify the chain with the session's authorities.
    ///
    /// - Parameters:
    ///   - host: The host of the request; converted to lower case.
    ///   - port: The port.
    ///   - sentCertificates: The certificates as the server has sent them, its own first.
    ///   - ocspResponse: The stapled OCSP response as DER; `nil` if there is none.
    ///   - verifier: Verifies chains, hosts and revocation.
    public init(
        host: String, port: Int, sentCertificates: [Certificate], ocspResponse: Data? = nil,
        verifier: any TrustVerifier
    ) {
        self.host = host.lowercasedASCII
        self.port = port
        self.sentCertificates = sentCertificates
        self.ocspResponse = ocspResponse
        self.verifier = verifier
        let verdict = verifier.verify(sentCertificates, anchors: nil)
        certificates = verdict.path
        chainFault =
            verdict.fault
            ?? verifier.staplingFault(of: sentCertificates, ocspResponse: ocspResponse)
    }

    /// The public keys of ``certificates``, the server's own first.
    public var publicKeys: [PublicKey] { certificates.publicKeys }

    /// Verifies the chain again, with other authorities than the session's.
    ///
    /// - Parameter anchors: The only certificates that are trusted as authorities.
    public func verdict(anchors: [Certificate]) -> ChainVerdict {
        verifier.verify(sentCertificates, anchors: anchors)
    }

    /// Checks whether the server's own certificate is valid for a host.
    ///
    /// - Parameter host: A name or an IP address.
    /// - Returns: Why it is not valid for the host; `nil` if it is.
    public func hostFault(for host: String) -> TrustFault? {
        guard let certificate = sentCertificates.first else { return .noCertificate }
        guard !verifier.isCertificate(certificate, for: host) else { return nil }
        return TrustFault(
            code: TrustFault.hostMismatch,
            reason: Self.mismatch(
                of: "server", names: certificate.subjectAlternativeNames,
                subject: certificate.subject, host: host),
            certificate: certificate)
    }

    /// Describes a certificate that is not valid for a host.
    ///
    /// - Parameters:
    ///   - role: Whose certificate it is: `server` or `proxy`.
    ///   - names: Its subject alternative names.
    ///   - subject: Its subject, which is shown if there are no names.
    ///   - host: The host.
    package static func mismatch(
        of role: String, names: [String], subject: String, host: String
    ) -> String {
        // The same text is not the same name: an address must not be given as a DNS name.
        if names.contains(host) {
            return "the \(role)'s certificate has \(host) as a DNS name, not as an IP address"
        }
        guard !names.isEmpty else {
            return "the \(role)'s certificate (\(Redaction.standard.quote(subject))) has no host "
                + "among its subject alternative names, and its common name does not count (RFC 9110 "
                + "§4.3.4)"
        }
        let said = Redaction.standard.quote(names.joined(separator: ", "))
        return "the \(role)'s certificate is for \(said), not for \(host)"
    }

    /// Checks whether certificates of the chain were revoked.
    ///
    /// - Parameters:
    ///   - lists: The revocation lists to search.
    ///   - usesOCSP: Whether the stapled OCSP response is used as well.
    public func revocationStatus(
        lists: [RevocationList], usesOCSP: Bool
    ) -> RevocationStatus {
        verifier.revocationStatus(
            of: sentCertificates, ocspResponse: usesOCSP ? ocspResponse : nil, lists: lists)
    }

    /// Returns a value that is verified as if the server had sent further certificates.
    ///
    /// - Parameter certificates: For example intermediate certificates that the server omits.
    public func adding(_ certificates: [Certificate]) -> ServerTrust {
        ServerTrust(
            host: host, port: port, sentCertificates: sentCertificates + certificates,
            ocspResponse: ocspResponse, verifier: verifier)
    }
}

extension ServerTrust: Equatable {
    /// Compares host, port, certificates, OCSP response and ``chainFault``.
    public static func == (a: ServerTrust, b: ServerTrust) -> Bool {
        a.host == b.host && a.port == b.port && a.certificates == b.certificates
            && a.sentCertificates == b.sentCertificates
            && a.ocspResponse == b.ocspResponse && a.chainFault == b.chainFault
    }
}

extension ServerTrust: CustomStringConvertible {
    /// Host, port and the server's own certificate.
    public var description: String {
        "\(host):\(port): \(sentCertificates.first.map { "\($0)" } ?? "no certificate")"
    }
}

/// The result of verifying a chain of certificates.
public struct ChainVerdict: Sendable, Equatable {
    /// The chain from the server's certificate up to the last one whose signature is proved, each
    /// certificate signed by the next.
    public let path: [Certificate]
    /// What is wrong; `nil` if the path ends at an authority and all its certificates are valid
    /// now.
    public let fault: TrustFault?

    /// Makes a verdict.
    ///
    /// - Parameters:
    ///   - path: The proved part of the chain, the server's certificate first.
    ///   - fault: What is wrong; `nil` if the chain is valid.
    public init(path: [Certificate], fault: TrustFault?) {
        self.path = path
        self.fault = fault
    }
}

/// Why a chain or a certificate is refused.
public struct TrustFault: Error, Sendable, Equatable {
    /// The verifier's code (OpenSSL's `X509_V_ERR_…`).
    public let code: Int32
    /// What is wrong, in one line.
    public let reason: String
    /// The certificate that caused the fault; `nil` if none did.
    public let certificate: Certificate?

    /// Makes a fault.
    ///
    /// - Parameters:
    ///   - code: The verifier's code, such as ``unspecified``.
    ///   - reason: What is wrong, in one line.
    ///   - certificate: The certificate that caused it; `nil` if none did.
    public init(code: Int32, reason: String, certificate: Certificate? = nil) {
        self.code = code
        self.reason = reason
        self.certificate = certificate
    }

    /// The code of a certificate for another host (`X509_V_ERR_HOSTNAME_MISMATCH`).
    public static let hostMismatch: Int32 = 62
    /// The code of faults without a code of their own (`X509_V_ERR_UNSPECIFIED`).
    public static let unspecified: Int32 = 1

    static let noCertificate = TrustFault(
        code: unspecified, reason: "the server has shown no certificate")
}

extension TrustFault: CustomStringConvertible {
    /// What is wrong.
    public var description: String { reason }
}

/// Whether certificates of a chain were revoked.
public enum RevocationStatus: Sendable, Equatable {
    /// A revocation list of the issuer, or a stapled OCSP response, proves that the server's
    /// certificate was not revoked.
    case good
    /// There is neither a list of the issuer nor an OCSP response.
    case unknown
    /// A certificate was revoked, the chain cannot be verified, or a list or the OCSP response
    /// proves nothing.
    case refused(TrustFault)
}

/// Verifies chains of certificates; implemented by transports.
///
/// Thread: any. Must not block.
public protocol TrustVerifier: Sendable {
    /// Verifies that a chain leads to an authority and that its certificates are valid now.
    ///
    /// - Parameters:
    ///   - chain: The certificates as the server has sent them, its own first.
    ///   - anchors: The only certificates that are trusted as authorities; `nil` for the session's.
    func verify(_ chain: [Certificate], anchors: [Certificate]?) -> ChainVerdict

    /// Whether a certificate is valid for a host, a name or an IP address.
    ///
    /// - Parameters:
    ///   - certificate: The server's own certificate; its chain is not verified.
    ///   - host: A DNS name, or an IP address without brackets.
    func isCertificate(_ certificate: Certificate, for host: String) -> Bool

    /// Checks that the server has stapled the OCSP response that its certificate requires (the TLS
    /// feature `status_request`, RFC 7633).
    ///
    /// The default implementation requires none.
    ///
    /// - Parameters:
    ///   - chain: The certificates as the server has sent them, its own first.
    ///   - ocspResponse: The stapled OCSP response as DER; `nil` if there is none.
    /// - Returns: What is wrong; `nil` if no response is required, or the response proves that the
    ///   certificate is good.
    func staplingFault(of chain: [Certificate], ocspResponse: Data?) -> TrustFault?

    /// Checks whether certificates of a chain were revoked.
    ///
    /// - Parameters:
    ///   - chain: The certificates as the server has sent them, its own first.
    ///   - ocspResponse: The stapled OCSP response as DER; `nil` to use none.
    ///   - lists: The revocation lists to search.
    func revocationStatus(
        of chain: [Certificate], ocspResponse: Data?, lists: [RevocationList]
    ) -> RevocationStatus
}

extension TrustVerifier {
    /// Requires no response.
    public func staplingFault(of chain: [Certificate], ocspResponse: Data?) -> TrustFault? { nil }
}
