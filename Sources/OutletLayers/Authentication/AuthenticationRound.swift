import FoundationEssentials
import OutletHTTP
import OutletTransport
import Synchronization

/// A credential that a request is sent with, and the challenge that it answers.
///
/// A class, so that the many requests without one contain only a pointer.
final class AuthenticationRound: Sendable {
    let space: ProtectionSpace
    /// The credential; its scheme is the one that is used.
    let credential: Credential
    /// The number of challenges that this attempt has received so far.
    let challenges: Int
    /// Whether it is the request's own credential, to be stored if the server accepts it.
    let isOwn: Bool
    /// The challenge that the credential answers; `nil` if it is sent without one.
    let challenge: AuthenticationChallenge?
    /// The number of requests that have answered the challenge.
    private let answers = Atomic<Int>(0)

    /// The number of challenges at which an attempt gives up, so that it ends if a server changes
    /// realms forever; one less is answered.
    static let limit = 4

    /// Returns the challenge for one more request, with the next nonce count; `nil` if there is
    /// none.
    func nextChallenge() -> AuthenticationChallenge? {
        guard var challenge else { return nil }
        challenge.nonceCount = answers.wrappingAdd(1, ordering: .relaxed).newValue
        return challenge
    }

    /// Chooses the credential that answers a response.
    ///
    /// `nil` if the response requests nothing that can be answered, if the credential was refused,
    /// or if the attempt was challenged too often.
    ///
    /// - Parameters:
    ///   - response: The response, or its head.
    ///   - schemes: The schemes that can be answered, in order of preference.
    ///   - former: The credential that the request of this response was sent with.
    ///   - isOwn: Whether `find` returns the request's own credential.
    ///   - find: Returns the credential for a protection space.
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

    /// Chooses the stored credential that answers a proxy's response; `nil` as for a server.
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

    /// Chooses the stored credential for a URL whose protection space is known; `nil` if there is
    /// none.
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

    /// Records which challenge a transport has answered itself; `nil` if no challenge fits the
    /// credential.
    ///
    /// The server may refuse this answer like any other.
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

    /// Returns the challenges of a response by preference of their schemes, as libcurl orders them.
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
    /// Whether the challenge can be answered.
    ///
    /// A Digest challenge needs a nonce and a known algorithm, and must not demand `auth-int`, a
    /// hash of the body (RFC 7616 §3.3).
    fileprivate var isAnswerable: Bool {
        guard protectionSpace.authenticationMethod == AuthenticationScheme.digest.rawValue else {
            return true
        }
        let algorithms = ["md5", "sha-256", "sha-512-256"].flatMap { [$0, "\($0)-sess"] }
        let offered = (parameters["qop"] ?? "").listItems()
        return parameters["nonce"]?.isEmpty == false
            && algorithms.contains { $0.equalsIgnoringCase(parameters["algorithm"] ?? "MD5") }
            && (offered.isEmpty || offered.contains { $0.equalsIgnoringCase("auth") })
    }

    /// Whether only the nonce was too old, and the credential was not refused (RFC 7616 §3.3).
    fileprivate var isStale: Bool { parameters["stale"]?.equalsIgnoringCase("true") == true }
}

extension Credential {
    /// Whether the credential can be used with a scheme; a user name and password are neither a
    /// token nor a ticket.
    fileprivate func fits(_ scheme: AuthenticationScheme) -> Bool {
        guard let own = self.scheme else { return scheme != .bearer && scheme != .negotiate }
        return own == scheme
    }
}
