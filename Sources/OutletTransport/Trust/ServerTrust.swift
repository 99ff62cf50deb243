public import FoundationEssentials
import OutletHTTP

/// What a server has shown of itself while TLS was agreed on, for evaluators to judge.
public struct ServerTrust: Sendable {
    /// The host of the request, in lower case; an IPv6 address without brackets.
    public let host: String
    /// The port.
    public let port: Int
    /// The way from the server's own certificate to an authority, each signed by the next; as far
    /// as that is proved, if the chain is not good.
    ///
    /// What else the server has sent proves nothing about it, and must not be compared with pins.
    public let certificates: [Certificate]
    /// The certificates as the server sent them, its own first; only that one's key it has proved
    /// to have.
    public let sentCertificates: [Certificate]
    /// The OCSP response that the server stapled (RFC 6066 §8), DER; `nil` without one.
    public let ocspResponse: Data?
    /// What is wrong with the chain by the session's authorities; `nil` when it is good.
    ///
    /// It says nothing about the host: that is ``hostFault(for:)``.
    public let chainFault: TrustFault?

    private let verifier: any TrustVerifier

    /// Makes a value and lets `verifier` judge the chain.
    ///
    /// - Parameters:
    ///   - host: The host of the request.
    ///   - port: The port.
    ///   - sentCertificates: The certificates as the server sent them.
    ///   - ocspResponse: What the server stapled, DER.
    ///   - verifier: Follows chains.
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
        chainFault = verdict.fault
    }

    /// The public keys of the chain, the server's own first.
    public var publicKeys: [PublicKey] { certificates.publicKeys }

    /// What becomes of the chain when only these authorities count.
    public func verdict(anchors: [Certificate]) -> ChainVerdict {
        verifier.verify(sentCertificates, anchors: anchors)
    }

    /// Why the server's certificate is not for a host; `nil` when it is.
    public func hostFault(for host: String) -> TrustFault? {
        guard let certificate = sentCertificates.first else { return .noCertificate }
        guard !verifier.isCertificate(certificate, for: host) else { return nil }
        let names = certificate.subjectAlternativeNames
        let said = names.isEmpty ? certificate.subject : names.joined(separator: ", ")
        return TrustFault(
            code: TrustFault.hostMismatch,
            reason: "the server's certificate is for \(said), not for \(host)",
            certificate: certificate)
    }

    /// What is known about the chain being taken back.
    ///
    /// - Parameters:
    ///   - lists: Where to look it up.
    ///   - usesOCSP: Whether what the server stapled counts.
    public func revocationStatus(
        lists: [RevocationList], usesOCSP: Bool
    ) -> RevocationStatus {
        verifier.revocationStatus(
            of: sentCertificates, ocspResponse: usesOCSP ? ocspResponse : nil, lists: lists)
    }

    /// The same server, had it sent these certificates besides.
    public func adding(_ certificates: [Certificate]) -> ServerTrust {
        ServerTrust(
            host: host, port: port, sentCertificates: sentCertificates + certificates,
            ocspResponse: ocspResponse, verifier: verifier)
    }
}

extension ServerTrust: Equatable {
    /// The same server with the same chain, judged the same.
    public static func == (a: ServerTrust, b: ServerTrust) -> Bool {
        a.host == b.host && a.port == b.port && a.certificates == b.certificates
            && a.sentCertificates == b.sentCertificates
            && a.ocspResponse == b.ocspResponse && a.chainFault == b.chainFault
    }
}

extension ServerTrust: CustomStringConvertible {
    /// The server and its certificate.
    public var description: String {
        "\(host):\(port): \(sentCertificates.first.map { "\($0)" } ?? "no certificate")"
    }
}

/// What was found about a chain.
public struct ChainVerdict: Sendable, Equatable {
    /// The way from the server's certificate as far up as it is proved, each signed by the next.
    public let path: [Certificate]
    /// What is wrong; `nil` when the path ends at an authority and all dates are right.
    public let fault: TrustFault?

    /// Makes a verdict.
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
    /// The certificate that is to blame, if it is one.
    public let certificate: Certificate?

    /// Makes a fault.
    public init(code: Int32, reason: String, certificate: Certificate? = nil) {
        self.code = code
        self.reason = reason
        self.certificate = certificate
    }

    /// The code of a certificate for another host (`X509_V_ERR_HOSTNAME_MISMATCH`).
    public static let hostMismatch: Int32 = 62
    /// The code of what has no other (`X509_V_ERR_UNSPECIFIED`).
    public static let unspecified: Int32 = 1

    static let noCertificate = TrustFault(
        code: unspecified, reason: "the server has shown no certificate")
}

extension TrustFault: CustomStringConvertible {
    /// What is wrong.
    public var description: String { reason }
}

/// What is known about a chain being taken back.
public enum RevocationStatus: Sendable, Equatable {
    /// Somebody who must know says that the server's certificate is good.
    case good
    /// Nobody says anything.
    case unknown
    /// A certificate was taken back, or what was said about it is no proof.
    case refused(TrustFault)
}

/// Follows chains of certificates; a transport brings one along.
///
/// Thread: any. Must not block.
public protocol TrustVerifier: Sendable {
    /// Follows a chain to an authority.
    ///
    /// - Parameters:
    ///   - chain: As the server sent it, its own certificate first.
    ///   - anchors: The only authorities that count; the session's if `nil`.
    func verify(_ chain: [Certificate], anchors: [Certificate]?) -> ChainVerdict

    /// Whether a certificate is for a host, a name or an address.
    func isCertificate(_ certificate: Certificate, for host: String) -> Bool

    /// What is known about a chain being taken back.
    func revocationStatus(
        of chain: [Certificate], ocspResponse: Data?, lists: [RevocationList]
    ) -> RevocationStatus
}
