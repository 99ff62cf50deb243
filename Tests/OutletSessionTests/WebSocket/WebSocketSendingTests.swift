import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import Testing

/// Sending, pinging, closing, and the pipeline of the handshake.
@Suite(.timeLimit(.minutes(patience))) final class WebSocketSendingTests: Sendable {
    private let sessions = KeptSessions()

    private func socket(_ script: StubSocketStep..., starts: Bool = true) -> WebSocketRequest {
        sessions.make(StubTransport { _ in .webSocket(script) }, startRequestsImmediately: starts)
            .webSocketRequest(to: "ws://example.org")
    }

    // MARK: Sending

    @Test func `messages sent before the start go out in order`() async throws {
        let request = socket(.echo, starts: false)
        let sent = Events<Int>()
        for number in 0..<20 {
            request.send(.string("\(number)")) { result in
                if case .success = result { sent.append(number) }
            }
        }
        let names = Events<String>()
        request.streamMessageEvents { event in
            names.append(event.kind.name)
            if event.message == .string("19") { event.close(sending: .normalClosure) }
        }
        request.resume()
        #expect(try await sent.wait(for: 20) == Array(0..<20))
        #expect(
            try await names.wait(for: 23)
                == ["connected"] + (0..<20).map { "\($0)" } + ["disconnected 1000", "completed"])
    }

    @Test func `what waits when the request is cancelled fails`() async throws {
        let request = socket(.echo, starts: false)
        let failures = Events<SessionError?>()
        request.send(.string("x")) { result in
            guard case .failure(let error) = result else { return failures.append(nil) }
            failures.append(error as? SessionError)
        }
        request.cancel()
        #expect(try await failures.wait(for: 1)[0]?.isExplicitlyCancelledError == true)
        request.send(.string("y")) { result in
            guard case .failure(let error) = result else { return failures.append(nil) }
            failures.append(error as? SessionError)
        }
        #expect(try await failures.wait(for: 2)[1]?.isExplicitlyCancelledError == true)
        #expect(await request.events() == ["completed explicitlyCancelled"])
    }

    @Test func `sending on a finished request fails`() async throws {
        let request = socket(.close(.normalClosure))
        _ = await request.events()
        await #expect(throws: SessionError.self) {
            try await request.webSocketTask().send(.string("late"))
        }
    }

    @Test func `what waits for a handshake that fails, fails`() async throws {
        let request = sessions.make(StubTransport(answers: [.status(403)]))
            .webSocketRequest(to: "ws://example.org")
        let outcomes = Events<Bool>()
        request.send(.string("x")) { outcomes.append((try? $0.get()) != nil) }
        request.streamMessages { _ in }
        #expect(try await outcomes.wait(for: 1) == [false])
    }

    // MARK: Pings

    @Test func `a ping before the start is unsent`() async throws {
        let request = socket(.echo, starts: false)
        let responses = Events<String>()
        let record: @Sendable (WebSocketRequest.PingResponse) -> Void = { response in
            switch response {
            case .pong: responses.append("pong")
            case .error: responses.append("error")
            case .unsent: responses.append("unsent")
            }
        }
        request.sendPing(onResponse: record)
        #expect(try await responses.wait(for: 1) == ["unsent"])
        request.streamMessages { _ in }
        request.resume()
        request.sendPing(onResponse: record)
        #expect(try await responses.wait(for: 2) == ["unsent", "pong"])
        request.cancel()
        request.sendPing(onResponse: record)
        #expect(try await responses.wait(for: 3) == ["unsent", "pong", "unsent"])
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
        let names = Events<String>()
        let begun = Events<Bool>()
        request.onURLSessionTaskCreation { _ in begun.append(true) }
        request.streamMessageEvents { names.append($0.kind.name) }
        try await begun.wait(for: 1)
        request.close(sending: .normalClosure)
        #expect(try await names.wait(for: 1) == ["completed"])
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
        let sent = Events<Bool>()
        request.send(.string("waits")) { sent.append((try? $0.get()) != nil) }
        let names = await request.events()
        #expect(names == ["connected", "a", "disconnected 1000", "completed"])
        #expect(request.retryCount == 1)
        #expect(transport.requests.count == 2)
        #expect(transport.requests.allSatisfy { $0.headers["X-Adapted"] == "yes" })
        _ = try await sent.wait(for: 1)
    }

    @Test func `a connection that breaks is opened again if a retrier says so`() async {
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

    @Test func `validators judge the handshake before anything is handed over`() async throws {
        let transport = StubTransport { _ in .webSocket([.send(.string("a")), .echo]) }
        struct Refused: Error {}
        let request = sessions.make(transport).webSocketRequest(to: "ws://example.org")
        request.validate { _, response in
            #expect(response.statusCode == 101)
            return .failure(Refused())
        }
        let names = Events<String>()
        request.streamMessageEvents { names.append($0.kind.name) }
        let seen = try await names.wait(for: 1)
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

    @Test func `validators see a refused handshake too`() async throws {
        struct Refused: Error {}
        let codes = Events<Int>()
        let request = sessions.make(StubTransport(answers: [.status(401)]))
            .webSocketRequest(to: "ws://example.org")
            .validate { _, response in
                codes.append(response.statusCode)
                return .failure(Refused())
            }
        _ = await request.events()
        #expect(codes.values == [401])
        #expect(request.error?.isResponseValidationError == true)
        #expect(request.response?.statusCode == 401)
    }

    @Test func `a handshake that is not answered with 101 names the status`() async {
        let request = sessions.make(StubTransport(answers: [.status(404)]))
            .webSocketRequest(to: "ws://example.org")
        #expect(await request.events() == ["completed badServerResponse"])
        #expect(request.error?.failure?.reason.contains("404") == true)
        #expect(request.response?.statusCode == 404)
    }
}
