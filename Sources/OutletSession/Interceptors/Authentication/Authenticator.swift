public import OutletHTTP
import OutletTransport

/// What proves who sends a request, such as a token with an end.
public protocol AuthenticationCredential {
    /// Whether the credential must be refreshed before it is used, such as shortly before its end.
    ///
    /// Thread: any, for every request; be quick.
    var requiresRefresh: Bool { get }
}

/// Knows how a credential is put on requests, refused by a server, and refreshed.
public protocol Authenticator<Credential>: AnyObject, Sendable {
    /// What is put on requests.
    associatedtype Credential: AuthenticationCredential & Sendable

    /// Puts the credential on a request.
    ///
    /// Thread: the session's request queue, or where a refresh has ended.
    func apply(_ credential: Credential, to urlRequest: inout HTTPRequest)

    /// Answers with a new credential, or with why there is none.
    ///
    /// Called once however many requests wait for it. Requests made here must not go through
    /// the same interceptor, or they wait for themselves until the refresh's deadline.
    ///
    /// - Parameters:
    ///   - credential: The credential in use.
    ///   - session: The session of the request that needs a new one.
    ///   - completion: To be called exactly once, at any time from any thread; a second call is
    ///     ignored.
    ///
    /// Thread: a queue of the interceptor's own. Writing this or the `async` form is enough.
    func refresh(
        _ credential: Credential, for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void)

    /// Returns a new credential; used by the callback form unless that is implemented.
    func refresh(_ credential: Credential, for session: Session) async throws -> Credential

    /// Whether a request failed because of its credential, as a 401 says.
    ///
    /// Thread: where the request is being finished.
    func didRequest(
        _ urlRequest: HTTPRequest, with response: HTTPResponse,
        failDueToAuthenticationError error: any Error
    ) -> Bool

    /// Whether that credential was put on the request; if not, the request is tried again with
    /// it, without a refresh.
    ///
    /// Thread: where the request is being finished.
    func isRequest(_ urlRequest: HTTPRequest, authenticatedWith credential: Credential) -> Bool
}

extension Authenticator {
    /// Asks the `async` form, in a task of its own.
    public func refresh(
        _ credential: Credential, for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void
    ) {
        Task {
            do {
                completion(.success(try await refresh(credential, for: session)))
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Fails: neither form was implemented.
    ///
    /// - Throws: ``MissingRefreshError``.
    public func refresh(
        _ credential: Credential, for session: Session
    ) async throws -> Credential {
        throw MissingRefreshError(authenticator: "\(type(of: self))")
    }
}

/// An authenticator implements neither form of `refresh`.
public struct MissingRefreshError: Error, Equatable, CustomStringConvertible {
    /// Its type.
    public let authenticator: String

    /// Who it is, and what to do.
    public var description: String {
        "\(authenticator): cannot refresh: implements neither form of refresh(_:for:)"
    }
}

/// Why a request could not be authenticated.
public enum AuthenticationError: Error, Equatable, Sendable {
    /// The interceptor has no credential.
    case missingCredential
    /// There were too many refreshes in too short a time.
    case excessiveRefresh
}

extension AuthenticationError: CustomStringConvertible {
    /// What is missing, or was too much.
    public var description: String {
        switch self {
        case .missingCredential:
            "authentication: no credential: set the interceptor's credential, or sign in first"
        case .excessiveRefresh:
            "authentication: too many refreshes: the window's limit is reached"
                + " (the server may refuse every new credential)"
        }
    }
}
