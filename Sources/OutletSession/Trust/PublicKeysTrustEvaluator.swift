public import OutletTransport

/// Trusts servers whose certificate chain contains one of several public keys.
public struct PublicKeysTrustEvaluator: ServerTrustEvaluating, Equatable {
    private let keys: [PublicKey]
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Makes an evaluator.
    ///
    /// - Parameters:
    ///   - keys: Keys of the server or of authorities. Include the key of a backup certificate,
    ///     so that a lost key does not lock clients out. Keys are not searched for in a bundle: an
    ///     empty list refuses every server.
    ///   - performDefaultValidation: Whether the chain has to be valid, too.
    ///   - validateHost: Whether the certificate has to match the host, too.
    public init(
        keys: [PublicKey] = [], performDefaultValidation: Bool = true, validateHost: Bool = true
    ) {
        self.keys = keys
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// Makes an evaluator of the hashes of public keys.
    ///
    /// - Parameters:
    ///   - pins: The hashes, in the form of `PublicKey.init(pin:)`; include that of a backup key.
    ///   - performDefaultValidation: Whether the chain has to be valid, too.
    ///   - validateHost: Whether the certificate has to match the host, too.
    /// - Throws: `PublicKey.InvalidPin` with the first invalid hash.
    public init(
        pins: [String], performDefaultValidation: Bool = true, validateHost: Bool = true
    ) throws(PublicKey.InvalidPin) {
        self.init(
            keys: try pins.map { pin throws(PublicKey.InvalidPin) in try PublicKey(pin: pin) },
            performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }

    /// Checks the chain and the host, then compares the keys.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    /// - Throws: `SessionError.serverTrustEvaluationFailed(reason:)` for the first fault.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !keys.isEmpty else {
            throw SessionError.serverTrustEvaluationFailed(reason: .noPublicKeysFound)
        }
        if performDefaultValidation { try trust.performDefaultValidation(forHost: host) }
        if validateHost { try trust.performValidation(forHost: host) }
        let shown = trust.publicKeys
        guard shown.allSatisfy({ !keys.contains($0) }) else { return }
        throw SessionError.serverTrustEvaluationFailed(
            reason: .publicKeyPinningFailed(
                host: host, trust: trust, pinnedKeys: keys, serverKeys: shown))
    }

    /// Whether the server's certificate matches the host, or its own key is pinned.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    public func verifies(_ trust: ServerTrust, forHost host: String) -> Bool {
        trust.hostFault(for: host) == nil
            || (trust.sentCertificates.first?.publicKey).map(keys.contains) == true
    }
}

extension ServerTrustEvaluating where Self == PublicKeysTrustEvaluator {
    /// Refuses every server, because there are no keys to compare with.
    public static var publicKeys: PublicKeysTrustEvaluator { PublicKeysTrustEvaluator() }

    /// Trusts servers whose chain contains one of several public keys; see
    /// ``PublicKeysTrustEvaluator/init(keys:performDefaultValidation:validateHost:)``.
    ///
    /// - Parameters:
    ///   - keys: Keys of the server or of authorities. Include the key of a backup certificate, so
    ///     that a lost key does not lock clients out. Keys are not searched for in a bundle: an
    ///     empty list refuses every server.
    ///   - performDefaultValidation: Whether the chain has to be valid, too.
    ///   - validateHost: Whether the certificate has to match the host, too.
    public static func publicKeys(
        keys: [PublicKey] = [], performDefaultValidation: Bool = true, validateHost: Bool = true
    ) -> PublicKeysTrustEvaluator {
        PublicKeysTrustEvaluator(
            keys: keys, performDefaultValidation: performDefaultValidation,
            validateHost: validateHost)
    }

    /// Trusts servers whose chain contains a public key with one of several hashes; see
    /// ``PublicKeysTrustEvaluator/init(pins:performDefaultValidation:validateHost:)``.
    ///
    /// - Parameters:
    ///   - pins: The hashes, in the form of `PublicKey.init(pin:)`; include that of a backup key.
    ///   - performDefaultValidation: Whether the chain has to be valid, too.
    ///   - validateHost: Whether the certificate has to match the host, too.
    /// - Throws: `PublicKey.InvalidPin` with the first invalid hash.
    public static func publicKeys(
        pins: [String], performDefaultValidation: Bool = true, validateHost: Bool = true
    ) throws(PublicKey.InvalidPin) -> PublicKeysTrustEvaluator {
        try PublicKeysTrustEvaluator(
            pins: pins, performDefaultValidation: performDefaultValidation,
            validateHost: validateHost)
    }
}
