import FoundationEssentials
import Glibc
import Outlet
import OutletFiles
import OutletTestServer
import OutletTestSupport
import Testing

/// Requests for local files.
@Suite(.timeLimit(.minutes(patience))) struct FileURLTests {
    let directory: TemporaryDirectory
    let url: URL

    /// A session that may read files.
    private var session: Session {
        var configuration = SessionConfiguration()
        configuration.allowsFileURLs = true
        return Session(configuration: configuration)
    }

    init() throws {
        directory = try TemporaryDirectory()
        try directory.write("from a file", to: "a file")
        url = URL(filePath: directory.path("a file"))
    }

    @Test func `a file request returns the content without a response`() async {
        let session = session
        let response = await session.request(url).validate().serializingString(encoding: .utf8)
            .response
        #expect(response.value == "from a file")
        #expect(response.response == nil)
        #expect(response.metrics != nil)
    }

    @Test func `a file request is an error unless the configuration allows it`() async throws {
        let session = Session()
        let got = await session.request(url).serializingData().response
        let saved = await session.download(url).serializingDownloadedFileURL().response
        for error in [got.error, saved.error] {
            #expect(error?.transferError?.code == .unsupportedURL)
            let text = "\(try #require(error?.transferError))"
            #expect(text.contains("allowsFileURLs"))
        }
        #expect(got.data == nil && saved.fileURL == nil)
    }

    @Test func `an encoded NUL does not end the path`() async throws {
        let session = session
        let longer = try #require(URL(string: "\(url.absoluteString)%00.png"))
        let response = await session.request(longer).serializingData().response
        #expect(response.error?.transferError?.code == .fileDoesNotExist)
        #expect(throws: (any Error).self) { try Data(contentOf: longer) }
    }

    @Test func `a file is downloaded to the temporary directory`() async throws {
        let session = session
        let copy = try await session.download(url, to: { _, _ in (URL(filePath: "/none"), []) })
            .serializingDownloadedFileURL().value
        #expect(try Data(contentsOf: copy) == Data("from a file".utf8))
        try FileManager.default.removeItem(at: copy)
        #expect(FileManager.default.fileExists(atPath: url.path))
    }

    @Test func `a file is streamed`() async throws {
        try directory.write(String(repeating: "x", count: 300_000), to: "large")
        let session = session
        var count = 0
        var completion: DataStreamRequest.Completion?
        for await stream in session.streamRequest(URL(filePath: directory.path("large")))
            .streamTask().streamingData()
        {
            count += stream.value?.count ?? 0
            completion = stream.completion
        }
        #expect(count == 300_000)
        #expect(completion?.response == nil)
        #expect(completion?.error == nil)
    }

    @Test(arguments: [
        ("/nowhere/file", TransferError.Code.fileDoesNotExist), ("/proc", .fileIsDirectory),
        ("/dev/zero", .cannotOpenFile),
    ])
    func `a missing file, a directory and a device are errors`(
        path: String, code: TransferError.Code
    ) async {
        let session = session
        let response = await session.request(URL(filePath: path)).serializingData().response
        #expect(response.error?.transferError?.code == code)
        #expect("\(response.error.map { "\($0)" } ?? "")".contains(path))
    }

    @Test func `a named pipe is an error without waiting for its writer`() async throws {
        let pipe = directory.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        let session = session
        let response = await session.request(URL(filePath: pipe)).serializingData().response
        #expect(response.error?.transferError?.code == .cannotOpenFile)
    }

    /// The page map of this process, with a size of several hundred GiB.
    private static let endless = URL(filePath: "/proc/self/pagemap")

    @Test func `reading an endless file ends with the resource timeout`() async throws {
        var configuration = SessionConfiguration()
        configuration.allowsFileURLs = true
        configuration.timeoutIntervalForResource = 0.2
        let session = Session(configuration: configuration)
        let ended = ExactlyOnce<SessionError?>()
        let completion = ended.completion()
        session.streamRequest(Self.endless).responseStream { stream in
            if let end = stream.completion { completion(end.error) }
        }
        let error = try await ended.values()[0]
        #expect(error?.transferError?.code == .timedOut)
        #expect(error?.transferError?.advice.contains("timeoutIntervalForResource") == true)
        withExtendedLifetime(session) {}
    }

    @Test func `reading an endless file can be cancelled`() async throws {
        let session = session
        let ended = ExactlyOnce<SessionError?>()
        let completion = ended.completion()
        let request = session.streamRequest(Self.endless)
        request.responseStream { stream in
            if let end = stream.completion { return completion(end.error) }
            request.cancel()
        }
        #expect(try await ended.values()[0]?.isExplicitlyCancelledError == true)
        withExtendedLifetime(session) {}
    }

    @Test func `an upload to a file and a file URL with a host are errors`() async throws {
        let session = session
        let sent = await session.upload(Data("x".utf8), to: url).serializingData().response
        #expect(sent.error?.transferError?.code == .badRequest)
        let far = await session.request("file://example.test\(url.path)").serializingData().response
        #expect(far.error?.transferError?.code == .badURL)
    }

    @Test func `a redirect to a file is an error`() async throws {
        let server = try LoopbackServer.start()
        defer { server.stop() }
        let session = session
        let url = url
        let address = "\(server.baseURL)/redirect/1"
        let response = await session.request(address).redirect(
            using: .modify { _, request, _ in
                var request = request
                request.url = url
                return request
            }
        ).serializingData().response
        #expect(response.error?.transferError?.code == .unsupportedURL)
        #expect(response.data == nil)
    }
}
