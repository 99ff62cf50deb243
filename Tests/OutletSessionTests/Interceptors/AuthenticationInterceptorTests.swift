import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Synchronization
import Testing

private struct Token: AuthenticationCredential, Equatable {
    var value: Int
    var requiresRefresh = false
}

/// Issues tokens, and holds the one that the server accepts.
private final class Tokens: Authenticator {
    /// Completes a refresh; gets the valid token's number and the completion.
    typealias Answer =
        @Sendable (
            Int, @escaping @Sendable (Result<Token, any Error>) -> Void
        ) -> Void

    let valid = Atomic(1)
    let refreshes = Atomic(0)
    let held = Recorder<@Sendable (Result<Token, any Error>) -> Void>()
    private let answer: Answer?

    init(answer: Answer? = { next, completion in completion(.success(Token(value: next))) }) {
        self.answer = answer
    }

    func apply(_ credential: Token, to urlRequest: inout HTTPRequest) {
        urlRequest.headers.add(.authorization(bearerToken: "\(credential.value)"))
    }

    func refresh(
        _ credential: Token, for session: Session,
        completion: @escaping @Sendable (Result<Token, any Error>) -> Void
    ) {
        refreshes.add(1, ordering: .relaxed)
        guard let answer else {
            held.record(completion)
            return
        }
        answer(valid.load(ordering: .relaxed), completion)
    }

    func didRequest(
        _ urlRequest: HTTPRequest, with response: HTTPResponse,
        failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }

    func isRequest(_ urlRequest: HTTPRequest, authenticatedWith credential: Token) -> Bool {
        urlRequest.headers["Authorization"] == "Bearer \(credential.value)"
    }

    /// A server that accepts only the valid token.
    var transport: StubTransport {
        StubTransport { [self] job in
            job.request.headers["Authorization"] == "Bearer \(valid.load(ordering: .relaxed))"
                ? .text("welcome") : .status(401)
        }
    }
}

/// Implements only the `async` form of `refresh`.
private final class AsyncTokens: Authenticator {
    func apply(_ credential: Token, to urlRequest: inout HTTPRequest) {
        urlRequest.headers.add(.authorization(bearerToken: "\(credential.value)"))
    }
    func refresh(_ credential: Token, for session: Session) async throws -> Token {
        Token(value: credential.value + 1)
    }
    func didRequest(
        _ urlRequest: HTTPRequest, with response: HTTPResponse,
        failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }
    func isRequest(_ urlRequest: HTTPRequest, authenticatedWith credential: Token) -> Bool { true }
}

@Suite struct AuthenticationInterceptorTests {
    let address = "http://example.test/private"

    @Test func `a 401 of another origin, which got no credential, refreshes nothing`() async {
        let tokens = Tokens()
        let transport = StubTransport { job in
            job.request.url?.host() == "example.test"
                ? StubAnswer(statusCode: 302, headers: ["Location": "http://other.test/"])
                : .status(401)
        }
        let interceptor = AuthenticationInterceptor(
            authenticator: tokens, credential: Token(value: 1))
        let session = Session(transport: transport, interceptor: interceptor)
        let response = await session.request(address).validate().serializingData().response
        #expect(response.error?.responseCode == 401)
        #expect(tokens.refreshes.load(ordering: .relaxed) == 0)
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer 1", nil])
    }

    @Test func `a valid credential is applied to the request`() async {
        let tokens = Tokens()
        let interceptor = AuthenticationInterceptor(
            authenticator: tokens, credential: Token(value: 1))
        let session = Session(transport: tokens.transport, interceptor: interceptor)
        let response = await session.request(address).validate().serializingString().response
        #expect(response.value == "welcome")
        #expect(tokens.refreshes.load(ordering: .relaxed) == 0)
    }

