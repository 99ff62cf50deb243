import Dispatch
import FoundationEssentials
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

/// Streams over libcurl.
@Suite struct StreamTests {
    @Test func `all lines of a stream are received`() async throws {
        let server = try LoopbackServer.start()
        defer { server.stop() }
        let session = Session()
        var text = ""
        var error: SessionError?
        for await stream in session.streamRequest("\(server.baseURL)/stream/500").validate()
            .streamTask().streamingStrings()
        {
            text += stream.value ?? ""
            error = stream.completion?.error
        }
        #expect(error == nil)
        #expect(text.split(separator: "\n").count == 500)
    }

    @Test(arguments: [Nginx.Listener.plain, .tls])
    func `a slow handler stops reading from the server`(
        listener: Nginx.Listener
    ) async throws {
        let nginx = try await Nginx.shared()
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(path: nginx.authority.certificatePath)
        configuration.streamBufferSize = 64 << 10
        let session = Session(configuration: configuration)
        let request = session.streamRequest("\(nginx.baseURL(listener))/large.bin")
        let passed = Recorder<Int64>()
        let taken = Recorder<Int>()
        let ended = Once<SessionError?>()
        let gate = try Gate()
        request.downloadProgress(queue: DispatchQueue(label: "progress")) {
            passed.record($0.completedUnitCount)
        }
        request.responseStream(on: DispatchQueue(label: "slow")) { stream in
            if taken.count == 0 { #expect(gate.isOpen(within: .seconds(60))) }
            if let value = stream.value { taken.record(value.count) }
            if let completion = stream.completion { ended.set(completion.error) }
        }
        // Bytes are read until the buffer is full, and at most one more piece.
        try await passed.values { $0 >= 48 << 10 }
        #expect((passed.values.last ?? 0) <= (64 << 10) + (512 << 10))
        gate.open()
        #expect(try await ended.value() == nil)
        #expect(taken.values.reduce(0, +) == nginx.largeFileSize)
    }

    @Test func `leaving the loop over a stream cancels the request`() async throws {
        let nginx = try await Nginx.shared()
        let session = Session()
        let request = session.streamRequest("\(nginx.baseURL())/limited/large.bin")
        var count = 0
        for await stream in request.streamTask().streamingData() {
            count += stream.value?.count ?? 0
            if count > 1000 { break }
        }
        #expect(request.isCancelled)
    }

    @Test func `server-sent events are read from small pieces`() async throws {
        let body = "retry: 10\nid: 1\ndata: one\n\nevent: é\r\ndata: two\r\ndata: three\r\n\r\n"
        let server = try ScriptedServer.start(
            .request,
            .send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"),
            .trickle(Array(body.utf8), size: 3, interval: .milliseconds(1)))
        defer { server.stop() }
        let session = Session()
        var events: [ServerSentEvent] = []
        for await stream in session.streamRequest(server.baseURL)
            .validate(contentType: ["text/event-stream"])
            .streamTask().streamingServerSentEvents()
        {
            if let event = stream.value { events.append(event) }
        }
        #expect(
            events == [
                ServerSentEvent(data: "one", id: "1", retry: .milliseconds(10)),
                ServerSentEvent(event: "é", data: "two\nthree", id: "1", retry: .milliseconds(10)),
            ])
    }

    @Test func `a challenge before an event stream may have another content type`() async throws {
        let server = try ScriptedServer.start(
            .request,
            .respond(
                "401 Unauthorized",
                headers: ["WWW-Authenticate: Basic realm=\"x\"", "Content-Type: text/html"],
                body: "data: no\n\n"),
            .request,
            .respond(headers: ["Content-Type: text/event-stream"], body: "data: yes\n\n"))
        defer { server.stop() }
        let session = Session()
        let request = session.streamRequest(server.baseURL)
            .authenticate(username: "me", password: "secret")
        var events: [String] = []
        for await stream in request.streamTask().streamingServerSentEvents() {
            if let event = stream.value { events.append(event.data) }
        }
        #expect(events == ["yes"])
        #expect(request.error == nil)
    }

    @Test(arguments: ["404 Not Found", "200 OK"])
    func `a response that is not an event stream fails at its head`(status: String) async throws {
        let server = try ScriptedServer.start(
            .request,
            .send("HTTP/1.1 \(status)\r\nContent-Type: text/html\r\n\r\ndata: no\r\n\r\n"),
            .stall)
        defer { server.stop() }
        let session = Session()
        let request = session.streamRequest(server.baseURL)
        var events = 0
        for await stream in request.streamTask().streamingServerSentEvents()
        where stream.value != nil {
            events += 1
        }
        #expect(events == 0)
        #expect(request.error?.responseCode == Int(status.prefix(3)))
        #expect(request.error.map { "\($0)" }?.contains("text/html") == true)
        #expect(request.response?.statusCode == Int(status.prefix(3)))
    }

    @Test func `a request that is cancelled at its head does not read the body`() async throws {
        let nginx = try await Nginx.shared()
        let session = Session()
        let request = session.request("\(nginx.baseURL())/large.bin")
            .onHTTPResponse { (_, completionHandler) in completionHandler(.cancel) }
        let response = await request.serializingData().response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect(response.data == nil)
        #expect((response.metrics?.responseBodyBytes ?? 0) < 1 << 20)
    }

    @Test func `the body is read after the completion handler allows it`() async throws {
        let server = try LoopbackServer.start()
        defer { server.stop() }
        let session = Session()
        let asked = Once<@Sendable (Request.ResponseDisposition) -> Void>()
        let request = session.request("\(server.baseURL)/bytes/100000")
            .onHTTPResponse { (_, completionHandler) in asked.set(completionHandler) }
        let task = request.serializingData()
        let answer = try await asked.value()
        request.suspend()
        request.resume()
        answer(.allow)
        #expect(await task.response.data?.count == 100_000)
    }

    @Test func `a progress handler that is added after the head is called`() async throws {
        let server = try LoopbackServer.start()
        defer { server.stop() }
        let session = Session()
        let progress = Recorder<TransferProgress>()
        let request = session.request("\(server.baseURL)/bytes/100000")
        request.onHTTPResponse { [weak request] (_, completionHandler) in
            request?.downloadProgress { progress.record($0) }
            completionHandler(.allow)
        }
        #expect(await request.serializingData().response.error == nil)
        try await progress.values { $0.fractionCompleted == 1 }
    }
}
