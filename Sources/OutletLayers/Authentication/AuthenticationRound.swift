import FoundationEssentials
import OutletHTTP
import OutletTransport
import Synchronization

/// A stored credential that a request is sent with, and why.
///
/// A class, so that the many requests without one carry a pointer only.
final class AuthenticationRound: Sendable {
    let space: ProtectionSpace
    /// With the one scheme that is used.
    let credential: Credential
    /// How often this attempt was challenged before.
    let challenges: Int
    /// Whether it is the request's own, and to be stored when it was let in.
    let isOwn: Bool
    /// The challenge that it answers; `nil` before the first challenge.
    let challenge: AuthenticationChallenge?
    /// Requests that have answered the challenge.
    private let answers = Atomic<Int>(0)

    /// Challenges of one attempt that are answered; servers that change realms for ever end there.
    static let limit = 4

    /// The challenge that it answers with one more request; `nil` before the first challenge.
    func nextChallenge() -> AuthenticationChallenge? {
        guard var challenge else { return nil }
        challenge.nonceCount = answers.wrappingAdd(1, ordering: .relaxed).newValue
        return challenge
    }

    /// What answers a response; `nil` when it asks for nothing that is stored, or what is stored
    /// was refused.
    ///
    /// - Parameters:
    ///   - response: The response, or its head.
    ///   - schemes: Those that can be answered.
    ///   - former: What the request that got this response was sent with.
    ///   - find: Finds the credential for a space; it is the request's own if `isOwn`.
    convenience init?(
        answering response: HTTPResponse, among schemes: [AuthenticationScheme],
        after former: AuthenticationRound?, isOwn: Bool = false,
        find: (ProtectionSpace) -> Credential?
    ) {
        guard response.statusCode == 401 else { return nil }
        self.init(
            answering: Self.offers(of: response, among: schemes), after: former, isOwn: isOwn,
            find: find)
    }

    /// What answers a proxy's response; `nil` as for a server's.
    convenience init?(
        answering response: HTTPResponse, ofProxy proxy: URL, from storage: CredentialStorage,
        after former: AuthenticationRound?
    ) {
        guard response.statusCode == 407 else { return nil }
        let offers = Self.offers(
            of: response, among: AuthenticationScheme.allCases, proxy: proxy)
        self.init(answering: offers, after: former, isOwn: false) { storage.answer(to: $0) }
    }

    private convenience init?(
        answering offers: [(AuthenticationChallenge, AuthenticationScheme)],
        after former: AuthenticationRound?, isOwn: Bool, find: (ProtectionSpace) -> Credential?
    ) {
        let challenges = (former?.challenges ?? 0) + 1
        guard challenges < Self.limit else { return nil }
        for (challenge, scheme) in offers {
            let space = challenge.protectionSpace
            guard var credential = find(space), credential.fits(scheme) else { continue }
            credential.scheme = scheme
            let isRefused = space == former?.space && credential == former?.credential
            guard !isRefused || challenge.isStale else { return nil }
            self.init(
                space: space, credential: credential, challenges: challenges,
                isOwn: isOwn && credential.persistence == .forSession, challenge: challenge)
            return
        }
        return nil
    }

    /// What a request takes along because its address is known to want it.
    convenience init?(
        for url: URL?, in paths: ProtectedPaths, from storage: CredentialStorage
    ) {
        guard let url, let space = paths.space(for: url),
            let scheme = AuthenticationScheme(rawValue: space.authenticationMethod),
            var credential = storage.answer(to: space)
        else { return nil }
        credential.scheme = scheme
        self.init(space: space, credential: credential, challenges: 0)
    }

    /// What a transport has answered a challenge with; `nil` when it offers nothing that fits.
    ///
    /// It counts as any other answer: the server may refuse it, too.
    convenience init?(
        answering challenge: HTTPResponse, with credential: Credential,
        after former: AuthenticationRound?
    ) {
        let offers = Self.offers(of: challenge, among: AuthenticationScheme.allCases)
        guard let offer = offers.first(where: { credential.fits($0.1) }) else { return nil }
        var credential = credential
        credential.scheme = offer.1
        self.init(
            space: offer.0.protectionSpace, credential: credential,
            challenges: (former?.challenges ?? 0) + 1, isOwn: true)
    }

    /// What a server offers, the safest first, as libcurl orders it.
    private static func offers(
        of response: HTTPResponse, among schemes: [AuthenticationScheme], proxy: URL? = nil
    ) -> [(AuthenticationChallenge, AuthenticationScheme)] {
        let challenges = AuthenticationChallenge.challenges(in: response, proxy: proxy)
        return schemes.compactMap { scheme in
            challenges.first {
                $0.protectionSpace.authenticationMethod == scheme.rawValue && $0.isAnswerable
            }.map { ($0, scheme) }
        }
    }

    private init(
        space: ProtectionSpace, credential: Credential, challenges: Int, isOwn: Bool = false,
        challenge: AuthenticationChallenge? = nil
    ) {
        self.space = space
        self.credential = credential
        self.challenges = challenges
        self.isOwn = isOwn
        self.challenge = challenge
    }
}

extension AuthenticationChallenge {
    /// Whether there is an answer to it: a Digest challenge has a nonce, and asks for what is known
    /// (RFC 7616 §3.3).
    fileprivate var isAnswerable: Bool {
        guard protectionSpace.authenticationMethod == AuthenticationScheme.digest.rawValue else {
            return true
        }
        let algorithms = ["md5", "sha-256", "sha-512-256"].flatMap { [$0, "\($0)-sess"] }
        let offered = (parameters["qop"] ?? "").listItems()
        return parameters["nonce"]?.isEmpty == false
            && algorithms.contains { $0.equalsIgnoringCase(parameters["algorithm"] ?? "MD5") }
            && (offered.isEmpty
                || offered.contains {
                    $0.equalsIgnoringCase("auth") || $0.equalsIgnoringCase("auth-int")
                })
    }

    /// Whether only the nonce was too old, not the credential wrong (RFC 7616 §3.3).
    fileprivate var isStale: Bool { parameters["stale"]?.equalsIgnoringCase("true") == true }
}

extension Credential {
    /// Whether it is of use with a scheme: a name and a password are neither a token nor a ticket.
    fileprivate func fits(_ scheme: AuthenticationScheme) -> Bool {
        guard let own = self.scheme else { return scheme != .bearer && scheme != .negotiate }
        return own == scheme
    }
}