    @Test func `a refresh that blocks is limited, and a new credential goes on without it`()
        async throws
    {
        let gate = try Gate()
        let begun = Recorder<Int>()
        let tokens = Tokens { _, _ in
            begun.record(1)
            #expect(gate.isOpen(within: .seconds(60)))
        }
        defer { gate.open() }
        for limit in [0.01, 0] {
            let interceptor = AuthenticationInterceptor(
                authenticator: tokens, credential: Token(value: 1, requiresRefresh: true),
                refreshTimeout: limit)
            let session = Session(transport: tokens.transport, interceptor: interceptor)
            let seen = Recorder<DataResponse<String, SessionError>>()
            session.request(address).responseString { seen.record($0) }
            try await begun.values(limit > 0 ? 1 : 2)
            if limit == 0 { interceptor.credential = Token(value: 1) }
            let response = try await seen.values(1)[0]
            let late = response.error?.underlyingError as? InterceptorTimeoutError
            #expect(limit == 0 ? response.value == "welcome" : late?.role == .authenticator)
        }
    }

    @Test func `without a credential nothing is sent`() async {
        let tokens = Tokens()
        let transport = tokens.transport
        let session = Session(
            transport: transport, interceptor: AuthenticationInterceptor(authenticator: tokens))
        let response = await session.request(address).serializingString().response
        #expect(response.error?.isRequestRetryError == false)
        #expect(response.error?.underlyingError as? AuthenticationError == .missingCredential)
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: [true, false])
    func `many concurrent refusals cause one refresh, and each request ends once`(
        isProactive: Bool
    ) async throws {
        let queue = DispatchQueue(label: "answers")
        let tokens = Tokens { next, completion in
            queue.asyncAfter(deadline: .now() + 0.02) { completion(.success(Token(value: next))) }
        }
        tokens.valid.store(2, ordering: .relaxed)
        let interceptor = AuthenticationInterceptor(
            authenticator: tokens, credential: Token(value: 1, requiresRefresh: isProactive))
        let transport = tokens.transport
        let session = Session(transport: transport, interceptor: interceptor)
        let seen = Recorder<String?>()
        let count = 300
        try await concurrently(count) { _ in
            session.request(address).validate().responseString { seen.record($0.value) }
        }
        let values = try await seen.values(count)
        #expect(values.allSatisfy { $0 == "welcome" })
        #expect(seen.values.count == count)
        #expect(tokens.refreshes.load(ordering: .relaxed) == 1)
        #expect(interceptor.credential == Token(value: 2))
        if isProactive { #expect(transport.requests.count == count) }
    }

    @Test func `requests of several sessions share one refresh`() async throws {
        let tokens = Tokens(answer: nil)
        tokens.valid.store(2, ordering: .relaxed)
        let interceptor = AuthenticationInterceptor(
            authenticator: tokens, credential: Token(value: 1))
        let sessions = (0..<3).map { _ in
            Session(transport: tokens.transport, interceptor: interceptor)
        }
        let seen = Recorder<String?>()
        for session in sessions {
            session.request(address).validate().responseString { seen.record($0.value) }
        }
        let held = try await tokens.held.values(1)
        held[0](.success(Token(value: 2)))
        held[0](.failure(Refused()))
        #expect(try await seen.values(3).allSatisfy { $0 == "welcome" })
        #expect(tokens.refreshes.load(ordering: .relaxed) == 1)
    }

    @Test func `a failed refresh fails all waiting requests and is not repeated for each`()
        async throws
    {
        let tokens = Tokens(answer: nil)
        tokens.valid.store(2, ordering: .relaxed)
        let interceptor = AuthenticationInterceptor(
            authenticator: tokens, credential: Token(value: 1, requiresRefresh: true))
        let session = Session(transport: tokens.transport, interceptor: interceptor)
        let seen = Recorder<SessionError?>()
        for _ in 0..<20 { session.request(address).responseString { seen.record($0.error) } }
        // All requests must be waiting before the failure: a later one would start another refresh.
        await withCheckedContinuation { continuation in
            session.requestQueue.async { continuation.resume() }
        }
        try await tokens.held.values(1)[0](.failure(Refused()))
        let errors = try await seen.values(20)
        #expect(errors.allSatisfy { $0 != nil })
        #expect(errors.first??.transferError == nil)
        #expect(tokens.refreshes.load(ordering: .relaxed) == 1)
    }

    @Test func `a refresh that never completes times out, and later requests can succeed`()
        async throws
    {
        let tokens = Tokens(answer: nil)
        tokens.valid.store(2, ordering: .relaxed)
        let interceptor = AuthenticationInterceptor(
            authenticator: tokens, credential: Token(value: 1), refreshTimeout: 0.05)
        let session = Session(transport: tokens.transport, interceptor: interceptor)
        let response = await session.request(address).validate()
            .serializingUnserialized().response
        let timeout = response.error?.underlyingError as? InterceptorTimeoutError
        #expect(timeout?.role == .authenticator)
        #expect(timeout?.interceptor == "Tokens")
        interceptor.credential = Token(value: 2)
        #expect(
            await session.request(address).validate().serializingString().response.value
                == "welcome")
    }

