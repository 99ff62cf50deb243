import Dispatch
import FoundationEssentials
import Outlet
import OutletFiles
import OutletTestServer
import OutletTestSupport
import Testing

/// Downloads over libcurl: from nginx, and from a server that closes at a given byte.
@Suite struct DownloadTests {
    let directory: TemporaryDirectory
    let destination: DownloadRequest.Destination

    init() throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        let url = URL(filePath: directory.path("file"))
        destination = { _, _ in (url, .removePreviousFile) }
    }

    private var file: Data? { try? Data(contentOf: URL(filePath: directory.path("file"))) }
    private var text: String? { file.map { String(decoding: $0, as: UTF8.self) } }

    private func expectLargeFile(of nginx: Nginx) throws {
        let data = try #require(file)
        #expect(data.count == nginx.largeFileSize)
        for position in stride(from: 0, to: data.count, by: 1_000_003) {
            #expect(data[data.startIndex + position] == Nginx.largeFileByte(at: position))
        }
    }

    @Test func `a large file is downloaded completely, with progress up to 1`() async throws {
        let nginx = try await Nginx.shared()
        let session = Session()
        let progress = Recorder<TransferProgress>()
        // A queue of its own: calls that wait for more than a second are dropped at the end.
        let queue = DispatchQueue(label: "progress")
        let request = session.download("\(nginx.baseURL())/large.bin", to: destination)
            .downloadProgress(queue: queue) { progress.record($0) }
        let response = await request.validate().serializingDownloadedFileURL().response
        #expect(response.error == nil)
        try expectLargeFile(of: nginx)
        let values = try await progress.values { $0.fractionCompleted == 1 }
        #expect(
            zip(values, values.dropFirst()).allSatisfy {
                $0.completedUnitCount < $1.completedUnitCount
            })
    }

    @Test(arguments: [Nginx.Listener.plain, .tls])
    func `a cancelled download continues at its last byte`(listener: Nginx.Listener) async throws {
        let nginx = try await Nginx.shared()
        var configuration = SessionConfiguration()
        configuration.certificateAuthorities = .file(path: nginx.authority.certificatePath)
        let session = Session(configuration: configuration)
        let first = session.download("\(nginx.baseURL(listener))/large.bin", to: destination)
        first.downloadProgress { [weak first] progress in
            if progress.completedUnitCount > 1 << 20 { first?.cancel(producingResumeData: true) }
        }
        let cancelled = await first.serializingDownloadedFileURL().response
        #expect(cancelled.error?.isExplicitlyCancelledError == true)
        let data = try #require(cancelled.resumeData)
        #expect(file == nil)

        let progress = Recorder<TransferProgress>()
        let second = session.download(resumingWith: data, to: destination)
            .downloadProgress { progress.record($0) }
        let response = await second.validate().serializingDownloadedFileURL().response
        #expect(response.error == nil)
        #expect(response.response?.statusCode == 206)
        try expectLargeFile(of: nginx)
        let values = try await progress.values(1)
        #expect(values.allSatisfy { $0.completedUnitCount > 1 << 20 })
        #expect(values.allSatisfy { $0.totalUnitCount == Int64(nginx.largeFileSize) })
    }

    @Test func `a suspended download continues after resume`() async throws {
        let nginx = try await Nginx.shared()
        let session = Session()
        let progress = Recorder<Int64>()
        let request = session.download("\(nginx.baseURL())/large.bin", to: destination)
        request.downloadProgress { [weak request] value in
            if progress.count == 0 { request?.suspend() }
            progress.record(value.completedUnitCount)
        }
        let task = request.serializingDownloadedFileURL()
        try await progress.values(1)
        #expect(request.isSuspended)
        request.resume()
        #expect(await task.response.error == nil)
        try expectLargeFile(of: nginx)
    }

    // MARK: Broken connections

    private let content = "0123456789"

    /// A server that closes after `count` bytes, then sends the rest on a Range request.
    private func server(breaksAfter count: Int) throws -> ScriptedServer {
        let content = content
        return try ScriptedServer.start { connection in
            let head = ["ETag: \"v1\"", "Connection: close"]
            guard connection > 0 else {
                let lines = ["HTTP/1.1 200 OK", "Content-Length: \(content.utf8.count)"] + head
                let sent = lines.joined(separator: "\r\n") + "\r\n\r\n" + content.prefix(count)
                return [.request, .send(sent)]
            }
            let range = "Content-Range: bytes \(count)-\(content.count - 1)/\(content.count)"
            return [
                .request,
                .respond(
                    "206 Partial Content", headers: head + [range],
                    body: String(content.dropFirst(count))),
            ]
        }
    }

    @Test(arguments: 1..<10)
    func `after a lost connection only the missing bytes are requested`(count: Int) async throws {
        let server = try server(breaksAfter: count)
        defer { server.stop() }
        let session = Session(
            interceptor: Retrier { _, _, _, completion in completion(.retry) })
        let response = await session.download("\(server.baseURL)/file", to: destination)
            .serializingDownloadedFileURL().response
        #expect(response.error == nil)
        #expect(text == content)
        let requests = try await server.requests.values(2)
        #expect(try requests.at(0).head.lowercased().contains("accept-encoding: identity\r\n"))
        #expect(try !requests.at(0).head.contains("Range:"))
        #expect(try requests.at(1).head.contains("Range: bytes=\(count)-\r\n"))
        #expect(try requests.at(1).head.contains("If-Range: \"v1\"\r\n"))
    }

    @Test func `a download that is ended with its session continues at its last byte`() async throws
    {
        let nginx = try await Nginx.shared()
        let ending = Session()
        let first = ending.download("\(nginx.baseURL())/large.bin", to: destination)
        first.downloadProgress { if $0.completedUnitCount > 1 << 20 { ending.invalidate() } }
        let ended = await first.serializingDownloadedFileURL().response
        #expect(ended.error?.isSessionInvalidatedError == true && file == nil)
        let data = try #require(ended.resumeData)
        let session = Session()
        let response = await session.download(resumingWith: data, to: destination).validate()
            .serializingDownloadedFileURL().response
        #expect(response.error == nil && response.response?.statusCode == 206)
        try expectLargeFile(of: nginx)
    }

    @Test func `a lost connection without a retrier produces resume data`() async throws {
        let server = try server(breaksAfter: 4)
        defer { server.stop() }
        let session = Session()
        let failed = await session.download("\(server.baseURL)/file", to: destination)
            .serializingDownloadedFileURL().response
        #expect(failed.error?.transferError?.code == .networkConnectionLost)
        let response = await session.download(
            resumingWith: try #require(failed.error?.downloadResumeData), to: destination
        ).serializingDownloadedFileURL().response
        #expect(response.error == nil)
        #expect(text == content)
    }

    @Test func `the body of a redirect is not written to the file`() async throws {
        let server = try ScriptedServer.start { connection in
            connection == 0
                ? [
                    .request,
                    .respond(
                        "302 Found", headers: ["Location: /to", "Connection: close"],
                        body: "elsewhere"),
                ] : [.request, .respond(headers: ["Connection: close"], body: "here")]
        }
        defer { server.stop() }
        let session = Session()
        _ = try await session.download("\(server.baseURL)/file", to: destination)
            .serializingDownloadedFileURL().value
        #expect(text == "here")
    }

    @Test func `a directory that cannot be written to is an error`() async throws {
        let server = try LoopbackServer.start()
        defer { server.stop() }
        let session = Session()
        let nowhere: DownloadRequest.Destination = { _, _ in (URL(filePath: "/proc/none/file"), [])
        }
        let response = await session.download("\(server.baseURL)/bytes/10", to: nowhere)
            .serializingDownloadedFileURL().response
        #expect(response.error?.isDownloadedFileMoveError == true)
        if let source = response.error?.sourceURL { try FileManager.default.removeItem(at: source) }
    }

    @Test func `an empty body creates an empty file`() async throws {
        let server = try LoopbackServer.start()
        defer { server.stop() }
        let session = Session()
        _ = try await session.download("\(server.baseURL)/bytes/0", to: destination)
            .serializingDownloadedFileURL().value
        #expect(file == Data())
    }
}
