import FoundationEssentials
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

/// Each kind of request, cancelled at each stage.
@Suite(.timeLimit(.minutes(patience))) struct CancelMatrixTests {
    @Test(arguments: RequestKind.allCases, CancelStage.allCases)
    func `a cancel at any stage ends the request once`(
        kind: RequestKind, stage: CancelStage
    ) async throws {
        let scene = try await stage.scene(kind)
        let outcome = try await scene.cancel()
        #expect(outcome.error?.isExplicitlyCancelledError == true)
        #expect(scene.ended.fault == nil)
        #expect(scene.request.isCancelled)
    }

    @Test(arguments: RequestKind.allCases)
    func `a cancel during the validation ends the request`(kind: RequestKind) async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "abc"), .again)
        let ended = ExactlyOnce<RequestKind.Outcome>()
        let session = Session.isolated()
        defer { withExtendedLifetime(session) {} }
        let request = kind.request(server.baseURL, by: session)
        let validated = Recorder<Int>()
        let cancel: @Sendable () -> Result<Void, any Error> = { [weak request] in
            validated.record(1)
            request?.cancel()
            return .success(())
        }
        switch request {
        case let request as DataRequest: request.validate { _, _, _ in cancel() }
        case let request as DownloadRequest: request.validate { _, _, _ in cancel() }
        case let request as DataStreamRequest: request.validate { _, _ in cancel() }
        default: break
        }
        RequestKind.handle(request, ended.completion())
        #expect(try await ended.values()[0].error?.isExplicitlyCancelledError == true)
        #expect(ended.fault == nil && validated.count == 1 && request.isCancelled)
    }

    /// Returns the size of the data, and cancels the request meanwhile.
    private final class Canceller: ResponseSerializer, DataStreamSerializer {
        private let request = Lock<Request?>(nil)

        func cancels(_ request: Request?) { self.request.withLock { $0 = request } }

        private func cancel() {
            let request = request.withLock { $0.take() }
            request?.cancel()
        }

        func serialize(
            request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
        ) throws -> Int {
            cancel()
            if let error { throw error }
            return data?.count ?? 0
        }

        func serialize(_ data: Data) throws -> Int {
            cancel()
            return data.count
        }
    }

    @Test(arguments: RequestKind.allCases)
    func `a cancel during the serialization calls each handler once`(
        kind: RequestKind
    ) async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "abc"), .again)
        let ended = ExactlyOnce<SessionError?>()
        let canceller = Canceller()
        let session = Session.isolated()
        defer { withExtendedLifetime(session) {} }
        let request = kind.request(server.baseURL, by: session)
        canceller.cancels(request)
        let (one, two) = (ended.completion(), ended.completion())
        switch request {
        case let request as DataRequest:
            request.response(responseSerializer: canceller) { one($0.error) }
                .response { two($0.error) }
        case let request as DownloadRequest:
            request.response(responseSerializer: canceller) { one($0.error) }
                .response {
                    if let url = $0.fileURL { try? FileManager.default.removeItem(at: url) }
                    two($0.error)
                }
        case let request as DataStreamRequest:
            request.responseStream(using: canceller) { $0.completion.map { one($0.error) } }
                .responseStream { $0.completion.map { two($0.error) } }
        default: break
        }
        for error in try await ended.values() {
            #expect(error == nil || error?.isExplicitlyCancelledError == true)
        }
        #expect(ended.fault == nil)
    }

    @Test(arguments: RequestKind.allCases)
    func `cancelAllRequests ends running, waiting and suspended requests`(kind: RequestKind)
        async throws
    {
        let server = try ScriptedServer.start(.request, .stall)
        let session = Session.isolated { $0.httpMaximumConnectionsPerHost = 3 }
        let ended = ExactlyOnce<RequestKind.Outcome>()
        for number in 0..<60 {
            let request = kind.request("\(server.baseURL)/\(number)", by: session)
            if number % 5 == 0 { request.suspend() }
            RequestKind.handle(request, ended.completion())
        }
        try await server.requests.values(3)
        let cancelled = Once<Void>()
        session.cancelAllRequests { cancelled.set(()) }
        try await cancelled.value()
        let outcomes = try await ended.values()
        #expect(outcomes.allSatisfy { $0.error?.isExplicitlyCancelledError == true })
        #expect(ended.fault == nil && cancelled.callCount == 1)
    }
}
