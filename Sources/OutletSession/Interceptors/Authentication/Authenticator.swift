public import OutletHTTP
import OutletTransport

/// A credential for requests, such as a token that expires.
public protocol AuthenticationCredential {
    /// Whether the credential must be refreshed before it is used, for example shortly before it
    /// expires.
    ///
    /// Thread: any. Read for every request, so it should be fast.
    var requiresRefresh: Bool { get }
}

/// Applies a credential to requests, detects that a server refused it, and refreshes it.
public protocol Authenticator<Credential>: AnyObject, Sendable {
    /// The type of the credential.
    associatedtype Credential: AuthenticationCredential & Sendable

    /// Applies the credential to a request.
    ///
    /// - Parameters:
    ///   - credential: The current credential.
    ///   - urlRequest: The request to change.
    ///
    /// Thread: the session's request queue, or a queue of the interceptor after a refresh.
    func apply(_ credential: Credential, to urlRequest: inout HTTPRequest)

    /// Passes a new credential, or an error, to `completion`.
    ///
    /// Called once, however many requests wait for it. Requests sent here must not use the same
    /// interceptor: they would wait for this refresh, which waits for them, until its time limit.
    ///
    /// - Parameters:
    ///   - credential: The current credential.
    ///   - session: The session of the request that needs a new one.
    ///   - completion: To be called exactly once, on any thread; further calls are ignored.
    ///
    /// Thread: a queue of the interceptor, for refreshes only; the next refresh waits until this returns,
    /// and the time limit of that one does not. Implement either this or the `async` form.
    func refresh(
        _ credential: Credential, for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void)

    /// Returns a new credential.
    ///
    /// The default implementation of the callback form calls it.
    ///
    /// - Parameters:
    ///   - credential: The current credential.
    ///   - session: The session of the request that needs a new one.
    /// - Throws: Any error; the waiting requests fail with it.
    func refresh(_ credential: Credential, for session: Session) async throws -> Credential

    /// Returns whether a request failed because of its credential, for example with a 401.
    ///
    /// - Parameters:
    ///   - urlRequest: The request that was sent.
    ///   - response: Its response.
    ///   - error: The error of the request.
    ///
    /// Thread: as for ``RequestRetrier/retry(_:for:dueTo:completion:)``.
    func didRequest(
        _ urlRequest: HTTPRequest, with response: HTTPResponse,
        failDueToAuthenticationError error: any Error
    ) -> Bool

    /// Returns whether a request was sent with a credential; if not, it is retried with that
    /// credential, without a refresh.
    ///
    /// - Parameters:
    ///   - urlRequest: The request that was sent.
    ///   - credential: The current credential.
    ///
    /// Thread: as for ``RequestRetrier/retry(_:for:dueTo:completion:)``.
    func isRequest(_ urlRequest: HTTPRequest, authenticatedWith credential: Credential) -> Bool
}

extension Authenticator {
    /// Calls the `async` form in a new task.
    ///
    /// - Parameters:
    ///   - credential: The current credential.
    ///   - session: The session of the request that needs a new one.
    ///   - completion: Receives the result, once.
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

    /// Throws an error, because neither form is implemented.
    ///
    /// - Parameters:
    ///   - credential: The current credential.
    ///   - session: The session of the request that needs a new one.
    /// - Throws: ``MissingRefreshError``.
    public func refresh(
        _ credential: Credential, for session: Session
    ) async throws -> Credential {
        throw MissingRefreshError(authenticator: "\(type(of: self))")
    }
}

/// The error of an authenticator that implements neither form of `refresh`.
public struct MissingRefreshError: Error, Equatable, CustomStringConvertible {
    /// The name of the authenticator's type.
    public let authenticator: String

    /// The authenticator, and what is missing.
    public var description: String {
        "\(authenticator): cannot refresh: implements neither form of refresh(_:for:)"
    }
}

/// The reason why a request could not be authenticated.
public enum AuthenticationError: Error, Equatable, Sendable {
    /// The interceptor has no credential.
    case missingCredential
    /// The limit of refreshes is reached (``AuthenticationInterceptor/RefreshWindow``).
    case excessiveRefresh
}

extension AuthenticationError: CustomStringConvertible {
    /// The reason, and what to do.
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
