import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Tests sending, pings, closing, and the request pipeline of the handshake.
@Suite(.timeLimit(.minutes(patience))) final class WebSocketSendingTests: Sendable {
    private let sessions = KeptSessions()

    private func socket(_ script: StubSocketStep..., starts: Bool = true) -> WebSocketRequest {
        sessions.make(StubTransport { _ in .webSocket(script) }, startRequestsImmediately: starts)
            .webSocketRequest(to: "ws://example.org")
    }

    // MARK: Sending

    @Test func `messages sent before the start are sent in order`() async throws {
        let request = socket(.echo, starts: false)
        let sent = Recorder<Int>()
        for number in 0..<20 {
            request.send(.string("\(number)")) { result in
                if case .success = result { sent.record(number) }
            }
        }
        let names = Recorder<String>()
        request.streamMessageEvents { event in
            names.record(event.kind.name)
            if event.message == .string("19") { event.close(sending: .normalClosure) }
        }
        request.resume()
        #expect(try await sent.values(20) == Array(0..<20))
        #expect(
            try await names.values(23)
                == ["connected"] + (0..<20).map { "\($0)" } + ["disconnected 1000", "completed"])
    }

    @Test func `waiting messages fail when the request is cancelled`() async throws {
        let request = socket(.echo, starts: false)
        let failures = Recorder<SessionError?>()
        request.send(.string("x")) { result in
            guard case .failure(let error) = result else { return failures.record(nil) }
            failures.record(error as? SessionError)
        }
        request.cancel()
        #expect(try await failures.values(1)[0]?.isExplicitlyCancelledError == true)
        request.send(.string("y")) { result in
            guard case .failure(let error) = result else { return failures.record(nil) }
            failures.record(error as? SessionError)
        }
        #expect(try await failures.values(2)[1]?.isExplicitlyCancelledError == true)
        #expect(await request.events() == ["completed explicitlyCancelled"])
    }

    @Test func `sending on a finished request fails`() async throws {
        let request = socket(.close(.normalClosure))
        _ = await request.events()
        await #expect(throws: SessionError.self) {
            try await request.webSocketTask().send(.string("late"))
        }
    }

    @Test func `messages that a close leaves unsent fail without the error of a cancel`()
        async throws
    {
        let request = socket(.echo, starts: false)
        let failures = Recorder<any Error>()
        let record: @Sendable (Result<Void, any Error>) -> Void = { result in
            if case .failure(let error) = result { failures.record(error) }
        }
        request.send(.string("x"), completionHandler: record)
        request.close(sending: .normalClosure)
        #expect(await request.events() == ["completed"])
        request.send(.string("y"), completionHandler: record)
        for error in try await failures.values(2) {
            #expect((error as? SessionError)?.transferError == .webSocketIsOver)
        }
    }

    @Test func `messages that wait for a failed handshake fail`() async throws {
        let request = sessions.make(StubTransport(answers: [.status(403)]))
            .webSocketRequest(to: "ws://example.org")
        let outcomes = Recorder<Bool>()
        request.send(.string("x")) { outcomes.record((try? $0.get()) != nil) }
        request.streamMessages { _ in }
        #expect(try await outcomes.values(1) == [false])
    }

    @Test func `a send completion is called before the reply to its message on the same queue`()
        async throws
    {
        let request = socket(.echo)
        let told = Recorder<String>()
        let hasEcho = DispatchSemaphore(value: 0)
        let queue = DispatchQueue(label: "one queue")
        request.streamMessages(on: DispatchQueue(label: "other")) { _ in hasEcho.signal() }
        request.streamMessageEvents(on: queue) { event in
            if case .connected = event.kind {
                event.socket?.send(.string("x"), queue: queue) { _ in told.record("sent") }
                // Blocks this queue until the echo has been received.
                _ = hasEcho.wait(timeout: .now() + 20)
            }
            if event.message != nil { told.record("echo") }
        }
        #expect(try await told.values(2) == ["sent", "echo"])
    }

    @Test func `a send completion is called before a reply that waits behind an earlier message`()
        async throws
    {
        let request = socket(.send(.string("first")), .echo, starts: false)
        let told = Recorder<String>()
        let hasEcho = DispatchSemaphore(value: 0)
        let queue = DispatchQueue(label: "one queue")
        request.streamMessages(on: DispatchQueue(label: "other")) { message in
            if message == .string("x") { hasEcho.signal() }
        }
        request.streamMessageEvents(on: queue) { event in
            if case .connected = event.kind {
                event.socket?.send(.string("x"), queue: queue) { _ in told.record("sent") }
                _ = hasEcho.wait(timeout: .now() + 20)
            }
            if case .receivedMessage(.string(let text)) = event.kind { told.record(text) }
        }
        request.resume()
        let order = try await told.values(3)
        #expect(order.filter { $0 != "first" } == ["sent", "x"])
        #expect(order.filter { $0 != "sent" } == ["first", "x"])
    }

    @Test func `a task's send starts the request, and messages wait for the first loop`()
        async throws
    {
        let request = socket(.send(.string("hello")), .echo)
        let task = request.webSocketTask()
        try await task.send(.string("one"))
        try await task.send(.string("two"))
        var names: [String] = []
        for await event in task.streamingMessageEvents() {
            names.append(event.kind.name)
            if event.message == .string("two") { task.close(sending: .normalClosure) }
        }
        #expect(names == ["connected", "hello", "one", "two", "disconnected 1000", "completed"])
        #expect(await request.events() == ["completed"])
    }

    @Test func `messages received before the end are kept for the first loop`() async throws {
        let request = socket(.receive, .send(.string("a")), .close(.goingAway))
        let ended = Recorder<Int>()
        request.onURLSessionTaskCreation { _ in }
        try await request.webSocketTask().send(.string("go"))
        while !request.isFinished, !Task.isCancelled { await Task.yield() }
        ended.record(1)
        #expect(
            await request.events() == ["connected", "a", "disconnected 1001", "completed"])
    }

    @Test func `the oldest buffered messages are dropped at the limit`() {
        var unheard = BufferedItems()
        unheard.append(.connected(protocol: nil), of: 0, limit: 10)
        for number in 0..<5 {
            unheard.append(.message(.string("\(number)")), of: 4, limit: 10)
        }
        let texts = unheard.items.map { item in
            switch item {
            case .connected: "connected"
            case .message(.string(let text), _): text
            default: "?"
            }
        }
        #expect(texts == ["connected", "3", "4"])
    }

    /// If each message moved those that are kept, the test would take hours.
    @Test(.timeLimit(.minutes(1))) func `the oldest messages are dropped in linear time`() {
        var unheard = BufferedItems()
        let (kept, count) = (200_000, 600_000)
        unheard.append(.connected(protocol: nil), of: 0, limit: kept)
        for number in 0..<count {
            if number == count / 2 {
                unheard.append(.connected(protocol: "again"), of: 0, limit: kept)
            }
            unheard.append(.message(.string("")), of: 1, limit: kept)
        }
        #expect(unheard.items.count == 2 + kept)
        let names = unheard.items.prefix(2).map { item in
            if case .connected(let name) = item { name ?? "first" } else { "?" }
        }
        #expect(names == ["first", "again"])
    }

    @Test func `sending does not start a request without startRequestsImmediately`()
        async throws
    {
        let request = socket(.echo, starts: false)
        request.startAutomatically()
        #expect(request.isInitialized)
        let suspended = socket(.echo)
        suspended.suspend()
        suspended.startAutomatically()
        #expect(suspended.isSuspended)
    }

    // MARK: Refused handshakes

    @Test(arguments: [403, 503, 200])
    func `a refused handshake is an error of send and of messages with its status`(
        status: Int
    ) async throws {
        let request = sessions.make(StubTransport { _ in .status(status) })
            .webSocketRequest(to: "ws://example.org")
        let task = request.webSocketTask()
        let error = await #expect(throws: SessionError.self) {
            try await task.send(.string("x"))
        }
        #expect(error?.responseCode == status)
        #expect(error?.transferError?.reason.contains("\(status)") == true)
        let other = sessions.make(StubTransport { _ in .status(status) })
            .webSocketRequest(to: "ws://example.org")
        let sent = Recorder<Int?>()
        other.send(.string("x")) { result in
            guard case .failure(let error) = result else { return sent.record(-1) }
            sent.record((error as? SessionError)?.responseCode)
        }
        let refusal = await #expect(throws: SessionError.self) {
            for try await _ in other.webSocketTask().messages() {}
        }
        #expect(refusal?.responseCode == status)
        #expect(try await sent.values(1) == [status])
    }

    @Test func `messages end without an error when the connection was closed normally`()
        async throws
    {
        var seen: [WebSocketMessage] = []
        let task = socket(.send(.string("a")), .close(.normalClosure)).webSocketTask()
        for try await message in task.messages() { seen.append(message) }
        #expect(seen == [.string("a")])
        let lost = TransferError(code: .networkConnectionLost, reason: "lost")
        let broken = socket(.send(.string("b")), .failure(lost)).webSocketTask()
        let error = await #expect(throws: SessionError.self) {
            for try await message in broken.messages() { #expect(message == .string("b")) }
        }
        #expect(error?.transferError == lost)
    }

    @Test func `waiting messages are sent by the attempt that opens the connection`() async throws {
        let transport = StubTransport(answers: [.status(503), .webSocket([.echo])])
        let request = sessions.make(
            transport,
            interceptor: Retrier { request, _, _, completion in
                completion(request.retryCount == 0 ? .retry : .doNotRetry)
            }
        ).webSocketRequest(to: "ws://example.org")
        let task = request.webSocketTask()
        try await task.send(.string("waits"))
        for try await message in task.messages() {
            #expect(message == .string("waits"))
            task.close(sending: .normalClosure)
        }
        #expect(request.retryCount == 1)
    }

    @Test func `nothing is sent before the validators have accepted the handshake`() async throws {
        let request = sessions.make(StubTransport { _ in .webSocket([.echo]) })
            .webSocketRequest(to: "ws://example.org")
            .validate { _, _ in .failure(Refused()) }
        let error = await #expect(throws: SessionError.self) {
            try await request.webSocketTask().send(.string("x"))
        }
        #expect(error?.isResponseValidationError == true)
    }

    // MARK: Pings

    @Test func `a ping before the start is unsent`() async throws {
        let request = socket(.echo, starts: false)
        let responses = Recorder<String>()
        let record: @Sendable (WebSocketRequest.PingResponse) -> Void = { response in
            switch response {
            case .pong: responses.record("pong")
            case .error: responses.record("error")
            case .unsent: responses.record("unsent")
            }
        }
        request.sendPing(onResponse: record)
        #expect(try await responses.values(1) == ["unsent"])
        request.streamMessages { _ in }
        request.resume()
        request.sendPing(onResponse: record)
        #expect(try await responses.values(2) == ["unsent", "pong"])
        request.cancel()
        request.sendPing(onResponse: record)
        #expect(try await responses.values(3) == ["unsent", "pong", "unsent"])
    }

    // MARK: Closing

    @Test func `closing before the start completes without an error`() async {
        let request = socket(.echo, starts: false)
        request.close(sending: .normalClosure)
        #expect(request.isCancelled)
        #expect(await request.events() == ["completed"])
    }

    @Test func `closing during the handshake completes without an error`() async throws {
        let transport = StubTransport(answers: [.silence])
        let request = sessions.make(transport).webSocketRequest(to: "ws://example.org")
        let names = Recorder<String>()
        let begun = Recorder<Bool>()
        request.onURLSessionTaskCreation { _ in begun.record(true) }
        request.streamMessageEvents { names.record($0.kind.name) }
        try await begun.values(1)
        request.close(sending: .normalClosure)
        #expect(try await names.values(1) == ["completed"])
        #expect(request.error == nil)
    }

    @Test func `closing after a cancel changes nothing`() async {
        let request = socket(.echo)
        request.cancel()
        request.close(sending: .normalClosure)
        #expect(await request.events() == ["completed explicitlyCancelled"])
    }

    @Test func `leaving a loop cancels the request unless told not to`() async throws {
        let request = socket(.send(.string("a")), .echo)
        for await _ in request.webSocketTask().streamingMessages() { break }
        #expect(request.isCancelled)
        let kept = socket(.send(.string("a")), .echo)
        for await _ in kept.webSocketTask().streamingMessages(automaticallyCancelling: false) {
            break
        }
        #expect(kept.isResumed)
        kept.cancel()
    }

    @Test func `a task suspends, resumes and closes`() async throws {
        let request = socket(.echo, starts: false)
        let task = request.webSocketTask()
        task.resume()
        #expect(request.isResumed)
        task.suspend()
        #expect(request.isSuspended)
        task.resume()
        try await task.send(.string("x"))
        task.close(sending: .normalClosure, reason: Data("done".utf8))
        #expect(await request.events().last == "completed")
    }

    // MARK: The handshake's pipeline

    @Test func `adapters adapt and retriers retry the handshake`() async throws {
        let transport = StubTransport(answers: [
            .status(503), .webSocket([.send(.string("a")), .close(.normalClosure)]),
        ])
        let adapter = Adapter { request, _, completion in
            var request = request
            request.headers.add(name: "X-Adapted", value: "yes")
            completion(.success(request))
        }
        let retrier = Retrier { request, _, _, completion in
            completion(request.retryCount == 0 ? .retry : .doNotRetry)
        }
        let request = sessions.make(
            transport, interceptor: Interceptor(adapter: adapter, retrier: retrier)
        ).webSocketRequest(to: "ws://example.org")
        let sent = Recorder<Bool>()
        request.send(.string("waits")) { sent.record((try? $0.get()) != nil) }
        let names = await request.events()
        #expect(names == ["connected", "a", "disconnected 1000", "completed"])
        #expect(request.retryCount == 1)
        #expect(transport.requests.count == 2)
        #expect(transport.requests.allSatisfy { $0.headers["X-Adapted"] == "yes" })
        _ = try await sent.values(1)
    }

    @Test func `a lost connection is opened again if a retrier decides so`() async {
        let lost = TransferError(code: .networkConnectionLost, reason: "lost")
        let transport = StubTransport(answers: [
            .webSocket([.send(.string("a")), .failure(lost)]),
            .webSocket([.send(.string("b")), .close(.normalClosure)]),
        ])
        let retrier = Retrier { request, _, _, completion in
            completion(request.retryCount == 0 ? .retry : .doNotRetry)
        }
        let request = sessions.make(transport, interceptor: retrier)
            .webSocketRequest(to: "ws://example.org")
        #expect(
            await request.events()
                == ["connected", "a", "connected", "b", "disconnected 1000", "completed"])
    }

    @Test func `validators run before any event is delivered`() async throws {
        let transport = StubTransport { _ in .webSocket([.send(.string("a")), .echo]) }
        let request = sessions.make(transport).webSocketRequest(to: "ws://example.org")
        request.validate { _, response in
            #expect(response.statusCode == 101)
            return .failure(Refused())
        }
        let names = Recorder<String>()
        request.streamMessageEvents { names.record($0.kind.name) }
        let seen = try await names.values(1)
        #expect(seen.count == 1)
        guard case .responseValidationFailed(.customValidationFailed(let error))? = request.error
        else {
            Issue.record("\(String(describing: request.error))")
            return
        }
        #expect(error is Refused)
        let fine = sessions.make(StubTransport { _ in .webSocket([.close(.normalClosure)]) })
            .webSocketRequest(to: "ws://example.org").validate { _, _ in .success(()) }
        #expect(await fine.events() == ["connected", "disconnected 1000", "completed"])
    }

    @Test func `validators also get a refused handshake`() async throws {
        let codes = Recorder<Int>()
        let request = sessions.make(StubTransport(answers: [.status(401)]))
            .webSocketRequest(to: "ws://example.org")
            .validate { _, response in
                codes.record(response.statusCode)
                return .failure(Refused())
            }
        _ = await request.events()
        #expect(codes.values == [401])
        #expect(request.error?.isResponseValidationError == true)
        #expect(request.response?.statusCode == 401)
    }

    @Test func `the error for a handshake without status 101 names the status`() async {
        let request = sessions.make(StubTransport(answers: [.status(404)]))
            .webSocketRequest(to: "ws://example.org")
        #expect(await request.events() == ["completed badServerResponse"])
        #expect(request.error?.failure?.reason.contains("404") == true)
        #expect(request.response?.statusCode == 404)
    }
}
