import Dispatch
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

/// Tests middleware.
@Suite(.timeLimit(.minutes(patience))) struct MiddlewareTests {
    private let address = "http://api.test/"

    private func session(_ transport: StubTransport, _ middleware: any Middleware...) -> Session {
        Session(transport: transport, middleware: middleware)
    }

    @Test func `the first middleware is the outermost, for the request and the response`()
        async throws
    {
        let transport = StubTransport(answers: [.text("x")])
        let session = session(transport, Named("a"), Named("b"))
        let response = await session.request(address).serializingString().response
        #expect(try response.result.get() == "xba")
        #expect(transport.requests.first?.headers.values(for: "X-Order") == ["a", "b"])
        #expect(response.request?.headers.values(for: "X-Order") == ["a", "b"])
        #expect(response.request?.context.id != nil)
    }

    @Test func `a middleware can sign the request again after a 401`() async throws {
        let transport = StubTransport { job in
            job.request.headers["X-Signed-At"] == "server's"
                ? .text("welcome") : .status(401, headers: ["X-Time": "server's"])
        }
        let session = session(transport, Signer())
        let request = session.request(address).validate()
        #expect(try await request.serializingString().value == "welcome")
        #expect(transport.requests.map { $0.headers["X-Signed-At"] } == ["own", "server's"])
        #expect(request.retryCount == 0)
    }

    @Test func `a middleware runs once for all attempts of a call`() async throws {
        let transport = StubTransport(answers: [.status(503), .status(503), .text("x")])
        let named = Named("a")
        let session = Session(
            transport: transport,
            interceptor: Retrier { _, _, _, done in done(.retry) }, middleware: [named])
        let text = try await session.request(address).validate().serializingString().value
        #expect(text == "xa" && transport.requests.count == 3)
        #expect(named.calls.values.count == 1)
        #expect(
            transport.requests.map { $0.headers.values(for: "X-Order") } == [["a"], ["a"], ["a"]])
    }

    @Test func `a middleware can return a response without the network`() async throws {
        let transport = StubTransport(answers: [])
        let session = session(transport, Answering())
        #expect(try await session.request(address).serializingString().value == "answered")
        let pieces = Recorder<String>()
        session.streamRequest(address).responseStreamString { stream in
            switch stream.event {
            case .stream(.success(let text)): pieces.record(text)
            case .complete(let completion):
                pieces.record("status \(completion.response?.statusCode ?? 0)")
            }
        }
        #expect(try await pieces.values(2) == ["answered", "status 203"])
        #expect(transport.requests.isEmpty)
    }

    @Test func `an error thrown before next is an adaptation error`() async {
        let transport = StubTransport(answers: [])
        let session = session(transport, Throwing(beforeNext: true))
        let error = await session.request(address).serializingData().response.error
        #expect(error?.isRequestAdaptationError == true && error?.underlyingError is Refused)
        #expect(transport.requests.isEmpty)
    }

    @Test func `an error thrown after next is a validation error`() async {
        let session = session(StubTransport(answers: [.text("x")]), Throwing(beforeNext: false))
        let response = await session.request(address).serializingData().response
        #expect(response.error?.isResponseValidationError == true)
        #expect(response.error?.underlyingError is Refused)
        #expect(response.response?.statusCode == 200)
    }

    @Test func `next throws a failed transfer, and a middleware may return a response instead`()
        async throws
    {
        let broken = TransferError(code: .cannotConnectToHost, reason: "refused")
        let failing = session(StubTransport(answers: [.failure(broken)]), Named("a"))
        let response = await failing.request(address).serializingData().response
        #expect(response.error?.transferError?.code == .cannotConnectToHost)
        let mended = session(StubTransport(answers: [.failure(broken)]), Mending())
        #expect(try await mended.request(address).serializingString().value == "mended")
    }

    @Test func `a middleware gets a validation failure and may remove it`() async throws {
        let seen = Recorder<Bool>()
        let session = session(
            StubTransport { _ in .text("x", statusCode: 404) },
            Forgiving { seen.record($0) })
        let text = try await session.request(address).validate().serializingString().value
        #expect(text == "x" && seen.values == [true])
    }

    @Test func `a cancel while a middleware waits ends the call at once`() async throws {
        let hanging = Hanging()
        let session = session(StubTransport(answers: []), hanging)
        let ends = Recorder<SessionError?>()
        let request = session.request(address).response { ends.record($0.error) }
        try await hanging.begun.values(1)
        request.cancel()
        #expect(try await ends.values(1)[0]?.isExplicitlyCancelledError == true)
        #expect(try await hanging.ended.values(1) == ["cancelled"])
        withExtendedLifetime(session) {}
    }

    @Test func `next throws if the request is cancelled`() async throws {
        let gate = StubGate()
        let named = Named("a")
        let session = session(
            StubTransport { _ in .text("x").waiting(atByte: 0, for: gate) }, named)
        let ends = Recorder<SessionError?>()
        let request = session.request(address).response { ends.record($0.error) }
        await gate.arrival()
        request.cancel()
        #expect(try await ends.values(1)[0]?.isExplicitlyCancelledError == true)
        #expect(try await named.failures.values(1).count == 1)
        withExtendedLifetime(session) {}
    }

    @Test func `a released session ends its middleware`() async throws {
        let hanging = Hanging()
        let ends = Recorder<SessionError?>()
        do {
            let session = session(StubTransport(answers: []), hanging)
            session.request(address).response { ends.record($0.error) }
            try await hanging.begun.values(1)
            withExtendedLifetime(session) {}
        }
        guard case .sessionDeinitialized = try await ends.values(1)[0] else {
            Issue.record("\(ends.values)")
            return
        }
        #expect(try await hanging.ended.values(1) == ["cancelled"])
    }

    @Test func `two concurrent calls of next are refused`() async throws {
        let gate = StubGate()
        let twice = Twice(gate)
        let session = session(
            StubTransport { _ in .text("x").waiting(atByte: 0, for: gate) }, twice)
        let response = await session.request(address).serializingString().response
        #expect(try response.result.get() == "x")
        #expect(twice.refusals.values.count == 1)
        #expect(twice.refusals.values.first?.contains("next") == true)
    }

    @Test func `the body of a stream is collected for a middleware that needs it`() async throws {
        let transport = StubTransport { _ in .text("abcdefgh").chunked(into: 2, 3) }
        let pieces = Recorder<String>()
        let heads = Recorder<Int>()
        let session = session(transport, Named("!", needsStreamedBodies: true))
        session.streamRequest(address)
            .onHTTPResponse { heads.record($0.statusCode) }
            .responseStreamString { stream in
                if case .stream(.success(let text)) = stream.event { pieces.record(text) }
                if case .complete = stream.event { pieces.record("end") }
            }
        #expect(try await pieces.values(2) == ["abcdefgh!", "end"])
        #expect(heads.values == [200])
        withExtendedLifetime(session) {}
    }

    @Test func `the body of a stream is not collected for other middleware`() async throws {
        let transport = StubTransport { _ in .text("abcdefgh").chunked(into: 2, 3) }
        let pieces = Recorder<String>()
        let session = session(transport, Named("!"))
        session.streamRequest(address).responseStreamString { stream in
            if case .stream(.success(let text)) = stream.event { pieces.record(text) }
            if case .complete = stream.event { pieces.record("end") }
        }
        #expect(try await pieces.values(4) == ["ab", "cde", "fgh", "end"])
        withExtendedLifetime(session) {}
    }

    @Test func `middleware runs for downloads and WebSockets`() async throws {
        let directory = try TemporaryDirectory()
        let named = Named("a")
        let session = session(
            StubTransport { job in
                job.request.url?.path() == "/socket"
                    ? .webSocket([.send(.string("hello")), .close(.normalClosure)]) : .text("file")
            }, named)
        let path = directory.path("file")
        let download = session.download(
            address,
            to: { _, _ in (URL(filePath: path), [.removePreviousFile]) })
        #expect(try await download.serializingString().value == "file")
        let messages = Recorder<WebSocketMessage?>()
        session.webSocketRequest(to: "ws://api.test/socket").streamMessageEvents { event in
            if case .receivedMessage(let message) = event.kind { messages.record(message) }
            if case .completed = event.kind { messages.record(nil) }
        }
        #expect(try await messages.values(2) == [.string("hello"), nil])
        #expect(named.calls.values.count == 2)
    }

    @Test func `next does not start a transfer while the request is suspended`() async throws {
        let transport = StubTransport(answers: [.text("x")])
        let hanging = Hanging(forEver: false)
        let session = session(transport, hanging)
        let ends = Recorder<String?>()
        let request = session.request(address).responseString { ends.record($0.value) }
        try await hanging.begun.values(1)
        request.suspend()
        hanging.goOn.finish()
        try await hanging.ended.values(1)
        #expect(transport.requests.isEmpty)
        request.resume()
        #expect(try await ends.values(1) == ["x"])
        withExtendedLifetime(session) {}
    }
}

