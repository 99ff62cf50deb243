public import OutletTransport

/// Trusts servers whose chain holds one of some public keys, in whatever certificate.
public struct PublicKeysTrustEvaluator: ServerTrustEvaluating, Equatable {
    private let keys: [PublicKey]
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Makes an evaluator.
    ///
    /// - Parameters:
    ///   - keys: Of the server, or of authorities; a backup that is kept elsewhere among them, so that
    ///     a lost key does not lock clients out. No bundle is searched for them: an evaluator without
    ///     any trusts nobody.
    ///   - performDefaultValidation: Whether the chain must be good.
    ///   - validateHost: Whether the certificate must be for the host.
    public init(
        keys: [PublicKey] = [], performDefaultValidation: Bool = true, validateHost: Bool = true
    ) {
        self.keys = keys
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// Makes an evaluator of keys known by their hashes.
    ///
    /// - Parameters:
    ///   - pins: As `PublicKey.init(pin:)` takes them; a backup among them.
    ///   - performDefaultValidation: Whether the chain must be good.
    ///   - validateHost: Whether the certificate must be for the host.
    /// - Throws: `PublicKey.InvalidPin` with the first text that is none.
    public init(
        pins: [String], performDefaultValidation: Bool = true, validateHost: Bool = true
    ) throws(PublicKey.InvalidPin) {
        self.init(
            keys: try pins.map { pin throws(PublicKey.InvalidPin) in try PublicKey(pin: pin) },
            performDefaultValidation: performDefaultValidation, validateHost: validateHost)
    }

    /// Checks chain and host, then looks for the keys.
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

    /// Whether the certificate is for the host, or its key is pinned itself.
    public func verifies(_ trust: ServerTrust, forHost host: String) -> Bool {
        trust.hostFault(for: host) == nil
            || (trust.sentCertificates.first?.publicKey).map(keys.contains) == true
    }
}

extension ServerTrustEvaluating where Self == PublicKeysTrustEvaluator {
    /// Trusts nobody: no keys were given to compare with.
    public static var publicKeys: PublicKeysTrustEvaluator { PublicKeysTrustEvaluator() }

    /// Trusts servers whose chain holds one of some public keys.
    public static func publicKeys(
        keys: [PublicKey] = [], performDefaultValidation: Bool = true, validateHost: Bool = true
    ) -> PublicKeysTrustEvaluator {
        PublicKeysTrustEvaluator(
            keys: keys, performDefaultValidation: performDefaultValidation,
            validateHost: validateHost)
    }

    /// Trusts servers whose chain holds a public key with one of some hashes.
    ///
    /// - Throws: ``PublicKey/InvalidPin`` with the first text that is none.
    public static func publicKeys(
        pins: [String], performDefaultValidation: Bool = true, validateHost: Bool = true
    ) throws(PublicKey.InvalidPin) -> PublicKeysTrustEvaluator {
        try PublicKeysTrustEvaluator(
            pins: pins, performDefaultValidation: performDefaultValidation,
            validateHost: validateHost)
    }
}
