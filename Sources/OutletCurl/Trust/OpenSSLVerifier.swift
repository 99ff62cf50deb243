import FoundationEssentials
import OutletTLS
import OutletTransport

/// Verifies certificate chains with OpenSSL and a session's certificate authorities.
///
/// Thread: any.
final class OpenSSLVerifier: Sendable {
    private let trust: Result<TrustStore, TransferError>
    /// Made at the first use, because reading a bundle takes 20 ms.
    private let made: Lock<ChainVerifier?>

    /// Parsed revocation lists with the contents they were parsed from, the most recently used
    /// first.
    private let lists = Lock<[(contents: [RevocationList.Content], read: RevocationLists)]>([])
    /// The maximum number of entries in `lists`; more sets of lists are parsed each time.
    private static let listLimit = 8

    private static let none = ChainVerifier(TrustStore())

    init(_ trust: Result<TrustStore, TransferError>) {
        self.trust = trust
        made = Lock(nil)
    }

    /// Makes a verifier that trusts only the given certificates as authorities.
    init(anchors: [OutletTransport.Certificate]) {
        trust = .success(TrustStore())
        made = Lock(ChainVerifier(anchors: anchors.bytes))
    }

    /// The verifier with the session's authorities, or why there are none.
    private var authorities: Result<ChainVerifier, TransferError> {
        trust.map { store in
            made.withLock { made in
                if let made { return made }
                let verifier = ChainVerifier(store)
                made = verifier
                return verifier
            }
        }
    }

    func verify(
        _ chain: [OutletTransport.Certificate], anchors: [OutletTransport.Certificate]?,
        _ securityLevel: Int32
    ) -> ChainVerdict {
        if let anchors {
            return ChainVerdict(
                Self.none.verify(
                    chain.bytes, anchors: anchors.bytes, securityLevel: securityLevel))
        }
        switch authorities {
        case .success(let verifier):
            return ChainVerdict(verifier.verify(chain.bytes, securityLevel: securityLevel))
        case .failure(let error):
            let known = Self.none.verify(chain.bytes, securityLevel: securityLevel)
            return ChainVerdict(
                path: ChainVerdict(known).path,
                fault: TrustFault(code: TrustFault.unspecified, reason: error.description))
        }
    }

    func revocationStatus(
        of chain: [OutletTransport.Certificate], ocspResponse: Data?, lists: [RevocationList],
        _ securityLevel: Int32
    ) -> RevocationStatus {
        guard !lists.isEmpty || ocspResponse != nil else { return .unknown }
        guard case .success(let verifier) = authorities else { return .unknown }
        let known: RevocationLists
        do throws(RevocationLists.Fault) {
            known = try read(lists)
        } catch {
            return .refused(
                TrustFault(
                    code: TrustFault.unspecified, reason: error.description,
                    certificate: chain.first))
        }
        let verdict = verifier.verify(chain.bytes, lists: known, securityLevel: securityLevel)
        if let refusal = verdict.refusal, !lists.isEmpty { return .refused(TrustFault(refusal)) }
        guard let ocspResponse else { return verdict.isListed ? .good : .unknown }
        // A self-signed certificate is its own issuer.
        guard let issuer = verdict.path.dropFirst().first ?? verdict.path.first else {
            return refused("no authority is known that could vouch for it", chain)
        }
        let response = StapledResponse(
            Array(ocspResponse), chain: chain.bytes, issuer: issuer.der, verifier: verifier)
        return response.fault.map { refused($0, chain) } ?? .good
    }

    /// Checks that the response is stapled that the server's certificate requires.
    func staplingFault(
        of chain: [OutletTransport.Certificate], ocspResponse: Data?, _ securityLevel: Int32
    ) -> TrustFault? {
        guard let leaf = chain.first, StapleRequirement.applies(to: [UInt8](leaf.der)) else {
            return nil
        }
        guard ocspResponse != nil else {
            return TrustFault(
                code: TrustFault.unspecified, reason: StapleRequirement.missing, certificate: leaf)
        }
        let status = revocationStatus(
            of: chain, ocspResponse: ocspResponse, lists: [], securityLevel)
        guard case .refused(let fault) = status else { return nil }
        return TrustFault(
            code: fault.code, reason: StapleRequirement.unmet(fault.reason), certificate: leaf)
    }

    /// Returns OpenSSL's form of revocation lists, cached by content.
    ///
    /// Parsing a list with 100,000 certificates takes longer than the rest of a handshake.
    ///
    /// - Throws: `RevocationLists.Fault` if a list cannot be used.
    func read(_ lists: [RevocationList]) throws(RevocationLists.Fault) -> RevocationLists {
        let contents = lists.map(\.content)
        let known = self.lists.withLock { known -> RevocationLists? in
            let index = known.firstIndex { entry in
                entry.contents.count == contents.count
                    && zip(entry.contents, contents).allSatisfy { $0 === $1 }
            }
            guard let index else { return nil }
            if index > 0 { known.insert(known.remove(at: index), at: 0) }
            return known[0].read
        }
        if let known { return known }
        let read = try RevocationLists(contents.map { Array($0.bytes) })
        self.lists.withLock { known in
            known.insert((contents, read), at: 0)
            if known.count > Self.listLimit { known.removeLast() }
        }
        return read
    }

    private func refused(
        _ reason: String, _ chain: [OutletTransport.Certificate]
    ) -> RevocationStatus {
        .refused(
            TrustFault(
                code: TrustFault.unspecified, reason: "the stapled OCSP response: \(reason)",
                certificate: chain.first))
    }
}

/// Verifies with OpenSSL at the security level of one connection.
struct HandshakeVerifier: TrustVerifier {
    private let verifier: OpenSSLVerifier
    private let securityLevel: Int32

    /// Makes a verifier.
    ///
    /// - Parameter securityLevel: The connection's level (`SSL_CTX_set_security_level(3)`).
    init(_ verifier: OpenSSLVerifier, securityLevel: Int32) {
        self.verifier = verifier
        self.securityLevel = securityLevel
    }

    func verify(
        _ chain: [OutletTransport.Certificate], anchors: [OutletTransport.Certificate]?
    ) -> ChainVerdict { verifier.verify(chain, anchors: anchors, securityLevel) }

    func isCertificate(_ certificate: OutletTransport.Certificate, for host: String) -> Bool {
        ChainVerifier.isCertificate(Array(certificate.der), for: host)
    }

    func staplingFault(
        of chain: [OutletTransport.Certificate], ocspResponse: Data?
    ) -> TrustFault? {
        verifier.staplingFault(of: chain, ocspResponse: ocspResponse, securityLevel)
    }

    func revocationStatus(
        of chain: [OutletTransport.Certificate], ocspResponse: Data?, lists: [RevocationList]
    ) -> RevocationStatus {
        verifier.revocationStatus(
            of: chain, ocspResponse: ocspResponse, lists: lists, securityLevel)
    }
}

extension [OutletTransport.Certificate] {
    fileprivate var bytes: [[UInt8]] { map { certificate in [UInt8](certificate.der) } }
}

extension ChainVerdict {
    /// Converts OpenSSL's verdict.
    fileprivate init(_ verdict: ChainVerifier.Verdict) {
        self.init(
            path: verdict.path.map { OutletTransport.Certificate($0) },
            fault: verdict.refusal.map { TrustFault($0) })
    }
}

extension TrustFault {
    /// Converts OpenSSL's verification error.
    init(_ refusal: Verification.Refusal) {
        self.init(
            code: refusal.code, reason: refusal.description,
            certificate: refusal.certificate.map { OutletTransport.Certificate($0) })
    }
}
