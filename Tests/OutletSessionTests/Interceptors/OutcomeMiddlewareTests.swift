import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests middleware that only sees the outcomes of calls.
@Suite(.timeLimit(.minutes(patience))) struct OutcomeMiddlewareTests {
    private let address = "http://api.test/"

    @Test func `it begins before the attempts, and its objects end with the request`()
        async throws
    {
        let judge = Judge()
        let session = Session(
            transport: StubTransport(answers: [.text("x")]), middleware: [judge])
        #expect(try await session.request(address).serializingString().value == "x")
        #expect(try await judge.calls.values(3) == ["begin", "end", "over"])
    }

    private struct Passing: Middleware {
        func intercept(_ request: HTTPRequest, next: Next) async throws -> CallResponse {
            try await next(request)
        }
    }

    private final class Exchanges: EventMonitor {
        let attempts = Recorder<Int?>()

        func observe(_ event: Event, of request: Request?) {
            guard case .didCompleteExchange(let exchange, _) = event else { return }
            attempts.record(exchange.attempt)
        }
    }

    @Test(arguments: [false, true])
    func `attempts are counted from 1 with middleware, too`(hasMiddleware: Bool) async throws {
        let exchanges = Exchanges()
        let session = Session(
            transport: StubTransport(answers: [.status(503), .text("x")]),
            interceptor: RetryPolicy(exponentialBackoffScale: 0.001),
            middleware: hasMiddleware ? [Passing()] : [], eventMonitors: [exchanges])
        let response = await session.request(address).validate().serializingString().response
        #expect(response.value == "x")
        #expect(try await exchanges.attempts.values(2) == [1, 2])
    }

    @Test func `a request that is cancelled while it is made is neither adapted nor judged`()
        async throws
    {
        let judge = Judge()
        let adapted = Recorder<String>()
        let queue = DispatchQueue(label: "outlet.test.setup")
        let session = Session(
            transport: StubTransport(answers: []), rootQueue: queue, requestQueue: queue,
            interceptor: Adapter { request, _, done in
                adapted.record("adapted")
                done(.success(request))
            }, middleware: [judge])
        let convertible = CancelsRequest()
        let ends = Recorder<SessionError?>()
        let request = session.request(convertible)
        convertible.request.withLock { $0 = request }
        request.response { ends.record($0.error) }
        #expect(try await ends.values(1)[0]?.isExplicitlyCancelledError == true)
        queue.sync {}
        #expect(adapted.values.isEmpty && judge.calls.values.isEmpty)
    }

    @Test func `a late next of a cancelled request begins nothing that never ends`() async throws {
        let judge = Judge()
        let late = Late()
        let session = Session(
            transport: StubTransport(answers: []), middleware: [late, judge])
        let ends = Recorder<SessionError?>()
        let request = session.request(address).response { ends.record($0.error) }
        try await late.begun.values(1)
        request.cancel()
        #expect(try await ends.values(1)[0]?.isExplicitlyCancelledError == true)
        late.goes.record(())
        try await late.failures.values(1)
        #expect(judge.calls.values.isEmpty)
        withExtendedLifetime(session) {}
    }

    @Test(arguments: [true, false])
    func `an outcome that follows replaces the response`(isInnermost: Bool) async throws {
        let slow = SlowJudge()
        let session = Session(
            transport: StubTransport(answers: [.text("x")]),
            middleware: isInnermost ? [slow] : [slow, Judge()])
        let ends = Recorder<DataResponse<String, SessionError>>()
        session.request(address).responseString { ends.record($0) }
        let pending = try await slow.pending.values(1)[0]
        #expect(ends.values.isEmpty)
        let head = HTTPResponse(url: nil, statusCode: 203)
        pending(.success(CallResponse(head: head, body: Data("y".utf8))))
        let end = try await ends.values(1)[0]
        #expect(end.value == "y" && end.response?.statusCode == 203)
        #expect(slow.abandons.values.isEmpty)
        withExtendedLifetime(session) {}
    }

    @Test func `an outcome that follows is abandoned once when the request is cancelled`()
        async throws
    {
        let slow = SlowJudge()
        let session = Session(
            transport: StubTransport(answers: [.text("x")]), middleware: [slow])
        let ends = Recorder<SessionError?>()
        let request = session.request(address).response { ends.record($0.error) }
        let pending = try await slow.pending.values(1)[0]
        request.cancel()
        #expect(try await ends.values(1)[0]?.isExplicitlyCancelledError == true)
        pending(.success(CallResponse(head: HTTPResponse(url: nil, statusCode: 203))))
        #expect(request.response?.statusCode != 203)
        #expect(slow.abandons.count == 1 && ends.count == 1)
    }

    @Test func `the outcome of a call that was cancelled before it was known is begun, too`()
        async throws
    {
        let slow = SlowJudge()
        let held = Recorder<Void>()
        let session = Session(
            transport: StubTransport(answers: []),
            interceptor: Adapter { _, _, _ in held.record(()) }, middleware: [slow])
        let ends = Recorder<SessionError?>()
        let request = session.request(address).response { ends.record($0.error) }
        try await held.values(1)
        request.cancel()
        #expect(try await ends.values(1)[0]?.isExplicitlyCancelledError == true)
        // Nobody waits for it.
        let pending = try await slow.pending.values(1)[0]
        pending(.failure(SessionError.explicitlyCancelled))
        #expect(slow.abandons.values.isEmpty && ends.count == 1)
    }
}

/// Decides about the outcome of a call when a test does.
private final class SlowJudge: OutcomeMiddleware {
    let pending = Recorder<@Sendable (CallResult) -> Void>()
    let abandons = Recorder<Void>()
    let needsOwnTransfers = false
    let judgesOutcomes = true

    func needsLifetime(hasStream: Bool) -> Bool { false }

    func begin(_ request: inout HTTPRequest, of lifetime: RequestLifetime) {}

    func end(
        _ result: CallResult, of request: HTTPRequest, isCancelled: Bool
    ) -> OutcomeDecision {
        .later(
            PendingOutcome { [pending, abandons] completion in
                pending.record(completion)
                return { abandons.record(()) }
            })
    }
}

/// Records its calls.
private final class Judge: OutcomeMiddleware {
    private final class Object: Sendable {}

    let calls = Recorder<String>()
    let needsOwnTransfers = false
    let judgesOutcomes = true

    func needsLifetime(hasStream: Bool) -> Bool { true }

    func begin(_ request: inout HTTPRequest, of lifetime: RequestLifetime) {
        calls.record("begin")
        _ = lifetime.object(of: self, make: { Object() }) { [calls] _ in calls.record("over") }
    }

    func end(
        _ result: CallResult, of request: HTTPRequest, isCancelled: Bool
    ) -> OutcomeDecision {
        calls.record("end")
        return .unchanged
    }
}

/// Calls `next` when it is told to, also after a cancel.
private final class Late: Middleware {
    let begun = Recorder<Void>()
    let goes = Recorder<Void>()
    let failures = Recorder<String>()

    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
        begun.record(())
        // In a task of its own, which is not cancelled with this one.
        _ = try await Task { _ = try await self.goes.values(1) }.value
        do {
            return try await next(request)
        } catch {
            failures.record("\(error)")
            throw error
        }
    }
}

/// Cancels the request that is made of it.
private final class CancelsRequest: URLRequestConvertible {
    let request = Lock<Request?>(nil)

    func asURLRequest() throws -> HTTPRequest {
        let request = request.withLock { $0.take() }
        request?.cancel()
        return HTTPRequest(url: URL(string: "http://api.test/"))
    }
}
