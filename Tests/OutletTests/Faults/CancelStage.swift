import FoundationEssentials
import Outlet
import OutletTestSupport

/// A stage at which a request is cancelled.
enum CancelStage: String, CaseIterable, Sendable {
    case initialized, settingUp, queued, resolving, connecting, securing, sending, waiting,
        receiving, waitingToRetry, redirected, authenticating

    /// Brings a request of a kind to this stage.
    func scene(_ kind: RequestKind) async throws -> CancelScene {
        switch self {
        case .initialized:
            let server = try ScriptedServer.start(.stall)
            let session = Session.isolated(startRequestsImmediately: false)
            return CancelScene(session, kind.request(server.baseURL, by: session), server)
        case .settingUp: return try await slowAdapter(kind)
        case .queued:
            let server = try ScriptedServer.start(.request, .stall)
            let session = Session.isolated { $0.httpMaximumConnectionsPerHost = 1 }
            let first = kind.request("\(server.baseURL)/first", by: session)
            let ended = ExactlyOnce<RequestKind.Outcome>()
            RequestKind.handle(first, ended.completion())
            try await server.requests.values(1)
            let scene = CancelScene(session, kind.request(server.baseURL, by: session), server)
            try await scene.hasTask()
            scene.after = {
                first.cancel()
                _ = try await ended.values()
            }
            return scene
        case .resolving:
            let names = try SlowNameService(taking: .seconds(60))
            let session = Session.isolated()
            let request = kind.request("http://\(names.hostName)/", by: session)
            let scene = CancelScene(session, request)
            try await names.lookups.values(1)
            scene.after = {
                names.answer()
                try await names.answers.values(1)
            }
            return scene
        case .connecting:
            let port = try FullPort()
            let other = try ScriptedServer.start(.request, .respond())
            let session = Session.isolated()
            let request = kind.request("http://127.0.0.1:\(port.port)/", by: session)
            let scene = CancelScene(session, request)
            try await scene.hasTask()
            // Handled after it on the same thread: when this one has ended, the other one connects.
            _ = try await kind.outcome(other.baseURL, by: session)
            scene.after = { _ = port }
            return scene
        case .securing:
            let server = try ScriptedServer.start(.anything, .stall)
            let session = Session.isolated()
            let url = "https://127.0.0.1:\(server.port)/"
            return try await CancelScene(session, kind.request(url, by: session), server)
                .afterRequests(1)
        case .sending:
            let server = try ScriptedServer.start(.requestHead, .wait(try Gate()))
            let session = Session.isolated()
            let request = kind.request(server.baseURL, by: session, body: Data(count: 16 << 20))
            return try await CancelScene(session, request, server).afterRequests(1)
        case .waiting:
            let server = try ScriptedServer.start(.request, .stall)
            let session = Session.isolated()
            return try await CancelScene(
                session, kind.request(server.baseURL, by: session), server
            ).afterRequests(1)
        case .receiving: return try await halfABody(kind)
        case .waitingToRetry: return try await distantRetry(kind)
        case .redirected:
            return try await second(kind, .respond("302 Found", headers: ["Location: /to"]))
        case .authenticating:
            let challenge = "WWW-Authenticate: Digest realm=\"x\", nonce=\"n\", qop=\"auth\""
            return try await second(kind, .respond("401 Unauthorized", headers: [challenge]))
        }
    }

    private func slowAdapter(_ kind: RequestKind) async throws -> CancelScene {
        let server = try ScriptedServer.start(.request, .stall)
        let held = Recorder<@Sendable () -> Void>()
        let adapter = Adapter { request, _, completion in
            held.record { completion(.success(request)) }
        }
        let session = Session.isolated()
        let request = kind.request(
            server.baseURL, by: session, interceptor: Interceptor(adapters: [adapter]))
        let scene = CancelScene(session, request, server)
        let answer = try await held.values(1)[0]
        scene.after = {
            answer()
            answer()
        }
        return scene
    }

    private func halfABody(_ kind: RequestKind) async throws -> CancelScene {
        let server = try ScriptedServer.start(
            .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), .stall)
        let session = Session.isolated()
        let came = Recorder<TransferProgress>()
        let request = kind.request(server.baseURL, by: session)
        request.downloadProgress { came.record($0) }
        let scene = CancelScene(session, request, server)
        try await came.values(1)
        return scene
    }

    private func distantRetry(_ kind: RequestKind) async throws -> CancelScene {
        let server = try ScriptedServer.start(.request)
        let asked = Recorder<Int>()
        let retrier = Retrier { _, _, _, completion in
            completion(.retryWithDelay(3600))
            asked.record(1)
        }
        let session = Session.isolated()
        let request = kind.request(
            server.baseURL, by: session, interceptor: Interceptor(retriers: [retrier]))
        let scene = CancelScene(session, request, server)
        try await asked.values(1)
        return scene
    }

    /// The first response causes a second request, which gets no response.
    private func second(_ kind: RequestKind, _ answer: Step) async throws -> CancelScene {
        let server = try ScriptedServer.start {
            $0 == 0 ? [.request, answer, .request, .stall] : [.request, .stall]
        }
        let session = Session.isolated()
        let request = kind.request(server.baseURL, by: session)
            .authenticate(username: "ada", password: "secret")
        return try await CancelScene(session, request, server).afterRequests(2)
    }
}

/// A request that has reached a stage.
final class CancelScene {
    let request: Request
    let ended = ExactlyOnce<RequestKind.Outcome>()
    /// Cleanup after the end of the request.
    var after: () async throws -> Void = {}
    private let session: Session
    private let server: ScriptedServer?
    private let tasks = Recorder<Int>()

    init(_ session: Session, _ request: Request, _ server: ScriptedServer? = nil) {
        self.session = session
        self.request = request
        self.server = server
        request.onURLSessionTaskCreation { [tasks] _ in tasks.record(1) }
        RequestKind.handle(request, ended.completion())
    }

    func hasTask() async throws { try await tasks.values(1) }

    func afterRequests(_ count: Int) async throws -> CancelScene {
        try await server?.requests.values(count)
        return self
    }

    /// Cancels twice, and again after the end, and returns how the request ended.
    func cancel() async throws -> RequestKind.Outcome {
        request.cancel()
        request.cancel()
        let outcome = try await ended.values()[0]
        try await after()
        request.resume()
        request.cancel()
        return outcome
    }
}
