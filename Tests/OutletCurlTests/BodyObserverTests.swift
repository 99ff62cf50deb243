import CCurl
import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTestServer
import OutletTestSupport
import Testing

@testable import OutletCurl
@testable import OutletTransport

/// Observers of bodies that answer later.
@Suite(.timeLimit(.minutes(patience))) struct BodyObserverTests {
    /// Answers each piece some time later, so that libcurl has turns in between, and records how far
    /// it has read ahead.
    private final class LateObserver: BodyObserver {
        private let ahead = Lock(Int64(0))

        /// The most bytes that libcurl has read beyond the piece shown.
        var mostAhead: Int64 { ahead.withLock { $0 } }

        func transfer(
            _ task: any TransferTask, isAboutToDeliver bytes: UnsafeRawBufferPointer,
            of head: HTTPResponse, goOn: @escaping @Sendable (TransferError?) -> Void
        ) -> BodyDecision {
            if let transfer = task as? CurlTransfer, let easy = transfer.easy {
                let read = ccurl_get_offset(easy.raw, CURLINFO_SIZE_DOWNLOAD_T)
                ahead.withLock { $0 = max($0, read - transfer.received) }
            }
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(2)) { goOn(nil) }
            return .wait
        }
    }

    /// Never decides about the last bytes, or about the end.
    private final class SilentObserver: BodyObserver {
        private let isAtEnd: Bool
        let asked = Once<Bool>()

        init(isAtEnd: Bool) { self.isAtEnd = isAtEnd }

        func transfer(
            _ task: any TransferTask, isAboutToDeliver bytes: UnsafeRawBufferPointer,
            of head: HTTPResponse, goOn: @escaping @Sendable (TransferError?) -> Void
        ) -> BodyDecision {
            guard bytes.isEmpty == isAtEnd else { return .proceed }
            asked.set(true)
            return .wait
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `a transfer whose observer never decides reaches its time limit`(
        isAtEnd: Bool, isSuspended: Bool
    ) async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .stall)
        let transport = CurlTransport.test { $0.timeoutIntervalForResource = 2 }
        let observer = SilentObserver(isAtEnd: isAtEnd)
        var job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL)))
        job.bodyObserver = observer
        let probe = Probe()
        let task = transport.start(job, handler: probe)
        if isSuspended {
            _ = try await observer.asked.value()
            task.suspend()
            task.resume()
        }
        let error = try await probe.end.value().error
        #expect(error?.code == .timedOut && error?.stage == .receiving)
        #expect(error?.reason.hasSuffix("it waited for the observer of its body") == true)
    }

    /// Lets the test decide about the end of the body, or refuses it.
    private final class AskingObserver: BodyObserver {
        let asked = Once<@Sendable (TransferError?) -> Void>()
        private let decision: BodyDecision
        private let released: Once<Void>?

        init(_ decision: BodyDecision = .wait, released: Once<Void>? = nil) {
            self.decision = decision
            self.released = released
        }

        deinit { released?.set(()) }

        func transfer(
            _ task: any TransferTask, isAboutToDeliver bytes: UnsafeRawBufferPointer,
            of head: HTTPResponse, goOn: @escaping @Sendable (TransferError?) -> Void
        ) -> BodyDecision {
            guard bytes.isEmpty else { return .proceed }
            asked.set(goOn)
            return decision
        }
    }

    @Test func `a suspended transfer ends when it is resumed, not when its observer decides`()
        async throws
    {
        let server = try ScriptedServer.start(.request, .respond(body: "x"), .again)
        let transport = CurlTransport.test()
        let observer = AskingObserver()
        var job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL)))
        job.bodyObserver = observer
        let probe = Probe()
        let task = transport.start(job, handler: probe)
        let goOn = try await observer.asked.value()
        task.suspend()
        goOn(nil)
        // The loop takes the messages above before it starts this one.
        #expect(try await transport.get(server.baseURL).text == "x")
        #expect(!probe.isOver)
        task.resume()
        task.resume()
        let result = try await probe.end.value()
        #expect(result.error == nil && result.text == "x")
        #expect(try await transport.get(server.baseURL).text == "x")
        let ends = probe.events.values.filter { if case .end = $0 { true } else { false } }
        #expect(ends.count == 1)
    }

    @Test(arguments: [TransferError(code: .refused, reason: "no"), nil])
    func `a transfer that has ended retains no observer that keeps it`(
        refusal: TransferError?
    ) async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"))
        let released = Once<Void>()
        let probe = Probe()
        let task = try await {
            let observer = AskingObserver(released: released)
            var job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL)))
            job.bodyObserver = observer
            let task = CurlTransport.test().start(job, handler: probe)
            // The observer keeps this closure, and with it the transfer.
            try await observer.asked.value()(refusal)
            return task
        }()
        #expect(try await probe.end.value().error?.code == refusal?.code)
        try await released.value()
        withExtendedLifetime(task) {}
    }

    @Test(arguments: [true, false])
    func `the error of an observer has the stage and the host`(isLater: Bool) async throws {
        let server = try ScriptedServer.start(.request, .respond(body: "x"))
        let refusal = TransferError(code: .refused, reason: "no")
        let observer = AskingObserver(isLater ? .wait : .fail(refusal))
        var job = TransferJob(request: HTTPRequest(url: URL(string: server.baseURL)))
        job.bodyObserver = observer
        let probe = Probe()
        _ = CurlTransport.test().start(job, handler: probe)
        if isLater { try await observer.asked.value()(refusal) }
        let error = try await probe.end.value().error
        #expect(error?.code == .refused && error?.reason == "no")
        #expect(error?.stage == .receiving && error?.host == "127.0.0.1:\(server.port)")
    }

    @Test(arguments: [false, true])
    func `libcurl does not collect a body while its observer takes its time`(isPosted: Bool)
        async throws
    {
        let server = try LoopbackServer.start()
        let transport = CurlTransport.test()
        let size = 4 << 20
        var request = HTTPRequest(url: URL(string: "\(server.baseURL)/bytes/\(size)"))
        if isPosted { request.body = .data(Data("question".utf8)) }
        request.allowsBodyInGET = isPosted
        let observer = LateObserver()
        var job = TransferJob(request: request)
        job.bodyObserver = observer
        let probe = Probe()
        _ = transport.start(job, handler: probe)
        let result = try await probe.end.value()
        #expect(result.error == nil && result.body?.count == size)
        // Two buffers of libcurl.
        #expect(observer.mostAhead <= 2 * 256 * 1024)
    }
}
