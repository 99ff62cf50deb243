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
}

/// Records its calls.
private final class Judge: OutcomeMiddleware {
    private final class Object: Sendable {}

    let calls = Recorder<String>()
    var needsLifetime: Bool { true }

    func begin(_ request: inout HTTPRequest, of lifetime: RequestLifetime) {
        calls.record("begin")
        _ = lifetime.object(of: self, make: { Object() }) { [calls] _ in calls.record("over") }
    }

    func end(
        _ result: CallResult, of request: HTTPRequest, isCancelled: Bool,
        completion: @escaping @Sendable (CallResult) -> Void
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
