import Dispatch
import FoundationEssentials
import Glibc
import OutletObservation
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

extension AloneTests {
    /// Full disks, removed directories and read-only directories.
    @Suite(.timeLimit(.minutes(patience))) struct DiskFaultTests {
        private typealias Outcome = DownloadResponse<URL?, SessionError>

        private static func download(
            _ url: String, to path: String, _ options: DownloadRequest.Options = [],
            while meanwhile: @Sendable () async throws -> Void = {}
        ) async throws -> Outcome {
            let ended = ExactlyOnce<Outcome>()
            let completion = ended.completion()
            let session = Session.isolated()
            session.download(url, to: { _, _ in (URL(filePath: path), options) })
                .response { completion($0) }
            try await meanwhile()
            let outcome = try await ended.values()[0]
            withExtendedLifetime(session) {}
            #expect(ended.fault == nil)
            return outcome
        }

        private static func cocoaCode(_ outcome: Outcome) -> CocoaError.Code? {
            (outcome.error?.underlyingError as? CocoaError)?.code
        }

        /// Removes the file that an error names as its source.
        private static func removeSource(_ outcome: Outcome) {
            if let source = outcome.error?.sourceURL {
                try? FileManager.default.removeItem(at: source)
            }
        }

        // MARK: Full disks

        /// Whether this process has the right to mount, which root in a container may not have.
        static let mayMount =
            (try? mountDisk(kilobytes: 64)).map { descriptor in close(descriptor) == 0 } ?? false

        /// A file system of this size that no other process sees; removed with its descriptor.
        private static func mountDisk(kilobytes: Int) throws -> Int32 {
            let place = try TemporaryDirectory()
            guard mount("tmpfs", place.path, "tmpfs", 0, "size=\(kilobytes)k") == 0 else {
                throw TestSupportError("mount: \(String(cString: strerror(errno)))")
            }
            defer { umount2(place.path, Int32(MNT_DETACH)) }
            return open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }

        private static func smallDisk(kilobytes: Int) throws -> String {
            "/proc/self/fd/\(try mountDisk(kilobytes: kilobytes))"
        }

        @Test(.enabled(if: mayMount, "this user may not mount a small disk"))
        func `a full disk during a download is an error, and no partial file is left`() async {
            await #expect(processExitsWith: .success) {
                let destination = try TemporaryDirectory()
                let target = destination.path("file")
                let disk = try DiskFaultTests.smallDisk(kilobytes: 64)
                setenv("TMPDIR", disk, 1)
                let server = try LoopbackServer.start()
                let outcome = try await DiskFaultTests.download(
                    "\(server.baseURL)/bytes/1000000", to: target)
                let error = outcome.error?.transferError
                #expect(error?.code == .cannotWriteToFile)
                #expect(error?.reason.contains("No space left on device") == true)
                #expect(error?.advice == "free some space or choose another directory")
                #expect(access(target, F_OK) != 0)
                // The partial file is kept only if the download can be resumed.
                let left = try FileManager.default.contentsOfDirectory(atPath: disk)
                #expect(left.count == (outcome.resumeData == nil ? 0 : 1))
                withExtendedLifetime(destination) {}
            }
        }