    @Test func `a server that refuses every credential causes refreshes only up to the limit`()
        async
    {
        let tokens = Tokens()
        let interceptor = AuthenticationInterceptor(
            authenticator: tokens, credential: Token(value: 1),
            refreshWindow: .init(interval: 3600, maximumAttempts: 3))
        let session = Session(
            transport: StubTransport { _ in .status(401) }, interceptor: interceptor)
        let response = await session.request(address).validate()
            .serializingUnserialized().response
        #expect(response.error?.isRequestRetryError == true)
        #expect(response.error?.underlyingError as? AuthenticationError == .excessiveRefresh)
        #expect(tokens.refreshes.load(ordering: .relaxed) == 3)
    }

    @Test func `a refused refresh is the error of the request, with the refusal as original`()
        async throws
    {
        let tokens = Tokens { _, completion in completion(.failure(Refused())) }
        let session = Session(
            transport: StubTransport { _ in .status(401) },
            interceptor: AuthenticationInterceptor(
                authenticator: tokens, credential: Token(value: 1)))
        let response = await session.request(address).validate().serializingString().response
        guard case .requestRetryFailed(let reason, let original)? = response.error else {
            Issue.record("\(String(describing: response.error))")
            return
        }
        #expect(reason is Refused)
        #expect((original as? SessionError)?.isResponseValidationError == true)
        #expect(tokens.refreshes.load(ordering: .relaxed) == 1)
    }

    @Test(arguments: [true, false])
    func `a released session ends requests that wait for a refresh`(isProactive: Bool)
        async throws
    {
        let tokens = Tokens(answer: nil)
        tokens.valid.store(2, ordering: .relaxed)
        let interceptor = AuthenticationInterceptor(
            authenticator: tokens, credential: Token(value: 1, requiresRefresh: isProactive))
        let ended = Recorder<SessionError?>()
        do {
            let session = Session(transport: tokens.transport, interceptor: interceptor)
            session.request(address).validate().response { ended.record($0.error) }
            try await tokens.held.values(1)
            withExtendedLifetime(session) {}
        }
        let error = try await ended.values(1)[0]
        #expect(error?.isSessionDeinitializedError == isProactive)
        #expect(error?.responseCode == (isProactive ? nil : 401))
        tokens.held.values[0](.success(Token(value: 2)))
        // The refresh began for that session, but its credential is of use to others.
        let other = Session(transport: tokens.transport, interceptor: interceptor)
        let response = await other.request(address).validate().serializingString().response
        #expect(response.value == "welcome")
    }

