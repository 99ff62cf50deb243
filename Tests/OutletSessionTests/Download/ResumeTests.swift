import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite(.timeLimit(.minutes(patience))) struct ResumeTests {
    let address = "http://example.test/file"
    let text = "0123456789abcdefghij"
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private var place: DownloadRequest.Destination {
        { [url = directory.url] _, _ in (url.appending(path: "a"), .removePreviousFile) }
    }

    private func file(_ data: Data?) throws -> String {
        struct File: Decodable { let file: String }
        return try JSONDecoder().decode(File.self, from: #require(data)).file
    }

    /// Downloads content whose connection is lost in the middle of the body.
    private func broken(_ content: Content) async -> DownloadResponse<URL, SessionError> {
        let session = Session(transport: content.transport)
        return await session.download(address, headers: ["X-Own": "yes"], to: place)
            .serializingDownloadedFileURL().response
    }

    @Test func `a broken download is resumed, and the file is complete`() async throws {
        let content = Content(text, breaks: [8])
        let failed = await broken(content)
        #expect(failed.error?.transferError?.code == .networkConnectionLost)
        #expect(failed.resumeData != nil)
        #expect(failed.error?.downloadResumeData == failed.resumeData)
        #expect(directory.names.isEmpty)

        let transport = content.transport
        let adapted = Recorder<Int>()
        let session = Session(
            transport: transport,
            interceptor: Adapter { request, _, completion in
                adapted.record(1)
                completion(.success(request))
            })
        let seen = Recorder<TransferProgress>()
        let request = session.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).downloadProgress { seen.record($0) }
        let response = await request.validate().serializingDownloadedFileURL().response
        #expect(response.error == nil)
        #expect(response.response?.statusCode == 206)
        #expect(directory.text("a") == text)
        let sent = transport.requests.first
        #expect(sent?.headers["Range"] == "bytes=8-")
        #expect(sent?.headers["If-Range"] == "\"v1\"")
        #expect(sent?.headers["X-Own"] == "yes")
        #expect(sent?.headers["Accept-Encoding"] == "identity")
        #expect(adapted.values == [1])
        let progress = try await seen.values(4)
        #expect(progress.map(\.completedUnitCount) == [8, 12, 16, 20])
        #expect(progress.allSatisfy { $0.totalUnitCount == 20 })
    }

    @Test func `adapters get a resumed request as it was before them`() async throws {
        let content = Content(text, breaks: [8])
        let adapter = Adapter { request, _, completion in
            var request = request
            request.url = URL(string: (request.url?.absoluteString ?? "") + "?key=1")
            request.headers.append(name: "X-Seen", value: "1")
            completion(.success(request))
        }
        let transport = content.transport
        let session = Session(transport: transport, interceptor: adapter)
        let failed = await session.download(address, to: place)
            .serializingDownloadedFileURL().response
        let response = await session.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).serializingDownloadedFileURL().response
        #expect(response.response?.statusCode == 206 && directory.text("a") == text)
        #expect(transport.requests.map { $0.url?.query() } == ["key=1", "key=1"])
        #expect(transport.requests.map { $0.headers.values(for: "X-Seen") } == [["1"], ["1"]])
        #expect(transport.requests.map { $0.headers["Range"] } == [nil, "bytes=8-"])
    }

    private struct Naming: Middleware {
        func intercept(_ request: HTTPRequest, next: @escaping Next) async throws -> CallResponse {
            var request = request
            request.url = URL(string: (request.url?.absoluteString ?? "") + "?key=1")
            request.headers.append(name: "X-Seen", value: "1")
            return try await next(request)
        }
    }

    @Test(arguments: [false, true])
    func `middleware gets a resumed request as it was before it`(
        isRetried: Bool
    ) async throws {
        let content = Content(text, breaks: isRetried ? [4, 4] : [8])
        let transport = content.transport
        let once = Retrier { request, _, _, completion in
            completion(request.retryCount == 0 ? .retry : .doNotRetry)
        }
        let session = Session(transport: transport, middleware: [Naming()])
        let failed = await session.download(
            address, interceptor: isRetried ? once : nil, to: place
        ).serializingDownloadedFileURL().response
        let response = await session.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).serializingDownloadedFileURL().response
        #expect(response.response?.statusCode == 206 && directory.text("a") == text)
        let count = isRetried ? 3 : 2
        #expect(
            transport.requests.map { $0.url?.query() } == Array(repeating: "key=1", count: count))
        #expect(
            transport.requests.map { $0.headers.values(for: "X-Seen") }
                == Array(repeating: ["1"], count: count))
        #expect(transport.requests.last?.headers["Range"] == "bytes=8-")
    }

    @Test func `an adapter that changes the URL gets the whole content`() async throws {
        let content = Content(text, breaks: [8])
        let failed = await broken(content)
        let transport = content.transport
        let session = Session(
            transport: transport,
            interceptor: Adapter { request, _, completion in
                var request = request
                request.url = URL(string: "http://other.test/file")
                completion(.success(request))
            })
        _ = try await session.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).serializingDownloadedFileURL().value
        #expect(transport.requests.map { $0.headers["Range"] } == [nil])
        #expect(directory.text("a") == text)
    }

    /// Refreshes any token to `new`.
    private final class Tokens: Authenticator {
        struct Token: AuthenticationCredential {
            let value: String
            var requiresRefresh: Bool { false }
        }

        func apply(_ credential: Token, to urlRequest: inout HTTPRequest) {
            urlRequest.headers.update(.authorization(bearerToken: credential.value))
        }
        func refresh(_ credential: Token, for session: Session) async throws -> Token {
            Token(value: "new")
        }
        func didRequest(
            _ urlRequest: HTTPRequest, with response: HTTPResponse,
            failDueToAuthenticationError error: any Error
        ) -> Bool { response.statusCode == 401 }
        func isRequest(
            _ urlRequest: HTTPRequest, authenticatedWith credential: Token
        ) -> Bool { urlRequest.headers["Authorization"] == "Bearer \(credential.value)" }
    }

    @Test func `a resumed download with an expired token is authenticated again`() async throws {
        let content = Content(text, breaks: [8])
        let authentication = AuthenticationInterceptor(
            authenticator: Tokens(), credential: Tokens.Token(value: "old"))
        let before = Session(transport: content.transport, interceptor: authentication)
        let failed = await before.download(address, to: place)
            .serializingDownloadedFileURL().response
        let transport = StubTransport { job in
            job.request.headers["Authorization"] == "Bearer new"
                ? content.answer(job.request) : .status(401)
        }
        // Not for ever, if the token is not replaced.
        let limit = Retrier { request, _, _, completion in
            completion(request.retryCount < 5 ? .doNotRetry : .doNotRetryWithError(Refused()))
        }
        let session = Session(
            transport: transport,
            interceptor: Interceptor(retriers: [limit], interceptors: [authentication]))
        let response = await session.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).validate().serializingDownloadedFileURL().response
        #expect(response.error == nil && directory.text("a") == text)
        #expect(
            transport.requests.map { $0.headers["Authorization"] } == ["Bearer old", "Bearer new"])
        #expect(transport.requests.map { $0.headers["Range"] } == ["bytes=8-", "bytes=8-"])
    }

    @Test func `content that has changed is downloaded from the beginning`() async throws {
        let content = Content(text, breaks: [8])
        let failed = await broken(content)
        content.change(to: "another", tag: "\"v2\"")
        let session = Session(transport: content.transport)
        let response = await session.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).serializingDownloadedFileURL().response
        #expect(response.response?.statusCode == 200)
        #expect(directory.text("a") == "another")
    }

    @Test(arguments: [
        ("\"v2\"", "bytes 8-19/20"), ("\"v1\"", "bytes 4-19/20"), ("\"v1\"", "nonsense"),
    ])
    func `a partial response that does not match restarts the download`(tag: String, range: String)
        async throws
    {
        let failed = await broken(Content(text, breaks: [8]))
        let odd = StubAnswer(
            statusCode: 206, headers: ["ETag": tag, "Content-Range": range],
            body: Data("odd".utf8))
        let transport = StubTransport(answers: [odd, .text("whole")])
        let session = Session(transport: transport)
        let response = await session.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).serializingDownloadedFileURL().response
        #expect(response.error == nil)
        #expect(directory.text("a") == "whole")
        #expect(transport.requests.map { $0.headers["Range"] } == ["bytes=8-", nil])
        #expect(transport.requests.last?.headers["If-Range"] == nil)
    }

    /// Resumes a download that has 8 bytes.
    ///
    /// - Parameter answers: The server's responses, in order.
    /// - Returns: The response of the download, and the `Range` field of each request sent.
    private func resumed(
        _ answers: StubAnswer...
    ) async throws -> (DownloadResponse<URL, SessionError>, [String?]) {
        let failed = await broken(Content(text, breaks: [8]))
        let transport = StubTransport(answers: answers)
        let session = Session(transport: transport)
        let response = await session.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).serializingDownloadedFileURL().response
        withExtendedLifetime(session) {}
        return (response, transport.requests.map { $0.headers["Range"] })
    }

    /// Returns a partial response (206) with a part of the text.
    ///
    /// - Parameters:
    ///   - bytes: The part to send; the text is followed by one additional byte, `#`.
    ///   - range: The range in `Content-Range`, which may state another total length.
    ///   - tag: The entity tag, if any.
    ///   - isFramed: Whether the length is known; otherwise `Transfer-Encoding` is `chunked`.
    private func part(
        _ bytes: Range<Int>, as range: String, tag: String? = "\"v1\"", isFramed: Bool = true
    ) -> StubAnswer {
        var headers = HTTPHeaders(["Content-Range": "bytes \(range)"])
        if let tag { headers.add(name: "ETag", value: tag) }
        if !isFramed { headers.add(name: "Transfer-Encoding", value: "chunked") }
        let content = Data((text + "#").utf8)[bytes]
        return StubAnswer(statusCode: 206, headers: headers, body: Data(content))
    }

    @Test func `a partial response that is too short is followed by another range request`()
        async throws
    {
        let (response, ranges) = try await resumed(
            part(8..<12, as: "8-11/20"), part(12..<13, as: "12-12/*", tag: nil),
            part(13..<20, as: "13-19/20"))
        #expect(response.error == nil && directory.text("a") == text)
        #expect(ranges == ["bytes=8-", "bytes=12-", "bytes=13-"])
    }

    @Test func `the progress of a download in several parts has the length of the content`()
        async throws
    {
        let parts = [
            part(8..<12, as: "8-11/20"), part(12..<13, as: "12-12/*"),
            part(13..<20, as: "13-19/20"),
        ]
        let data = try #require(await broken(Content(text, breaks: [8])).resumeData)
        let seen = Recorder<TransferProgress>()
        let session = Session(transport: StubTransport(answers: parts))
        let watched = session.download(resumingWith: data, to: place)
            .downloadProgress { seen.record($0) }
        #expect(await watched.serializingDownloadedFileURL().response.error == nil)
        #expect(seen.values.map(\.completedUnitCount) == [8, 12, 12, 13, 13, 20])
        #expect(seen.values.allSatisfy { $0.totalUnitCount == 20 })
        let whole = TransferProgress(completedUnitCount: 20, totalUnitCount: 20)
        #expect(watched.downloadProgress == whole)

        let again = try #require(await broken(Content(text, breaks: [8])).resumeData)
        let second = Session(transport: StubTransport(answers: parts))
        let unwatched = second.download(resumingWith: again, to: place)
        #expect(await unwatched.serializingDownloadedFileURL().response.error == nil)
        #expect(unwatched.downloadProgress == whole)
    }

    @Test func `a server cannot send short parts for ever`() async throws {
        let failed = await broken(Content(text, breaks: [8]))
        let data = String(decoding: try #require(failed.resumeData), as: UTF8.self)
            .replacing("\"totalBytes\":20,", with: "")
        let transport = StubTransport { job in
            let range = job.request.headers["Range"] ?? ""
            let start = Int(range.dropFirst("bytes=".count).dropLast()) ?? 0
            // Ends after 200 parts, so that the test ends.
            return StubAnswer(
                statusCode: 206,
                headers: [
                    "ETag": "\"v1\"",
                    "Content-Range": "bytes \(start)-\(start)/\(start < 200 ? "*" : "201")",
                ], body: Data("x".utf8))
        }
        let session = Session(transport: transport)
        let response = await session.download(resumingWith: Data(data.utf8), to: place)
            .serializingDownloadedFileURL().response
        #expect(transport.requests.count == 101)
        #expect(response.error?.transferError?.code == .badServerResponse)
        #expect(response.error?.transferError?.reason.contains("more than 100 parts") == true)
        #expect(directory.names.isEmpty)
        DownloadRequest.discard(resumeData: try #require(response.resumeData))
    }

    @Test func `with an unknown total length a range request after the end is sent`() async throws {
        let content = Content(text)
        let failed = await broken(Content(text, breaks: [8]))
        let data = String(decoding: try #require(failed.resumeData), as: UTF8.self)
            .replacing("\"totalBytes\":20,", with: "")
        let transport = StubTransport { job in
            job.request.headers["Range"] == "bytes=8-"
                ? self.part(8..<20, as: "8-19/*") : content.answer(job.request)
        }
        let session = Session(transport: transport)
        let response = await session.download(resumingWith: Data(data.utf8), to: place)
            .serializingDownloadedFileURL().response
        #expect(response.error == nil && directory.text("a") == text)
        #expect(transport.requests.map { $0.headers["Range"] } == ["bytes=8-", "bytes=20-"])
    }

    @Test func `a truncated partial response is an error, and the download can be resumed`()
        async throws
    {
        let (response, _) = try await resumed(
            part(8..<12, as: "8-19/20", tag: nil, isFramed: false))
        #expect(response.error?.transferError?.code == .networkConnectionLost)
        #expect(
            response.error?.transferError?.reason.contains("8 bytes shorter than its Content-Range")
                == true)
        #expect(directory.names.isEmpty)
        let transport = Content(text).transport
        let session = Session(transport: transport)
        _ = try await session.download(
            resumingWith: try #require(response.resumeData), to: place
        ).serializingDownloadedFileURL().value
        #expect(transport.requests.map { $0.headers["Range"] } == ["bytes=12-"])
        #expect(directory.text("a") == text)
    }

    @Test func `a partial response that is too long restarts the download`() async throws {
        let (response, ranges) = try await resumed(
            part(8..<21, as: "8-19/20", isFramed: false), .text("whole"))
        #expect(response.error == nil && directory.text("a") == "whole")
        #expect(ranges == ["bytes=8-", nil])
    }

    @Test func `a complete part file ends the download without a body`() async throws {
        let content = Content(text, breaks: [text.utf8.count])
        let failed = await broken(content)
        let transport = content.transport
        let session = Session(transport: transport)
        let response = await session.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).validate().serializingDownloadedFileURL().response
        #expect(response.error == nil)
        #expect(directory.text("a") == text)
        #expect(transport.requests.first?.headers["Range"] == "bytes=20-")
    }

    @Test func `a range after the end of shrunk content restarts the download`() async throws {
        let content = Content(text, breaks: [8])
        let failed = await broken(content)
        content.change(to: "short", tag: "\"v1\"")
        let session = Session(transport: content.transport)
        let response = await session.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).serializingDownloadedFileURL().response
        #expect(response.error == nil)
        #expect(directory.text("a") == "short")
    }

    /// Returns the next of several URLs at each call; the last one repeats.
    private final class Moving: URLRequestConvertible {
        private let addresses: Lock<[String]>
        init(_ addresses: String...) { self.addresses = Lock(addresses) }

        func asURLRequest() throws -> HTTPRequest {
            let next = addresses.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            return HTTPRequest(url: URL(string: next))
        }
    }

    @Test(arguments: [false, true])
    func `a retry resumes the download only at the same URL`(moves: Bool) async throws {
        let content = Content(text, breaks: [8])
        let transport = content.transport
        let session = Session(transport: transport, interceptor: Counting(until: 2))
        let convertible = Moving(address, moves ? address + "/other" : address)
        let response = await session.download(convertible, to: place)
            .serializingDownloadedFileURL().response
        #expect(response.error == nil && directory.text("a") == text)
        #expect(
            transport.requests.map { $0.headers["Range"] } == [nil, moves ? nil : "bytes=8-"])
    }

    @Test func `a truncated error body leaves no file`() async throws {
        let failed = await broken(Content(text, breaks: [8]))
        let mark = "aside-\(UUID().uuidString)"
        let answer = StubAnswer.text(mark + text, statusCode: 503)
            .failing(with: TransferErrors.lost, atByte: mark.utf8.count + 2)
        let session = Session(transport: StubTransport(answers: [answer]))
        let response = await session.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).serializingDownloadedFileURL().response
        #expect(response.error?.transferError?.code == .networkConnectionLost)
        let temporary = FileManager.default.temporaryDirectory
        let names = try FileManager.default.contentsOfDirectory(atPath: temporary.path)
        let left = names.filter { name in
            guard name.hasPrefix("Outlet_") else { return false }
            let data = try? Data(contentsOf: temporary.appending(path: name))
            return data.map { String(decoding: $0, as: UTF8.self).contains(mark) } == true
        }
        #expect(left == [])
        DownloadRequest.discard(resumeData: try #require(response.resumeData))
    }

    @Test func `an error response keeps the resume data and the part file`() async throws {
        let content = Content(text, breaks: [8])
        let failed = await broken(content)
        let busy = Session(
            transport: StubTransport(answers: [.text("busy", statusCode: 503)]))
        let second = await busy.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).validate().serializingDownloadedFileURL().response
        #expect(second.error?.responseCode == 503)
        #expect(directory.text("a") == "busy")
        let session = Session(transport: content.transport)
        let third = await session.download(
            resumingWith: try #require(second.resumeData), to: place
        ).serializingDownloadedFileURL().response
        #expect(third.response?.statusCode == 206)
        #expect(directory.text("a") == text)
    }

    @Test func `an error response that cannot be moved keeps the resume data`() async throws {
        let failed = await broken(Content(text, breaks: [8]))
        try Data("taken".utf8).write(to: directory.url.appending(path: "a"))
        let session = Session(
            transport: StubTransport(answers: [.text("busy", statusCode: 503)]))
        let response = await session.download(
            resumingWith: try #require(failed.resumeData),
            to: { [url = directory.url] _, _ in (url.appending(path: "a"), []) }
        ).serializingDownloadedFileURL().response
        guard case .downloadedFileMoveFailed(_, let source, _)? = response.error else {
            Issue.record("\(String(describing: response.error))")
            return
        }
        try FileManager.default.removeItem(at: source)
        #expect(directory.text("a") == "taken")
        #expect(response.resumeData == failed.resumeData)
        DownloadRequest.discard(resumeData: try #require(response.resumeData))
    }

    @Test func `a connection error keeps the resume data`() async throws {
        let content = Content(text, breaks: [8])
        let failed = await broken(content)
        let down = Session(transport: StubTransport(answers: [.failure(TransferErrors.lost)]))
        let second = await down.download(resumingWith: try #require(failed.resumeData))
            .serializingDownloadedFileURL().response
        #expect(second.resumeData == failed.resumeData)
        DownloadRequest.discard(resumeData: try #require(second.resumeData))
    }

    @Test func `without its part file a download restarts`() async throws {
        let content = Content(text, breaks: [8])
        let failed = await broken(content)
        DownloadRequest.discard(resumeData: try #require(failed.resumeData))
        let transport = content.transport
        let session = Session(transport: transport)
        _ = try await session.download(
            resumingWith: try #require(failed.resumeData), to: place
        ).serializingDownloadedFileURL().value
        #expect(transport.requests.first?.headers["Range"] == nil)
        #expect(directory.text("a") == text)
    }

    @Test(arguments: [("-5", nil), ("\(Int64.min)", nil), ("\(Int64.max)", "bytes=8-")])
    func `resume data may count any number of bytes`(count: String, range: String?) async throws {
        let content = Content(text, breaks: [8])
        let failed = await broken(content)
        var data = try #require(failed.resumeData)
        let known = try #require(data.firstRange(of: Data("\"bytesReceived\":8".utf8)))
        data.replaceSubrange(known, with: Data("\"bytesReceived\":\(count)".utf8))
        let transport = content.transport
        let session = Session(transport: transport)
        _ = try await session.download(
            resumingWith: data, to: place
        ).serializingDownloadedFileURL().value
        #expect(transport.requests.map { $0.headers["Range"] } == [range])
        #expect(directory.text("a") == text)
    }

    @Test func `two downloads never write to one file`() async throws {
        let content = Content(text, breaks: [8])
        let failed = await broken(content)
        let data = try #require(failed.resumeData)
        let held = Session(transport: StubTransport(answers: [.silence]))
        let first = held.download(resumingWith: data)
        async let firstResponse = first.serializingDownloadedFileURL().response
        while first.performedRequests.isEmpty, !Task.isCancelled { await Task.yield() }
        let transport = content.transport
        let session = Session(transport: transport)
        _ = try await session.download(resumingWith: data, to: place)
            .serializingDownloadedFileURL().value
        #expect(transport.requests.first?.headers["Range"] == nil)
        #expect(directory.text("a") == text)
        first.cancel()
        _ = await firstResponse
    }

    @Test func `invalid resume data is a ResumeDataError`() async {
        let transport = StubTransport(answers: [.text("x")])
        let session = Session(transport: transport)
        let known = #""headers":[],"bytesReceived":1,"file":"x","url":"http://a.test/""#
        for text in [
            "", "{}", #"{"version": 2}"#, #"{"version":1,"validator":"\"a\rb\"",\#(known)}"#,
        ] {
            let response = await session.download(resumingWith: Data(text.utf8))
                .serializingDownloadedFileURL().response
            #expect(response.error?.underlyingError is ResumeDataError)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: [nil, "W/\"v1\"", "\"v\u{1}\"", "\"v\rw\"", "\"\u{FFFD}\""])
    func `without a strong validator that can be sent, there is no resume data`(tag: String?) async
    {
        let failed = await broken(Content(text, tag: tag, breaks: [8]))
        #expect(failed.error != nil)
        #expect(failed.resumeData == nil)
    }

    @Test func `a retry resumes where the last attempt ended`() async throws {
        let content = Content(text, breaks: [8, 4])
        let transport = content.transport
        let session = Session(
            transport: transport,
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        let request = session.download(address, to: place)
        _ = try await request.serializingDownloadedFileURL().value
        #expect(directory.text("a") == text)
        #expect(
            transport.requests.map { $0.headers["Range"] } == [nil, "bytes=8-", "bytes=12-"])
        #expect(request.resumeData == nil)
    }

    // MARK: Cancelling

    /// Returns a suspended download that has received its first bytes.
    private func halfway(_ session: Session) async throws -> DownloadRequest {
        let seen = Recorder<Int64>()
        let request = session.download(address, to: place)
        request.downloadProgress { [weak request] in
            request?.suspend()
            seen.record($0.completedUnitCount)
        }
        request.resume()
        try await seen.values(1)
        return request
    }

    /// Sends 8 bytes of the body, then nothing.
    private var stalling: StubTransport {
        var answer = Content(text).answer(HTTPRequest(url: nil))
        answer.failureOffset = 8
        answer.stallsAtFailure = true
        return StubTransport(answers: [answer])
    }

    @Test func `a cancel without resume data removes the file`() async throws {
        let transport = stalling
        let session = Session(transport: transport)
        let request = try await halfway(session)
        guard case .file(let path, _)? = transport.jobs.first?.delivery else {
            Issue.record("\(transport.jobs)")
            return
        }
        #expect(FileManager.default.fileExists(atPath: path))
        request.cancel()
        let response = await request.serializingDownloadedFileURL().response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect(response.resumeData == nil)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `a cancel can produce resume data`() async throws {
        let stalled = Session(transport: stalling)
        let request = try await halfway(stalled)
        request.cancel(producingResumeData: true)
        let response = await request.serializingDownloadedFileURL().response
        #expect(response.error?.isExplicitlyCancelledError == true)
        let data = try #require(response.resumeData)
        #expect(request.resumeData == data)
        let session = Session(transport: Content(text).transport)
        let resumed = await session.download(resumingWith: data, to: place)
            .serializingDownloadedFileURL().response
        #expect(resumed.response?.statusCode == 206)
        #expect(directory.text("a") == text)
    }

    /// The ways in which a session ends its requests.
    enum End: CaseIterable { case release, invalidation, shutdown }

    private func end(_ session: inout Session?, by way: End) async {
        switch way {
        case .release: session = nil
        case .invalidation: session?.invalidate()
        case .shutdown: _ = await session?.shutDown(deadline: .zero)
        }
    }

    @Test(arguments: End.allCases)
    func `a resumed download that its session has ended keeps its part`(way: End) async throws {
        let failed = await broken(Content(text, breaks: [8]))
        let sent = Recorder<Int>()
        var session: Session? = Session(
            transport: StubTransport { _ in
                sent.record(1)
                return .silence
            })
        let ended = Recorder<DownloadResponse<URL?, SessionError>>()
        try #require(session).download(
            resumingWith: try #require(failed.resumeData), to: place
        ).response { ended.record($0) }
        try await sent.values(1)
        await end(&session, by: way)
        let response = try await ended.values(1)[0]
        #expect(response.error != nil)
        let data = try #require(response.resumeData)
        #expect(try FileManager.default.fileExists(atPath: file(data)))
        DownloadRequest.discard(resumeData: data)
    }

    @Test func `each cancel closure gets the same resume data once`() async throws {
        let session = Session(transport: stalling)
        let request = try await halfway(session)
        let seen = Recorder<Data?>()
        request.cancel { seen.record($0) }
        _ = await request.serializingDownloadedFileURL().response
        request.cancel { seen.record($0) }
        let values = try await seen.values(2)
        #expect(values[0] != nil && values[0] == values[1])
        DownloadRequest.discard(resumeData: try #require(values[0]))
    }

    @Test func `discarding resume data removes the part file`() async throws {
        let failed = await broken(Content(text, breaks: [8]))
        let data = try #require(failed.resumeData)
        let file = try file(data)
        #expect(FileManager.default.fileExists(atPath: file))
        DownloadRequest.discard(resumeData: data)
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    /// Returns the resume data with the given path as its file.
    private func naming(_ path: String, in data: Data) throws -> Data {
        let other = String(decoding: data, as: UTF8.self).replacing(try file(data), with: path)
        #expect(try file(Data(other.utf8)) == path)
        return Data(other.utf8)
    }

    @Test(arguments: [
        "notes", "Outlet_notes.part", "notes.part", "Outlet_00000000-0000-0000-0000-000000000000",
    ])
    func `resume data with another file name discards nothing and does not write to it`(
        name: String
    ) async throws {
        let content = Content(text, breaks: [8])
        let data = try #require(await broken(content).resumeData)
        try directory.write("kept", to: name)
        let other = try naming(directory.url.appending(path: name).path, in: data)
        DownloadRequest.discard(resumeData: other)
        #expect(directory.text(name) == "kept")
        let transport = content.transport
        let session = Session(transport: transport)
        _ = try await session.download(resumingWith: other, to: place)
            .serializingDownloadedFileURL().value
        #expect(transport.requests.first?.headers["Range"] == nil)
        #expect(directory.text(name) == "kept" && directory.text("a") == text)
        DownloadRequest.discard(resumeData: Data())
        DownloadRequest.discard(resumeData: data)
    }

    @Test func `a cancel before the start produces no resume data`() async throws {
        let session = Session(transport: stalling, startRequestsImmediately: false)
        let seen = Recorder<Data?>()
        session.download(address).cancel { seen.record($0) }
        #expect(try await seen.values(1) == [nil])
    }

    @Test func `bytes after the length in the resume data are overwritten`() async throws {
        let failed = await broken(Content(text, breaks: [8]))
        let data = try #require(failed.resumeData)
        let path = try file(data)
        let kept = try Data(contentsOf: URL(filePath: path))
        try (kept + Data("not of this content".utf8)).write(to: URL(filePath: path))
        let transport = Content(text).transport
        let session = Session(transport: transport)
        let resumed = await session.download(resumingWith: data, to: place)
            .serializingDownloadedFileURL().response
        #expect(resumed.response?.statusCode == 206)
        #expect(transport.requests.last?.headers["Range"] == "bytes=\(kept.count)-")
        #expect(directory.text("a") == text)
        withExtendedLifetime(session) {}
    }
}
