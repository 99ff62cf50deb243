import OutletFiles
import OutletHTTP
import OutletTransport

/// What the settings say of one server.
extension TransportSettings {
    /// Refuses an https transfer when there are no certificate authorities to check it by.
    func checkTrust(for address: Address) throws(TransferError) {
        guard configuration.verifiesCertificates, case .failure(var error) = trust else { return }
        error.host = address.host
        throw error
    }

    /// What an origin speaks, by the settings, its last answer, or its scheme.
    func version(of address: Address) -> OriginQueue<CurlTransfer>.Version {
        switch configuration.httpVersion {
        case .automatic:
            address.queue.version == .unknown && !address.isSecure
                ? .http1 : address.queue.version
        case .http1: .http1
        case .http2PriorKnowledge: .http2
        }
    }

    /// Who we are for a host.
    func clientCertificate(for address: Address) -> ClientCertificate? {
        configuration.clientCertificateProvider?.certificate(
            forHost: address.origin.host, port: address.port) ?? configuration.clientCertificate
    }

    /// Refuses a certificate that OpenSSL would wait for: it reads the files on the loop.
    func check(_ certificate: ClientCertificate, for address: Address) throws(TransferError) {
        for case .file(let path)? in [certificate.certificate, certificate.key] {
            guard let fault = NotPlainFile(path) else { continue }
            throw TransferError(
                code: .clientCertificateRejected, stage: .preparing, host: address.host,
                reason: "the client's certificate cannot be used: \(fault)")
        }
    }
}