    @Test func `a late result of an older refresh does not replace the newer credential`()
        async throws
    {
        let tokens = Tokens(answer: nil)
        tokens.valid.store(3, ordering: .relaxed)
        let interceptor = AuthenticationInterceptor(
            authenticator: tokens, credential: Token(value: 1, requiresRefresh: true))
        let transport = tokens.transport
        let session = Session(transport: transport, interceptor: interceptor)
        let seen = Recorder<String?>()
        session.request(address).validate().responseString { seen.record($0.value) }
        let older = try await tokens.held.values(1)[0]
        // The new credential makes the active refresh void, and needs a refresh, too.
        interceptor.credential = Token(value: 2, requiresRefresh: true)
        let newer = try await tokens.held.values(2)[1]
        older(.success(Token(value: 1)))
        #expect(interceptor.credential == Token(value: 2, requiresRefresh: true))
        #expect(seen.values.isEmpty && transport.requests.isEmpty)
        newer(.success(Token(value: 3)))
        #expect(try await seen.values(1) == ["welcome"])
        #expect(interceptor.credential == Token(value: 3))
        #expect(tokens.refreshes.load(ordering: .relaxed) == 2)
    }

    @Test func `the interceptor does not handle other failures`() async {
        let tokens = Tokens()
        let interceptor = AuthenticationInterceptor(
            authenticator: tokens, credential: Token(value: 1))
        let session = Session(
            transport: StubTransport { _ in .status(500) }, interceptor: interceptor)
        let response = await session.request(address).validate()
            .serializingUnserialized().response
        #expect(response.error?.responseCode == 500)
        #expect(tokens.refreshes.load(ordering: .relaxed) == 0)
    }

    @Test func `an authenticator can implement only the async refresh`() async {
        let transport = StubTransport { job in
            job.request.headers["Authorization"] == "Bearer 2" ? .text("welcome") : .status(401)
        }
        let session = Session(
            transport: transport,
            interceptor: AuthenticationInterceptor(
                authenticator: AsyncTokens(), credential: Token(value: 1)))
        let response = await session.request(address).validate().serializingString().response
        #expect(response.value == "welcome")
    }

    @Test func `cancelling the request that began a refresh does not cancel the refresh`()
        async throws
    {
        let tokens = Tokens(answer: nil)
        tokens.valid.store(2, ordering: .relaxed)
        let interceptor = AuthenticationInterceptor(
            authenticator: tokens, credential: Token(value: 1, requiresRefresh: true))
        let session = Session(transport: tokens.transport, interceptor: interceptor)
        let cancelled = Recorder<SessionError?>()
        let welcomed = Recorder<String?>()
        let first = session.request(address).responseString { cancelled.record($0.error) }
        let held = try await tokens.held.values(1)
        session.request(address).validate().responseString { welcomed.record($0.value) }
        first.cancel()
        #expect(
            try await cancelled.values(1).first??.isExplicitlyCancelledError == true)
        held[0](.success(Token(value: 2)))
        #expect(try await welcomed.values(1) == ["welcome"])
        #expect(cancelled.values.count == 1)
    }

    @Test func `a request refused with an older credential is retried without a refresh`()
        async throws
    {
        let tokens = Tokens()
        let gate = StubGate()
        let sent = Recorder<String?>()
        let transport = StubTransport { job in
            sent.record(job.request.headers["Authorization"])
            return sent.values.count == 1
                ? .status(401).waiting(atByte: 0, for: gate) : .text("welcome")
        }
        let interceptor = AuthenticationInterceptor(
            authenticator: tokens, credential: Token(value: 1))
        let session = Session(transport: transport, interceptor: interceptor)
        let task = session.request(address).validate().serializingString()
        try await sent.values(1)
        interceptor.credential = Token(value: 2)
        gate.open()
        #expect(await task.response.value == "welcome")
        #expect(sent.values == ["Bearer 1", "Bearer 2"])
        #expect(tokens.refreshes.load(ordering: .relaxed) == 0)
        withExtendedLifetime(session) {}
    }
}
