import FoundationEssentials
import OutletFiles
import OutletHTTP
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@testable import OutletSession

/// Records the events of a download.
private struct DownloadMonitor: EventMonitor {
    let seen = Recorder<String>()

    func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
        seen.record("destination")
    }

    func request(
        _ request: DownloadRequest, didFinishDownloadingUsing task: any TransferTask,
        with result: Result<URL, SessionError>
    ) {
        seen.record((try? result.get()) == nil ? "failed" : "finished")
    }

    func request(
        _ request: DownloadRequest, didValidateRequest urlRequest: HTTPRequest?,
        response: HTTPResponse, fileURL: URL?, withResult result: Request.ValidationResult
    ) { seen.record("validated") }

    func request(_ request: Request, didCompleteTask task: any TransferTask, with: SessionError?) {
        seen.record("completed")
    }

    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, SessionError>
    ) { seen.record("parsed") }
}

@Suite struct DownloadRequestTests {
    let address = "http://example.test/dir/file.txt"
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func place(
        _ name: String, _ options: DownloadRequest.Options = []
    ) -> DownloadRequest.Destination {
        { [url = directory.url] _, _ in (url.appending(path: name), options) }
    }

    private func content(of url: URL?) -> String? {
        url.flatMap { try? Data(contentOf: $0) }.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `the body is in the file when the completion is called`() async throws {
        let transport = Content("hello, file").transport
        let session = Session(transport: transport)
        let response = await session.download(address, to: place("a.txt"))
            .serializingDownloadedFileURL().response
        #expect(response.value == directory.url.appending(path: "a.txt"))
        #expect(response.fileURL == response.value)
        #expect(directory.text("a.txt") == "hello, file")
        #expect(transport.requests.first?.headers["Accept-Encoding"] == "identity")
        guard case .file? = transport.jobs.first?.delivery else {
            Issue.record("\(transport.jobs)")
            return
        }
    }

    @Test func `without a destination the file is kept under a generated name`() async throws {
        let session = Session(transport: Content("x").transport)
        let url = try await session.download(address).serializingDownloadedFileURL().value
        defer { try? FileManager.default.removeItem(at: url) }
        #expect(content(of: url) == "x")
        #expect(url.lastPathComponent.hasPrefix("Outlet_"))
        #expect(url.pathExtension == "")
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        #expect("\(attributes[.posixPermissions] ?? 0)" == "\(0o600)")
    }

    @Test func `a moved file has the usual permissions, one that cannot be moved stays private`()
        async throws
    {
        let session = Session(transport: Content("x").transport)
        func permissions(_ url: URL) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
        }
        let new = try directory.write("x", to: "new")
        let usual = try permissions(URL(filePath: new))
        let moved = try await session.download(address, to: place("moved"))
            .serializingDownloadedFileURL().value
        #expect(try permissions(moved) == usual)

        let error = await session.download(address, to: { [directory] _, _ in (directory.url, []) })
            .serializingDownloadedFileURL().response.error
        guard case .downloadedFileMoveFailed(_, let source, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        defer { try? FileManager.default.removeItem(at: source) }
        #expect(try permissions(source) == 0o600)
    }

    @Test func `a file that its destination leaves in place loses the part extension`()
        async throws
    {
        let session = Session(transport: Content("x").transport)
        let url = try await session.download(address, to: { file, _ in (file, []) })
            .serializingDownloadedFileURL().value
        defer { try? FileManager.default.removeItem(at: url) }
        #expect(content(of: url) == "x")
        // The extension marks part files, which are removed when they are stale.
        #expect(url.lastPathComponent.hasPrefix("Outlet_") && url.pathExtension.isEmpty)
    }

    @Test func `an empty body is an empty file`() async throws {
        let session = Session(transport: StubTransport(answers: [.status(200)]))
        let url = try await session.download(address, to: place("empty"))
            .serializingDownloadedFileURL().value
        #expect(content(of: url) == "")
    }

    @Test func `a downloaded file can be serialized as bytes, text and values`() async throws {
        let session = Session(transport: StubTransport(answers: [.json("[1, 2]")]))
        let request = session.download(address, to: place("a.json"))
        #expect(try await request.serializingData().value == Data("[1, 2]".utf8))
        #expect(try await request.serializingString().value == "[1, 2]")
        #expect(try await request.serializingDecodable([Int].self).value == [1, 2])
        #expect(try await request.serializingDownload(using: .string).value == "[1, 2]")
        #expect(directory.names == ["a.json"])
    }

    @Test func `the events of a download are reported in order`() async throws {
        let monitor = DownloadMonitor()
        let session = Session(transport: Content("x").transport, eventMonitors: [monitor])
        _ = await session.download(address, to: place("a")).validate(statusCode: 200..<300)
            .serializingDownloadedFileURL().response
        #expect(
            try await monitor.seen.values(5)
                == ["destination", "finished", "validated", "completed", "parsed"])
    }

