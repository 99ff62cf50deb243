import OutletTransport

/// What is known about a credential and who waits for a new one, as a value: no lock, no clock.
///
/// `Adapt` and `Retry` are whatever the owner needs to go on with a waiting request.
struct AuthenticationMachine<Credential: Sendable, Adapt: Sendable, Retry: Sendable>: Sendable {
    /// How often a credential may be refreshed; see ``AuthenticationInterceptor/RefreshWindow``.
    struct Limit: Equatable, Sendable {
        let interval: Double
        let attempts: Int
    }

    private enum Phase: Sendable {
        case idle
        /// Before its end was reached (`isProactive`), or after a server refused it.
        case refreshing(id: UInt64, isProactive: Bool)
        /// Retries fail with this error until a credential is set or a request tries again.
        case failed(any Error)
    }

    /// What to do for a request that is about to be sent.
    enum AdaptAction: Sendable {
        case apply(Credential)
        case fail(any Error)
        /// It waits; the refresh, if one is given, must be started.
        case wait(Refresh?)
        /// Another credential was set since the caller looked: look again.
        case lookAgain
        /// The refresh that was due is one too many; who waited gets the error.
        case settle(Settlement)
    }

    /// What to do for a request that a server refused.
    enum RetryAction: Sendable {
        case retry
        case fail(any Error)
        /// It waits; the refresh, if one is given, must be started.
        case wait(Refresh?)
        /// The refresh that was due is one too many; who waited gets the error.
        case settle(Settlement)
    }

    /// A refresh to start; its result is to be reported under its id.
    struct Refresh: Sendable {
        let id: UInt64
        let credential: Credential
    }

    /// Who waited, and why they waited in vain, if they did.
    struct Settlement: Sendable {
        let adapts: [Adapt]
        let retries: [Retry]
        let error: (any Error)?
    }

    private(set) var credential: Credential?
    /// Counts credentials.
    private(set) var version: UInt64 = 0
    private var phase = Phase.idle
    private var adapts: [Adapt] = []
    private var retries: [Retry] = []
    private var lastRefresh: UInt64 = 0
    /// When refreshes began, those within the window only.
    private(set) var refreshTimes: [Double] = []
    private let limit: Limit?

    init(credential: Credential?, limit: Limit?) {
        self.credential = credential
        self.limit = limit
    }

    /// A credential set by the program: waiting requests use it, and the result of a refresh under way is ignored.
    mutating func set(_ credential: Credential?) -> Settlement {
        self.credential = credential
        version += 1
        phase = .idle
        return settle(nil)
    }

    /// A request is about to be sent.
    ///
    /// - Parameters:
    ///   - waiter: Kept if the request must wait.
    ///   - requiresRefresh: What the credential of version `seen` says.
    ///   - now: Uptime in seconds.
    mutating func adapt(
        _ waiter: Adapt, seen: UInt64, requiresRefresh: Bool, now: Double
    ) -> AdaptAction {
        if case .refreshing(_, isProactive: true) = phase {
            adapts.append(waiter)
            return .wait(nil)
        }
        guard let credential else { return .fail(AuthenticationError.missingCredential) }
        guard seen == version else { return .lookAgain }
        if case .refreshing = phase { return .apply(credential) }
        guard requiresRefresh else {
            phase = .idle
            return .apply(credential)
        }
        adapts.append(waiter)
        guard let refresh = beginRefresh(of: credential, isProactive: true, now: now) else {
            return .settle(settle(AuthenticationError.excessiveRefresh))
        }
        return .wait(refresh)
    }

    /// A server refused a request that carried the credential of version `seen`.
    mutating func retry(_ waiter: Retry, seen: UInt64, now: Double) -> RetryAction {
        guard let credential else { return .fail(AuthenticationError.missingCredential) }
        guard seen == version else { return .retry }
        switch phase {
        case .failed(let error): return .fail(error)
        case .refreshing:
            retries.append(waiter)
            return .wait(nil)
        case .idle:
            retries.append(waiter)
            guard let refresh = beginRefresh(of: credential, isProactive: false, now: now) else {
                return .settle(settle(AuthenticationError.excessiveRefresh))
            }
            return .wait(refresh)
        }
    }

    /// A refresh has ended.
    ///
    /// - Returns: Who waited; `nil` when that refresh is no longer the one under way.
    mutating func didRefresh(
        id: UInt64, result: Result<Credential, any Error>
    ) -> Settlement? {
        guard case .refreshing(id, _) = phase else { return nil }
        switch result {
        case .success(let credential): return set(credential)
        case .failure(let error):
            phase = .failed(error)
            return settle(error)
        }
    }

    /// `nil` when it is one too many; the machine has failed then.
    private mutating func beginRefresh(
        of credential: Credential, isProactive: Bool, now: Double
    ) -> Refresh? {
        if let limit {
            refreshTimes.removeAll { $0 <= now - limit.interval }
            guard refreshTimes.count < limit.attempts else {
                phase = .failed(AuthenticationError.excessiveRefresh)
                return nil
            }
            refreshTimes.append(now)
        }
        lastRefresh += 1
        phase = .refreshing(id: lastRefresh, isProactive: isProactive)
        return Refresh(id: lastRefresh, credential: credential)
    }

    private mutating func settle(_ error: (any Error)?) -> Settlement {
        defer {
            adapts = []
            retries = []
        }
        return Settlement(adapts: adapts, retries: retries, error: error)
    }
}