// MARK: Middleware of the tests

/// Appends its name to a request field and to the response body.
private final class Named: Middleware {
    let name: String
    let needsStreamedBodies: Bool
    let calls = Recorder<String>()
    let failures = Recorder<String>()

    init(_ name: String, needsStreamedBodies: Bool = false) {
        self.name = name
        self.needsStreamedBodies = needsStreamedBodies
    }

    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
        calls.record(name)
        var request = request
        request.headers.append(name: "X-Order", value: name)
        do {
            var response = try await next(request)
            response.body?.append(contentsOf: name.utf8)
            return response
        } catch {
            failures.record("\(error)")
            throw error
        }
    }
}

private struct Signer: Middleware {
    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
        var request = request
        request.headers["X-Signed-At"] = "own"
        let response = try await next(request)
        guard response.head.statusCode == 401, let time = response.head.headers["X-Time"] else {
            return response
        }
        request.headers["X-Signed-At"] = time
        return try await next(request)
    }
}

private struct Answering: Middleware {
    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
        CallResponse(
            head: HTTPResponse(url: request.url, statusCode: 203), body: Data("answered".utf8))
    }
}

private struct Throwing: Middleware {
    let beforeNext: Bool

    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
        if !beforeNext { _ = try await next(request) }
        throw Refused()
    }
}

