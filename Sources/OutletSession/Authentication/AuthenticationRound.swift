import FoundationEssentials
import OutletHTTP

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

    /// Challenges of one attempt that are answered; servers that change realms for ever end there.
    static let limit = 4

    /// What answers a response; `nil` when it asks for nothing that is stored, or what is stored was
    /// refused.
    ///
    /// - Parameters:
    ///   - response: The response, or its head.
    ///   - storage: The credentials.
    ///   - former: What the request that got this response was sent with.
    convenience init?(
        answering response: HTTPResponse, from storage: CredentialStorage,
        after former: AuthenticationRound?
    ) {
        let challenges = (former?.challenges ?? 0) + 1
        guard response.statusCode == 401, challenges < Self.limit else { return nil }
        for (space, scheme) in Self.offers(of: response) {
            guard var credential = storage.answer(to: space), credential.fits(scheme) else {
                continue
            }
            credential.scheme = scheme
            guard space != former?.space || credential != former?.credential else { return nil }
            self.init(space: space, credential: credential, challenges: challenges)
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
    convenience init?(answering challenge: HTTPResponse, with credential: Credential) {
        let offer = Self.offers(of: challenge).first { credential.fits($0.1) }
        guard let offer else { return nil }
        self.init(space: offer.0, credential: credential, challenges: 0, isOwn: true)
    }

    /// What a server offers, the safest first, as libcurl orders it.
    private static func offers(
        of response: HTTPResponse
    ) -> [(ProtectionSpace, AuthenticationScheme)] {
        let spaces = AuthenticationChallenge.challenges(in: response).map(\.protectionSpace)
        return AuthenticationScheme.allCases.compactMap { scheme in
            spaces.first { $0.authenticationMethod == scheme.rawValue }.map { ($0, scheme) }
        }
    }

    private init(
        space: ProtectionSpace, credential: Credential, challenges: Int, isOwn: Bool = false
    ) {
        self.space = space
        self.credential = credential
        self.challenges = challenges
        self.isOwn = isOwn
    }
}

extension Credential {
    /// Whether it is of use with a scheme: a name and a password are neither a token nor a ticket.
    fileprivate func fits(_ scheme: AuthenticationScheme) -> Bool {
        guard let own = self.scheme else { return scheme != .bearer && scheme != .negotiate }
        return own == scheme
    }
}
