import OutletFiles
import OutletHTTP
import OutletTransport

/// The settings that apply to one server.
extension TransportSettings {
    /// Checks that there are certificate authorities to verify an https server with.
    ///
    /// - Throws: `TransferError` with the reason why there are none.
    func checkTrust(for address: Address) throws(TransferError) {
        guard configuration.verifiesCertificates, case .failure(var error) = trust else { return }
        error.host = address.host
        throw error
    }

    /// Returns the version of an origin, from the settings, its last response, or its scheme.
    func version(of address: Address) -> OriginQueue<CurlTransfer>.Version {
        switch configuration.httpVersion {
        case .automatic:
            address.queue.version == .unknown && !address.isSecure
                ? .http1 : address.queue.version
        case .http1: .http1
        case .http2PriorKnowledge: .http2
        }
    }

    /// Whether each connection to a server can be used for one request only.
    func usesConnectionsOnce(to origin: Origin) -> Bool {
        configuration.httpVersion == .http2PriorKnowledge && !origin.isSecure
            && LibraryVersion.losesPriorKnowledge(LibraryVersion.running)
    }

    /// Returns the client certificate for a server; `nil` for none.
    func clientCertificate(for address: Address) -> ClientCertificate? {
        configuration.clientCertificateProvider?.certificate(
            forHost: address.origin.host, port: address.port) ?? configuration.clientCertificate
    }

    /// Checks that the files of a client certificate are plain files.
    ///
    /// OpenSSL reads them on the loop's thread, which a named pipe would block.
    ///
    /// - Throws: `TransferError` with code `clientCertificateRejected`.
    func check(_ certificate: ClientCertificate, for address: Address) throws(TransferError) {
        for case .file(let path)? in [certificate.certificate, certificate.key] {
            guard let fault = NotPlainFile(path) else { continue }
            throw TransferError(
                code: .clientCertificateRejected, stage: .preparing, host: address.host,
                reason: "the client's certificate cannot be used: \(fault)")
        }
    }
}
