/// How revocation is checked.
public struct RevocationOptions: OptionSet, Sendable {
    /// Revocation lists count.
    public static let crl = RevocationOptions(rawValue: 1 << 1)
    /// Taken for granted: nothing is ever fetched.
    public static let networkAccessDisabled = RevocationOptions(rawValue: 1 << 4)
    /// Stapled OCSP responses count.
    public static let ocsp = RevocationOptions(rawValue: 1 << 0)
    /// A revocation list that knows the certificate counts, and OCSP only without one.
    public static let preferCRL = RevocationOptions(rawValue: 1 << 2)
    /// Somebody has to say that the certificate is good; silence is a refusal.
    public static let requirePositiveResponse = RevocationOptions(rawValue: 1 << 3)
    /// Both lists and stapled responses count.
    public static let any: RevocationOptions = [.crl, .ocsp]

    /// The bits.
    public let rawValue: UInt

    /// Makes options of bits.
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }
}