        @Test(.enabled(if: mayMount, "this user may not mount a small disk"))
        func `a full disk does not change existing cookies and archives`() async {
            await #expect(processExitsWith: .success) {
                let disk = try DiskFaultTests.smallDisk(kilobytes: 64)
                let file = URL(filePath: "\(disk)/cookies")
                let storage = CookieStorage()
                storage.setCookie(Cookie(name: "a", value: "kept", domain: "h.test"))
                try storage.save(to: file)
                let archive = URL(filePath: "\(disk)/archive")
                try HAR(log: HAR.Log()).write(to: archive)
                let before = try [file, archive].map { try Data(contentsOf: $0) }

                for number in 0..<100 {
                    let value = String(repeating: "x", count: 2000)
                    storage.setCookie(Cookie(name: "\(number)", value: value, domain: "h.test"))
                }
                let error = #expect(throws: CacheStorageError.self) { try storage.save(to: file) }
                #expect("\(error as Any)".contains("No space left on device"))
                let filler = "\(disk)/filler"
                let left = open(filler, O_WRONLY | O_CREAT, 0o600)
                let block = [UInt8](repeating: 0, count: 4096)
                while write(left, block, block.count) > 0 {}
                close(left)
                #expect(throws: HARError.self) { try HAR(log: HAR.Log()).write(to: archive) }
                #expect(try [file, archive].map { try Data(contentsOf: $0) } == before)
                let names = try FileManager.default.contentsOfDirectory(atPath: disk)
                #expect(names.sorted() == ["archive", "cookies", "filler"])
            }
        }

        @Test(.enabled(if: mayMount, "this user may not mount a small disk"))
        func `a full disk at the destination is an error, and the downloaded file is kept`() async {
            await #expect(processExitsWith: .success) {
                let disk = try DiskFaultTests.smallDisk(kilobytes: 64)
                let server = try LoopbackServer.start()
                for options in [DownloadRequest.Options(), .removePreviousFile] {
                    let outcome = try await DiskFaultTests.download(
                        "\(server.baseURL)/bytes/1000000", to: "\(disk)/file", options)
                    #expect(outcome.error?.isDownloadedFileMoveError == true)
                    #expect(DiskFaultTests.cocoaCode(outcome) == .fileWriteOutOfSpace)
                    let left = try FileManager.default.contentsOfDirectory(atPath: disk)
                    #expect(left.isEmpty)
                    // The downloaded data is not lost.
                    let source = try #require(outcome.error?.sourceURL)
                    #expect(try Data(contentsOf: source).count == 1_000_000)
                    DiskFaultTests.removeSource(outcome)
                }
            }
        }

        @Test(.enabled(if: mayMount, "this user may not mount a small disk"))
        func `a download can be resumed after the disk was full`() async {
            await #expect(processExitsWith: .success) {
                let disk = try DiskFaultTests.smallDisk(kilobytes: 256)
                setenv("TMPDIR", disk, 1)
                try Data(count: 192 << 10).write(to: URL(filePath: "\(disk)/ballast"))
                let body = LoopbackServer.bytes(100_000)
                let server = try ScriptedServer.start { _ in
                    [
                        .answer { request in
                            let field = request.head.split(separator: "\r\n")
                                .first { $0.hasPrefix("Range: bytes=") }
                            let start = field.flatMap {
                                Int($0.dropFirst("Range: bytes=".count).dropLast())
                            }
                            let status =
                                start.map {
                                    "206 Partial Content\r\nContent-Range: bytes \($0)-99999/100000"
                                } ?? "200 OK"
                            let rest = body[(start ?? 0)...]
                            return Array(
                                ("HTTP/1.1 \(status)\r\nETag: \"1\"\r\n"
                                    + "Content-Length: \(rest.count)\r\n\r\n").utf8) + rest
                        }, .again,
                    ]
                }
                let full = try await DiskFaultTests.download(
                    server.baseURL, to: "\(disk)/file")
                #expect(full.error?.transferError?.code == .cannotWriteToFile)
                let data = try #require(full.resumeData)
                try FileManager.default.removeItem(atPath: "\(disk)/ballast")
                let session = Session.isolated()
                let rest = await session.download(
                    resumingWith: data, to: { _, _ in (URL(filePath: "\(disk)/file"), []) }
                ).serializingDownloadedFileURL().response
                #expect(rest.error == nil && rest.response?.statusCode == 206)
                #expect(try Data(contentsOf: URL(filePath: "\(disk)/file")) == Data(body))
                #expect(try FileManager.default.contentsOfDirectory(atPath: disk) == ["file"])
            }
        }

        @Test func `a download beyond the file size limit is an error`() async {
            await #expect(processExitsWith: .success) {
                var limit = rlimit(rlim_cur: 64 << 10, rlim_max: rlim_t.max)
                getrlimit(__rlimit_resource_t(1), &limit)
                limit.rlim_cur = 64 << 10
                setrlimit(__rlimit_resource_t(1), &limit)
                let directory = try TemporaryDirectory()
                let server = try LoopbackServer.start()
                let outcome = try await DiskFaultTests.download(
                    "\(server.baseURL)/bytes/1000000", to: directory.path("file"))
                #expect(outcome.error?.transferError?.code == .cannotWriteToFile)
                #expect(
                    outcome.error?.transferError?.reason.contains("written at byte 65536") == true)
                withExtendedLifetime(directory) {}
            }
        }

        // MARK: Destinations

        @Test(arguments: [[], DownloadRequest.Options.removePreviousFile])
        func `a destination removed during the download is an error, and the file is kept`(
            options: DownloadRequest.Options
        ) async throws {
            let directory = try TemporaryDirectory()
            let gate = try Gate()
            let server = try ScriptedServer.start(
                .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc"), .wait(gate),
                .send("def"))
            let outcome = try await Self.download(
                server.baseURL, to: directory.path("file"), options
            ) {
                try await server.requests.values(1)
                try FileManager.default.removeItem(atPath: directory.path)
                gate.open()
            }
            #expect(outcome.error?.isDownloadedFileMoveError == true)
            #expect(Self.cocoaCode(outcome) == .fileNoSuchFile)
            let source = try #require(outcome.error?.sourceURL)
            #expect(try Data(contentsOf: source) == Data("abcdef".utf8))
            Self.removeSource(outcome)
        }

        @Test func `a removed temporary directory is an error`() async {
            await #expect(processExitsWith: .success) {
                let destination = try TemporaryDirectory()
                let target = destination.path("file")
                let directory = try TemporaryDirectory()
                setenv("TMPDIR", directory.path, 1)
                let gate = try Gate()
                let server = try ScriptedServer.start(
                    .request, .send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc"), .wait(gate),
                    .send("def"))
                let vanished = try await DiskFaultTests.download(
                    server.baseURL, to: target
                ) {
                    try await server.requests.values(1)
                    try FileManager.default.removeItem(atPath: directory.path)
                    gate.open()
                }
                #expect(vanished.error != nil && vanished.fileURL == nil)
                #expect(access(target, F_OK) != 0)
                let missing = try await DiskFaultTests.download(
                    server.baseURL, to: target)
                #expect(missing.error?.transferError?.code == .cannotCreateFile)
                #expect(missing.error?.transferError?.advice.contains("TMPDIR") == true)
                withExtendedLifetime(destination) {}
            }
        }

        /// Makes a request after it has ended.
        private struct Late: URLRequestConvertible {
            let asked = try? Gate()
            let ended = try? Gate()

            func asURLRequest() throws -> HTTPRequest {
                asked?.open()
                _ = ended?.isOpen(within: .seconds(60))
                return HTTPRequest(url: URL(string: "http://127.0.0.1:1/"))
            }
        }

        @Test func `a download that was cancelled while it was made leaves no file`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                setenv("TMPDIR", directory.path, 1)
                let late = Late()
                let queue = DispatchQueue(label: "requests")
                let session = Session(requestQueue: queue)
                let task = session.download(late).serializingDownloadedFileURL()
                try await late.asked?.opened()
                task.cancel()
                #expect(await task.response.error?.isExplicitlyCancelledError == true)
                late.ended?.open()
                await queue.drained()
                #expect(directory.names == [])
                withExtendedLifetime(session) {}
            }
        }

        @Test func `a download removes partial files that are older than a week`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                setenv("TMPDIR", directory.path, 1)
                let forgotten = try directory.write("abc", to: "Outlet_\(UUID().uuidString).part")
                try FileManager.default.setAttributes(
                    [.modificationDate: Date.now - 8 * 86_400], ofItemAtPath: forgotten)
                let wanted = try directory.write("abc", to: "Outlet_\(UUID().uuidString).part")
                let server = try ScriptedServer.start(.request, .respond(body: "x"))
                let outcome = try await DiskFaultTests.download(
                    server.baseURL, to: directory.path("file"))
                #expect(outcome.error == nil)
                while access(forgotten, F_OK) == 0, !Task.isCancelled { await Task.yield() }
                #expect(access(wanted, F_OK) == 0)
            }
        }

        @Test(arguments: [[], DownloadRequest.Options.removePreviousFile])
        func `a directory at the destination is not replaced`(options: DownloadRequest.Options)
            async throws
        {
            let directory = try TemporaryDirectory()
            let kept = try directory.write("kept", to: "place/kept")
            let server = try LoopbackServer.start()
            let outcome = try await Self.download(
                "\(server.baseURL)/bytes/10", to: directory.path("place"), options)
            #expect(outcome.error?.isDownloadedFileMoveError == true)
            #expect(Self.cocoaCode(outcome) == .fileWriteFileExists)
            #expect(access(kept, F_OK) == 0)
            Self.removeSource(outcome)
        }

        @Test func `a destination without write permission is an error`() async {
            await #expect(processExitsWith: .success) {
                let directory = try TemporaryDirectory()
                chmod(directory.path, 0o555)
                // Root may write everywhere.
                if geteuid() == 0 { seteuid(65534) }
                let server = try LoopbackServer.start()
                for options in [DownloadRequest.Options(), .removePreviousFile] {
                    let outcome = try await DiskFaultTests.download(
                        "\(server.baseURL)/bytes/10", to: directory.path("file"), options)
                    #expect(outcome.error?.isDownloadedFileMoveError == true)
                    #expect(DiskFaultTests.cocoaCode(outcome) == .fileWriteNoPermission)
                    DiskFaultTests.removeSource(outcome)
                }
                if getuid() == 0 { seteuid(0) }
            }
        }

        @Test func `an upload of a directory is an error, and nothing is sent`() async throws {
            let directory = try TemporaryDirectory()
            let server = try ScriptedServer.start(.request, .respond())
            for path in [directory.path, directory.path("none")] {
                let session = Session.isolated()
                let request = session.upload(URL(filePath: path), to: server.baseURL)
                let outcome = try await RequestKind.outcome(of: request, by: session)
                #expect(outcome.error != nil)
                #expect("\(outcome.error.map { "\($0)" } ?? "")".contains(path))
            }
            #expect(server.requests.count == 0)
        }
    }
}
