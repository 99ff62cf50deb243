import FoundationEssentials
import OutletTransport

/// Generated servers for trust decisions: with valid, invalid, many and no certificates.
enum MadeServers {
    static let all: [ServerTrust] = {
        let real = certificate(Data(base64Encoded: MadeServers.real) ?? Data())
        let garbage = [
            Data(), Data([0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]), Data(repeating: 0, count: 70_000),
        ]
        let fault = TrustFault(
            code: TrustFault.unspecified,
            reason: String(repeating: "made up by the checker ", count: 40))
        return [
            server([real], fault: nil), server([real, real], fault: fault),
            server([], fault: fault),
            server(garbage.map { certificate($0) }, fault: nil),
            server(Array(repeating: real, count: 100), fault: nil),
        ]
    }()

    private static func server(_ certificates: [Certificate], fault: TrustFault?) -> ServerTrust {
        ServerTrust(
            host: "check.example", port: 443, sentCertificates: certificates,
            verifier: MadeVerdict(fault: fault))
    }

    private static func certificate(_ der: Data) -> Certificate {
        Certificate(
            der: der, publicKey: PublicKey(der: der, sha256: Data(count: 32)),
            subject: "CN=check.example", issuer: "CN=check.example",
            subjectAlternativeNames: ["check.example"], notBefore: 0, notAfter: .max)
    }

    /// A self-signed certificate for check.example with a P-256 key (DER, Base64).
    private static let real = """
        MIIBhjCCAS2gAwIBAgIUYCIiqc0vNv1AFjewgPlptsYYXPcwCgYIKoZIzj0EAwIwGDEWMBQGA1UE\
        AwwNY2hlY2suZXhhbXBsZTAgFw0yNjExMjMxMjQwMzZaGA8yMTI2MTAzMDEyNDAzNlowGDEWMBQG\
        A1UEAwwNY2hlY2suZXhhbXBsZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABE/9c8dAmdCaIYIi\
        dIR8TkQLOP+1zAzGXGA6EqfQTTtT/KgD+pMR/+L0pBBnGqmjzuMpTTAUh8DS9bJ3DGh+6DOjUzBR\
        MB0GA1UdDgQWBBRmlM1WFLLLAuXeRdAgyxn6DJYYJDAfBgNVHSMEGDAWgBRmlM1WFLLLAuXeRdAg\
        yxn6DJYYJDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIHMleycginPIHdOELODe\
        IO0VLKrFiSEn81lGSz0JPiDpAiBMfcze4iWOFagO5swmQrll03ZA2YFa7B4Tl058fROcmg==
        """
}

/// Returns a fixed verdict for every certificate chain.
private struct MadeVerdict: TrustVerifier {
    let fault: TrustFault?

    func verify(_ chain: [Certificate], anchors: [Certificate]?) -> ChainVerdict {
        ChainVerdict(path: chain, fault: fault)
    }

    func isCertificate(_ certificate: Certificate, for host: String) -> Bool { true }

    func revocationStatus(
        of chain: [Certificate], ocspResponse: Data?, lists: [RevocationList]
    ) -> RevocationStatus { .unknown }
}
