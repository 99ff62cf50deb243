import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Finishes transfers before `start(_:handler:)` returns, and ignores all calls to its tasks.
private final class UncancellableTransport: Transport {
    private final class UncancellableTask: TransferTask {
        let identifier = TransferIdentifier.next()
        func cancel() {}
        func suspend() {}
        func resume() {}
    }

    let jobs = Recorder<TransferJob>()
    private let willAnswer: @Sendable () -> Void
    private let answer: HTTPResponse

    init(_ answer: HTTPResponse, willAnswer: @escaping @Sendable () -> Void) {
        self.answer = answer
        self.willAnswer = willAnswer
    }

    func start(_ job: TransferJob, handler: any TransferHandler) -> any TransferTask {
        jobs.record(job)
        let task = UncancellableTask()
        let turn = TransportTurn()
        var head = answer
        head.url = job.request.url
        willAnswer()
        _ = handler.transfer(task, didReceive: head, turn: turn)
        handler.transferDidFinish(task, result: TransferResult(response: head), turn: turn)
        turn.end()
        return task
    }

    func shutDown() {}
}

/// Tests requests that are cancelled but receive a response from the transport nevertheless.
@Suite final class UncancellableTransportTests: Sendable {
    private let asked = Recorder<String>()
    private let request = Lock<Request?>(nil)

    /// Cancels a request immediately before its response, and returns the jobs sent.
    private func send(
        _ answer: HTTPResponse, redirectHandler: (any RedirectHandler)? = nil,
        interceptor: (any RequestInterceptor)? = nil
    ) async throws -> [TransferJob] {
        let transport = UncancellableTransport(answer) { [self] in
            request.withLock { $0 }?.cancel()
        }
        let session = Session(
            transport: transport, startRequestsImmediately: false, interceptor: interceptor,
            redirectHandler: redirectHandler)
        let ended = Recorder<SessionError?>()
        let made = session.request("http://a.test/").validate().response { ended.record($0.error) }
        request.withLock { $0 = made }
        made.resume()
        #expect(try await ended.values(1)[0]?.isExplicitlyCancelledError == true)
        request.withLock { $0 = nil }
        withExtendedLifetime(session) {}
        return transport.jobs.values
    }

    private let redirect = HTTPResponse(
        url: nil, statusCode: 302, headers: ["Location": "http://b.test/"])

    @Test func `a cancelled request does not follow a redirect`() async throws {
        #expect(try await send(redirect).count == 1)
    }

    @Test func `a cancelled request does not call the redirect handler`() async throws {
        let handler = Redirector(
            behavior: .modify { [asked] _, next, _ in
                asked.record("redirect")
                return next
            })
        #expect(try await send(redirect, redirectHandler: handler).count == 1)
        #expect(asked.values.isEmpty)
    }

    @Test func `a cancelled request does not call the retrier`() async throws {
        let retrier = Retrier { [asked] _, _, _, completion in
            asked.record("retry")
            completion(.retry)
        }
        let failure = HTTPResponse(url: nil, statusCode: 500)
        #expect(
            try await send(failure, interceptor: Interceptor(adapters: [], retriers: [retrier]))
                .count
                == 1)
        #expect(asked.values.isEmpty)
    }

    private struct Judge: RequestInterceptor, RedirectGuard {
        let asked: Recorder<String>
        var judge: ObjectIdentifier { ObjectIdentifier(asked) }

        func adapt(
            _ request: HTTPRequest, using state: RequestAdapterState,
            completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void
        ) {
            asked.record(request.url?.host() ?? "")
            completion(.success(request))
        }
    }

    @Test func `a cancelled request does not call a redirect guard`() async throws {
        #expect(try await send(redirect, interceptor: Judge(asked: asked)).count == 1)
        #expect(asked.values == ["a.test"])
    }
}