    // MARK: Moving

    @Test func `a missing directory is an error with both paths, and the file is kept`()
        async throws
    {
        let session = Session(transport: Content("kept").transport)
        let response = await session.download(address, to: place("none/a"))
            .serializingDownloadedFileURL().response
        #expect(response.error?.isDownloadedFileMoveError == true)
        #expect((response.error?.underlyingError as? CocoaError)?.code == .fileNoSuchFile)
        #expect(response.error?.description.hasSuffix("/none/a: No such file or directory") == true)
        #expect(response.error?.destinationURL == directory.url.appending(path: "none/a"))
        #expect(content(of: response.error?.sourceURL) == "kept")
        if let source = response.error?.sourceURL { try FileManager.default.removeItem(at: source) }
    }

    @Test func `a missing directory is created with createIntermediateDirectories`() async throws {
        let session = Session(transport: Content("x").transport)
        _ = try await session.download(
            address, to: place("one/two/a", .createIntermediateDirectories)
        ).serializingDownloadedFileURL().value
        #expect(directory.text("one/two/a") == "x")
    }

    @Test func `an existing file is kept, unless removePreviousFile is set`() async throws {
        try directory.write("old", to: "a")
        let session = Session(transport: Content("new").transport)
        let refused = await session.download(address, to: place("a"))
            .serializingDownloadedFileURL().response
        #expect((refused.error?.underlyingError as? CocoaError)?.code == .fileWriteFileExists)
        #expect(refused.error?.description.hasSuffix("/a: File exists") == true)
        #expect(directory.text("a") == "old")
        if let source = refused.error?.sourceURL { try FileManager.default.removeItem(at: source) }
        _ = try await session.download(address, to: place("a", .removePreviousFile))
            .serializingDownloadedFileURL().value
        #expect(directory.text("a") == "new")
        #expect(directory.names == ["a"])
    }

    @Test func `of files that are moved to one place at the same time one gets there`()
        async throws
    {
        for round in 0..<200 {
            let (sources, moved) = (directory, Recorder<Int>())
            let target = directory.url.appending(path: "target-\(round)")
            for number in 0..<4 { try sources.write("\(number)", to: "\(number)") }
            try await concurrently(4) { number in
                let source = sources.url.appending(path: "\(number)")
                if (try? FileMove.move(source, to: target, options: [])) != nil {
                    moved.record(number)
                }
            }
            #expect(moved.count == 1)
            #expect(sources.text("target-\(round)") == "\(try moved.values.at(0))")
        }
    }

    @Test func `a directory with contents at the destination is not removed`() async throws {
        try FileManager.default.createDirectory(
            at: directory.url.appending(path: "a/b"), withIntermediateDirectories: true)
        let session = Session(transport: Content("new").transport)
        let response = await session.download(address, to: place("a", .removePreviousFile))
            .serializingDownloadedFileURL().response
        #expect(response.error?.isDownloadedFileMoveError == true)
        #expect(response.error?.description.hasSuffix("/a: Is a directory") == true)
        #expect(directory.names == ["a"])
        if let source = response.error?.sourceURL { try FileManager.default.removeItem(at: source) }
    }

