public import FoundationEssentials
import OutletTLS
public import OutletTransport

extension ServerTrust {
    /// Makes a value from given certificates, verified by OpenSSL in the same way as a server's.
    ///
    /// For testing evaluators, and for checking whether pins will match. The security level is that
    /// of OpenSSL's own configuration.
    ///
    /// - Parameters:
    ///   - host: The host of the request; converted to lower case.
    ///   - port: The port.
    ///   - sentCertificates: The certificates as the server would send them, its own first.
    ///   - anchors: The only certificates trusted as authorities; `nil` for those of the system.
    ///   - ocspResponse: The OCSP response that the server would staple, as DER; `nil` for none.
    public init(
        host: String, port: Int = 443, sentCertificates: [OutletTransport.Certificate],
        anchors: [OutletTransport.Certificate]? = nil, ocspResponse: Data? = nil
    ) {
        let verifier =
            anchors.map { OpenSSLVerifier(anchors: $0) }
            ?? OpenSSLVerifier(
                TransportSettings.trust(.system, .current))
        self.init(
            host: host, port: port, sentCertificates: sentCertificates,
            ocspResponse: ocspResponse,
            verifier: HandshakeVerifier(verifier, securityLevel: TLSLibrary.securityLevel))
    }
}