private struct Mending: Middleware {
    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
        do {
            return try await next(request)
        } catch {
            return CallResponse(
                head: HTTPResponse(url: request.url, statusCode: 200), body: Data("mended".utf8))
        }
    }
}

private struct Forgiving: Middleware {
    let tell: @Sendable (Bool) -> Void

    init(_ tell: @escaping @Sendable (Bool) -> Void) { self.tell = tell }

    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
        var response = try await next(request)
        tell(response.failure != nil)
        response.failure = nil
        return response
    }
}

/// Waits before it calls `next`: until it is cancelled, or until `goOn` is finished.
private final class Hanging: Middleware {
    let begun = Recorder<String>()
    let ended = Recorder<String>()
    let goOn: AsyncStream<Void>.Continuation
    private let waits: AsyncStream<Void>
    private let isForEver: Bool

    init(forEver: Bool = true) {
        isForEver = forEver
        (waits, goOn) = AsyncStream.makeStream()
    }

    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
        begun.record("begun")
        if isForEver {
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                ended.record("cancelled")
                throw error
            }
        } else {
            for await _ in waits {}
            ended.record("went on")
        }
        return try await next(request)
    }
}

/// Calls `next` a second time while the first call is active.
private final class Twice: Middleware {
    let refusals = Recorder<String>()
    private let gate: StubGate

    init(_ gate: StubGate) { self.gate = gate }

    func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
        async let first = next(request)
        await gate.arrival()
        do {
            _ = try await next(request)
        } catch {
            refusals.record("\(error)")
        }
        gate.open()
        return try await first
    }
}
