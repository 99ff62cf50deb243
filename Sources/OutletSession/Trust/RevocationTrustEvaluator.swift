public import OutletTransport

/// Checks that no certificate of the chain was revoked.
///
/// Nothing is fetched: the check uses the OCSP response that the server staples and the revocation
/// lists given here.
public struct RevocationTrustEvaluator: ServerTrustEvaluating, Equatable {
    /// The sources to check.
    public typealias Options = RevocationOptions

    private let performDefaultValidation: Bool
    private let validateHost: Bool
    private let options: Options
    private let revocationLists: [RevocationList]

    /// Makes an evaluator.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: Whether the chain has to be valid, too.
    ///   - validateHost: Whether the certificate has to match the host, too.
    ///   - options: The sources to check.
    ///   - revocationLists: The lists to check for each connection; each is read once, and again
    ///     when its file changes.
    public init(
        performDefaultValidation: Bool = true, validateHost: Bool = true, options: Options = .any,
        revocationLists: [RevocationList] = []
    ) {
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
        self.options = options
        self.revocationLists = revocationLists
    }

    /// Whether both perform the same checks with the same lists: files with the same paths, or
    /// equal bytes.
    public static func == (a: RevocationTrustEvaluator, b: RevocationTrustEvaluator) -> Bool {
        a.performDefaultValidation == b.performDefaultValidation
            && a.validateHost == b.validateHost && a.options == b.options
            && a.revocationLists.count == b.revocationLists.count
            && zip(a.revocationLists, b.revocationLists).allSatisfy { $0.isSame(as: $1) }
    }

    /// Checks the chain and the host, then the lists, then the stapled response.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    /// - Throws: `SessionError.serverTrustEvaluationFailed(reason:)` for the first fault.
    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        if performDefaultValidation { try trust.performDefaultValidation(forHost: host) }
        if validateHost { try trust.performValidation(forHost: host) }
        let listed =
            options.contains(.crl)
            ? trust.revocationStatus(lists: revocationLists, usesOCSP: false) : .unknown
        try check(listed, trust, host)
        if listed == .good, options.contains(.preferCRL) { return }
        let stapled =
            options.contains(.ocsp)
            ? trust.revocationStatus(lists: [], usesOCSP: true) : .unknown
        try check(stapled, trust, host)
        guard listed == .unknown, stapled == .unknown,
            options.contains(.requirePositiveResponse)
        else { return }
        let silence = TrustFault(
            code: TrustFault.unspecified,
            reason: "nothing says that the server's certificate was not taken back: the server "
                + "has stapled no OCSP response, and no revocation list of its issuer is at hand",
            certificate: trust.certificates.first)
        try check(.refused(silence), trust, host)
    }

    private func check(_ status: RevocationStatus, _ trust: ServerTrust, _ host: String) throws {
        guard case .refused(let fault) = status else { return }
        throw SessionError.serverTrustEvaluationFailed(
            reason: .revocationCheckFailed(
                output: .init(host, trust, fault), options: options))
    }
}

extension ServerTrustEvaluating where Self == RevocationTrustEvaluator {
    /// Checks the chain, the host and revocation.
    public static var revocationChecking: RevocationTrustEvaluator { RevocationTrustEvaluator() }

    /// Checks revocation; see ``RevocationTrustEvaluator``.
    ///
    /// - Parameters:
    ///   - performDefaultValidation: Whether the chain has to be valid, too.
    ///   - validateHost: Whether the certificate has to match the host, too.
    ///   - options: The sources to check.
    ///   - revocationLists: The lists to check for each connection; each is read once, and again
    ///     when its file changes.
    public static func revocationChecking(
        performDefaultValidation: Bool = true, validateHost: Bool = true,
        options: RevocationTrustEvaluator.Options = .any, revocationLists: [RevocationList] = []
    ) -> RevocationTrustEvaluator {
        RevocationTrustEvaluator(
            performDefaultValidation: performDefaultValidation, validateHost: validateHost,
            options: options, revocationLists: revocationLists)
    }
}
