/// How the revocation of certificates is checked.
public struct RevocationOptions: OptionSet, Sendable {
    /// Checks the certificate revocation lists given to the evaluator.
    public static let crl = RevocationOptions(rawValue: 1 << 1)
    /// Has no effect: revocation data is never fetched over the network.
    public static let networkAccessDisabled = RevocationOptions(rawValue: 1 << 4)
    /// Checks stapled OCSP responses.
    public static let ocsp = RevocationOptions(rawValue: 1 << 0)
    /// Checks OCSP only if the revocation lists do not say that the certificate is good.
    public static let preferCRL = RevocationOptions(rawValue: 1 << 2)
    /// Refuses a certificate unless a list or a response says that it is good.
    public static let requirePositiveResponse = RevocationOptions(rawValue: 1 << 3)
    /// Checks revocation lists and stapled OCSP responses.
    public static let any: RevocationOptions = [.crl, .ocsp]

    /// The options as a bit set.
    public let rawValue: UInt

    /// Makes options from a bit set.
    ///
    /// - Parameter rawValue: The bits of the options.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }
}