    @Test func `a suggested file name cannot leave the directory`() async throws {
        let answer = StubAnswer(
            headers: ["Content-Disposition": #"attachment; filename="../../evil.txt""#],
            body: Data("x".utf8))
        let session = Session(transport: StubTransport(answers: [answer]))
        let destination = DownloadRequest.suggestedDownloadDestination(in: directory.url)
        let url = try await session.download(address, to: destination)
            .serializingDownloadedFileURL().value
        #expect(url == directory.url.appending(path: "evil.txt"))
        #expect(directory.names == ["evil.txt"])
    }

    // MARK: Redirects and validation

    @Test func `a redirect's body is not written to the file`() async throws {
        let redirect = StubAnswer(
            statusCode: 302, headers: ["Location": "/to"], body: Data("not this".utf8))
        for handler in [Redirector.follow, .modify { _, request, _ in request }] {
            let session = Session(transport: StubTransport(answers: [redirect, .text("x")]))
            _ = try await session.download(address, to: place("a", .removePreviousFile))
                .redirect(using: handler).serializingDownloadedFileURL().value
            #expect(directory.text("a") == "x")
        }
    }

    @Test func `a redirect that is not followed is the content of the file`() async throws {
        let redirect = StubAnswer(
            statusCode: 302, headers: ["Location": "/to"], body: Data("this".utf8))
        for handler in [Redirector.doNotFollow, .modify { _, _, _ in nil }] {
            let session = Session(transport: StubTransport(answers: [redirect]))
            _ = try await session.download(address, to: place("a", .removePreviousFile))
                .redirect(using: handler).serializingDownloadedFileURL().value
            #expect(directory.text("a") == "this")
        }
    }

    @Test func `a response that fails validation is kept in the file`() async throws {
        let session = Session(
            transport: StubTransport(answers: [.text("not found", statusCode: 404)]))
        let response = await session.download(address, to: place("a")).validate()
            .serializingDownloadedFileURL().response
        #expect(response.error?.responseCode == 404)
        #expect(directory.text("a") == "not found")
        #expect(response.fileURL != nil)
    }

    @Test func `content types are checked unless the file is empty`() async throws {
        let session = Session(transport: StubTransport(answers: [.text("x"), .status(200)]))
        let refused = await session.download(address, to: place("a"))
            .validate(contentType: ["application/json"]).serializingDownloadedFileURL().response
        #expect(refused.error?.responseContentType == "text/plain")
        let empty = await session.download(address, to: place("b"))
            .validate(contentType: ["application/json"]).serializingDownloadedFileURL().response
        #expect(empty.error == nil)
    }

    @Test func `a validator receives the file URL, and its error is wrapped`() async throws {
        let session = Session(transport: Content("x").transport)
        let seen = Recorder<URL?>()
        let response = await session.download(address, to: place("a")).validate { _, _, fileURL in
            seen.record(fileURL)
            return .failure(Refused())
        }.serializingDownloadedFileURL().response
        #expect(response.error?.isResponseValidationError == true)
        #expect(response.error?.underlyingError is Refused)
        #expect(seen.values == [response.fileURL])
    }

    @Test(arguments: [false, true])
    func `a download that was cancelled before its file is moved leaves no file`(
        producesResumeData: Bool
    ) async throws {
        let (asked, ended) = (try Gate(), try Gate())
        let (monitor, part) = (DownloadMonitor(), Once<URL>())
        let url = directory.url.appending(path: "a")
        let session = Session(transport: Content("x").transport, eventMonitors: [monitor])
        let destination: DownloadRequest.Destination = { temporary, _ in
            part.set(temporary)
            asked.open()
            _ = ended.isOpen(within: .seconds(60))
            return (url, [])
        }
        let request = session.download(address, to: destination)
        let task = request.serializingDownloadedFileURL()
        try await asked.opened()
        request.cancel(producingResumeData: producesResumeData)
        let response = await task.response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect(response.fileURL == nil && response.resumeData == nil)
        ended.open()
        // The last event of an attempt, after the file would have been moved.
        var count = 1
        while try await monitor.seen.values(count)[count - 1] != "completed" { count += 1 }
        #expect(directory.names == [])
        #expect(try await !FileManager.default.fileExists(atPath: part.value().path))
    }

    @Test func `a retry replaces the file of the first attempt`() async throws {
        let session = Session(
            transport: StubTransport(answers: [.text("no", statusCode: 401), .text("yes")]),
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        _ = try await session.download(address, to: place("a")).validate()
            .serializingDownloadedFileURL().value
        #expect(directory.text("a") == "yes")
    }

    @Test(arguments: [DownloadRequest.Options.removePreviousFile, []])
    func `a handler added after the end does not replace the file that others have got`(
        options: DownloadRequest.Options
    ) async throws {
        let transport = StubTransport(answers: [.text("yes"), .text("no", statusCode: 500)])
        let session = Session(
            transport: transport,
            interceptor: Retrier { request, _, _, completion in
                completion(request.retryCount == 0 ? .retry : .doNotRetry)
            })
        let request = session.download(address, to: place("a", options)).validate()
        _ = try await request.serializingDownloadedFileURL().value
        let late = await request.serializingDecodable([Int].self).response
        #expect(late.error?.isResponseSerializationError == true)
        #expect(directory.text("a") == "yes" && late.fileURL?.lastPathComponent == "a")
        #expect(transport.requests.count == 1 && request.retryCount == 0)
    }

    @Test func `the file of the first attempt is removed even if the retry fails`() async {
        let transport = StubTransport(answers: [.text("no", statusCode: 401)])
        let session = Session(transport: transport)
        let interceptor = Interceptor(
            adaptHandler: { request, _, completion in
                completion(transport.requests.isEmpty ? .success(request) : .failure(Refused()))
            },
            retryHandler: { request, _, _, completion in
                completion(request.retryCount == 0 ? .retry : .doNotRetry)
            })
        let response = await session.download(address, interceptor: interceptor, to: place("a"))
            .validate().serializingDownloadedFileURL().response
        #expect(response.error?.isRequestAdaptationError == true)
        #expect(response.fileURL == nil && directory.names.isEmpty)
    }
}
