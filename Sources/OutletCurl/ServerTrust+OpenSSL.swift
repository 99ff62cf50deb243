public import FoundationEssentials
import OutletTLS
public import OutletTransport

extension ServerTrust {
    /// Makes a value of certificates at hand, judged by OpenSSL as a server's are: to try evaluators
    /// on, and to see whether pins will fit.
    ///
    /// - Parameters:
    ///   - host: The host of the request.
    ///   - port: The port.
    ///   - sentCertificates: The certificates as the server would send them, its own first.
    ///   - anchors: The only authorities; the system's if `nil`.
    ///   - ocspResponse: What the server would staple, DER.
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
