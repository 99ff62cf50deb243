import CCurl
import FoundationEssentials
import OutletSession
import OutletTLS

extension CurlTransfer {
    /// Lets the handler decide about the server, unless somebody has on this connection.
    ///
    /// - Returns: Whether the request may be sent.
    func mayTrustServer(_ loop: EventLoop) -> Bool {
        guard let easy, let address, let handler, address.isSecure else { return true }
        guard let connection = ccurl_get_ssl(easy.raw) else {
            failure = untrusted("libcurl does not show the connection", address)
            return false
        }
        if TLSConnection.isAccepted(connection) { return true }
        let certificates = TLSConnection.chain(of: connection)
        let stapled = TLSConnection.stapledResponse(of: connection)
        let staple = loop.shared.staples.withLock {
            $0.response(stapledTo: stapled, certificate: certificates.first)
        }
        let trust = ServerTrust(
            host: address.hostName.trimmingBrackets(), port: address.port,
            sentCertificates: certificates.map { OutletSession.Certificate($0) },
            ocspResponse: staple.map { Data($0) }, verifier: loop.settings.verifier)
        guard handler.transfer(self, shouldTrust: trust) else {
            failure = untrusted("the session's evaluator refuses the server", address)
            return false
        }
        TLSConnection.accept(connection)
        return true
    }

    private func untrusted(_ reason: String, _ address: Address) -> TransferError {
        TransferError(
            code: .serverCertificateUntrusted, stage: .securing, host: address.host, reason: reason)
    }
}

/// OCSP responses of servers: a resumed session brings none, and is about the same certificate.
struct StapleMemory: Sendable {
    private static let limit = 256
    private var responses: [[UInt8]: [UInt8]] = [:]

    /// What was stapled now, or else when the certificate was last shown.
    mutating func response(
        stapledTo now: [UInt8]?, certificate: OutletTLS.Certificate?
    ) -> [UInt8]? {
        guard let certificate else { return now }
        guard let now else { return responses[certificate.der] }
        if responses.count >= Self.limit { responses.removeAll() }
        responses[certificate.der] = now
        return now
    }
}

extension String {
    /// An address in a URL's brackets without them.
    fileprivate func trimmingBrackets() -> String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self
    }
}
