import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletLayers
@testable import OutletSession
@testable import OutletTransport

/// Tests the stores of the cache: memory and disk.
@Suite struct CacheStoreTests {
    private func request(_ path: String, _ headers: HTTPHeaders = [:]) -> HTTPRequest {
        HTTPRequest(url: URL(string: "http://a.test/\(path)"), headers: headers)
    }

    private func response(_ size: Int, _ fields: HTTPHeaders = [:]) -> CachedResponse {
        CachedResponse(
            response: HTTPResponse(url: nil, statusCode: 200, headers: fields),
            data: Data(repeating: 7, count: size))
    }

    private func onDisk(_ directory: TemporaryDirectory, capacity: Int = 1 << 20) -> ResponseCache {
        ResponseCache(
            memoryCapacity: 0, diskCapacity: capacity, directory: directory.url.appending(path: "c")
        )
    }

    private func files(_ directory: TemporaryDirectory) -> [URL] {
        let folder = directory.url.appending(path: "c")
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        return (names ?? []).map { folder.appending(path: $0) }
    }

    @Test func `the memory store evicts the least recently used response and keeps its limit`() {
        let cache = ResponseCache(memoryCapacity: 8 * 4096)
        for index in 0..<20 {
            cache.storeCachedResponse(response(3000), for: request("\(index)"))
            _ = cache.cachedResponse(for: request("0"))
            #expect(cache.currentMemoryUsage <= 8 * 4096)
        }
        #expect(cache.cachedResponse(for: request("0")) != nil)
        #expect(cache.cachedResponse(for: request("1")) == nil)
        #expect(cache.cachedResponse(for: request("19")) != nil)
        cache.memoryCapacity = 0
        #expect(cache.cachedResponse(for: request("19")) == nil)
        #expect(cache.currentMemoryUsage == 0)
    }

    @Test func `a response that is too large removes no other variant of its URL`() {
        let cache = ResponseCache(memoryCapacity: 64 * 1024)
        func asked(_ language: String) -> HTTPRequest {
            request("a", ["Accept-Language": language])
        }
        let vary: HTTPHeaders = ["Vary": "Accept-Language"]
        for language in ["de", "en"] {
            cache.storeCachedResponse(response(10, vary), for: asked(language))
        }
        cache.storeCachedResponse(response(1 << 20, vary), for: asked("de"))
        #expect(cache.cachedResponse(for: asked("de")) == nil)
        #expect(cache.cachedResponse(for: asked("en")) != nil)
        cache.storeCachedResponse(response(1 << 20, vary), for: asked("en"))
        #expect(cache.currentMemoryUsage == 0)
    }

    @Test func `a request that was answered before is answered with what is stored now`() throws {
        let cache = ResponseCache()
        let asked = CacheRequest(request("a"))
        func found() -> Int? {
            guard case .found(let entry) = cache.look(for: asked) else { return nil }
            return entry.data.count
        }
        for size in [1, 2] {
            cache.storeCachedResponse(response(size), for: request("a"))
            for _ in 0..<2 { #expect(found() == size) }
        }
        // Other responses are used in between.
        for index in 0..<20 {
            cache.storeCachedResponse(response(3), for: request("\(index)"))
            #expect(found() == 2)
        }
        // Another variant is stored for the same URL.
        cache.storeCachedResponse(
            response(4, ["Vary": "Accept-Language"]),
            for: request("a", ["Accept-Language": "de"]))
        #expect(found() == 2)
        cache.removeCachedResponse(for: request("a"))
        for _ in 0..<2 { #expect(found() == nil) }
    }

    @Test func `a request that was answered before keeps its response from being evicted`() {
        let cache = ResponseCache(memoryCapacity: 8 * 4096)
        cache.storeCachedResponse(response(3000), for: request("a"))
        let asked = CacheRequest(request("a"))
        for index in 0..<20 {
            cache.storeCachedResponse(response(3000), for: request("\(index)"))
            guard case .found = cache.look(for: asked) else {
                Issue.record("evicted after \(index)")
                return
            }
        }
    }

    @Test
    func `a response above an eighth of the memory capacity is not stored and removes the old one`()
    {
        let cache = ResponseCache(memoryCapacity: 80_000)
        cache.storeCachedResponse(response(100), for: request("a"))
        cache.storeCachedResponse(response(50_000), for: request("a"))
        #expect(cache.cachedResponse(for: request("a")) == nil)
    }

    @Test func `variants are stored side by side, in memory and on disk`() throws {
        let directory = try TemporaryDirectory()
        for cache in [ResponseCache(), onDisk(directory)] {
            for (language, size) in [("de", 1), ("en", 2), ("fr", 3)] {
                cache.storeCachedResponse(
                    response(size, ["Vary": "Accept-Language"]),
                    for: request("a", ["Accept-Language": language]))
            }
            cache.flush()
            for (language, size) in [("de", 1), ("en", 2), ("fr", 3)] {
                let found = cache.cachedResponse(for: request("a", ["Accept-Language": language]))
                #expect(found?.data.count == size, "\(language)")
            }
            #expect(cache.cachedResponse(for: request("a", ["Accept-Language": "it"])) == nil)
            cache.removeCachedResponse(for: request("a"))
            cache.flush()
            #expect(cache.cachedResponse(for: request("a", ["Accept-Language": "de"])) == nil)
        }
        #expect(files(directory).isEmpty)
    }

    @Test func `a response on disk is found by another cache, and only its owner can read it`()
        throws
    {
        let directory = try TemporaryDirectory()
        var kept = response(1000, ["ETag": "\"1\"", "Set-X": "1"])
        kept.userInfo = ["note": "ä"]
        let first = onDisk(directory)
        first.storeCachedResponse(kept, for: request("a"))
        first.flush()
        #expect(onDisk(directory).cachedResponse(for: request("a")) == kept)
        #expect(onDisk(directory).cachedResponse(for: request("b")) == nil)
        let file = try #require(files(directory).first)
        let folder = directory.url.appending(path: "c")
        for (url, mode) in [(file, mode_t(0o600)), (folder, 0o700)] {
            var status = stat()
            #expect(stat(url.path, &status) == 0)
            #expect(status.st_mode & 0o777 == mode)
        }
    }

    @Test(arguments: [0o620, 0o602] as [mode_t])
    func `a file that other users can write to is not used`(mode: mode_t) throws {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory)
        cache.storeCachedResponse(response(200, ["ETag": "\"1\""]), for: request("a"))
        cache.flush()
        let file = try #require(files(directory).first)
        #expect(chmod(file.path, mode) == 0)
        #expect(onDisk(directory).cachedResponse(for: request("a")) == nil)
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives files away"))
    func `a file of another user is not used`() throws {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory)
        cache.storeCachedResponse(response(200, ["ETag": "\"1\""]), for: request("a"))
        cache.flush()
        let file = try #require(files(directory).first)
        #expect(chown(file.path, 65_534, 65_534) == 0)
        #expect(onDisk(directory).cachedResponse(for: request("a")) == nil)
    }

    @Test func `a truncated or damaged file is detected and removed`() throws {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory)
        cache.storeCachedResponse(response(200, ["ETag": "\"1\""]), for: request("a"))
        cache.flush()
        let file = try #require(files(directory).first)
        let whole = try Data(contentsOf: file)
        for length in stride(from: 0, to: whole.count, by: 7) {
            try whole.prefix(length).write(to: file)
            #expect(onDisk(directory).cachedResponse(for: request("a")) == nil, "\(length) bytes")
            #expect(!FileManager.default.fileExists(atPath: file.path))
        }
        for position in stride(from: 0, to: whole.count, by: 11) {
            var torn = whole
            torn[position] ^= 0x20
            try torn.write(to: file)
            #expect(onDisk(directory).cachedResponse(for: request("a")) == nil, "byte \(position)")
        }
        try whole.write(to: file)
        #expect(onDisk(directory).cachedResponse(for: request("a")) != nil)
    }

    @Test func `the directory keeps its limit and the most recently used files`() throws {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory, capacity: 64 << 10)
        for index in 0..<40 {
            cache.storeCachedResponse(response(4000), for: request("\(index)"))
            cache.flush()
            _ = cache.cachedResponse(for: request("0"))
        }
        #expect(cache.currentDiskUsage <= 64 << 10)
        #expect(cache.cachedResponse(for: request("0")) != nil)
        #expect(cache.cachedResponse(for: request("39")) != nil)
        #expect(cache.cachedResponse(for: request("1")) == nil)
        cache.removeAllCachedResponses()
        #expect(cache.currentDiskUsage == 0)
    }

    @Test func `a URL keeps its last eight variants`() {
        let cache = ResponseCache()
        for index in 0..<10 {
            cache.storeCachedResponse(
                response(index + 1, ["Vary": "Accept-Language"]),
                for: request("a", ["Accept-Language": "l\(index)"]))
        }
        for index in 0..<10 {
            let found = cache.cachedResponse(for: request("a", ["Accept-Language": "l\(index)"]))
            #expect(found?.data.count == (index < 2 ? nil : index + 1), "l\(index)")
        }
    }

    @Test func `a response above an eighth of the disk's capacity is not written`() throws {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory, capacity: 64 << 10)
        cache.storeCachedResponse(response(8 << 10), for: request("large"))
        cache.storeCachedResponse(response(4 << 10), for: request("small"))
        cache.flush()
        #expect(files(directory).count == 1)
        #expect(cache.cachedResponse(for: request("large")) == nil)
        #expect(cache.cachedResponse(for: request("small")) != nil)
    }

    @Test func `at most 16 MiB wait to be written to the disk`() throws {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory, capacity: 1 << 30)
        cache.storeCachedResponse(response(16 << 20), for: request("too much"))
        cache.flush()
        #expect(files(directory).isEmpty)
        // Responses that have been written do not count towards the limit.
        for path in ["a", "b"] {
            cache.storeCachedResponse(response(9 << 20), for: request(path))
            cache.flush()
        }
        #expect(files(directory).count == 2)
    }

    @Test func `a response with the storage policy notAllowed is not stored`() throws {
        let directory = try TemporaryDirectory()
        for cache in [ResponseCache(), onDisk(directory)] {
            var response = response(100)
            response.storagePolicy = .notAllowed
            cache.storeCachedResponse(response, for: request("a"))
            cache.flush()
            #expect(cache.cachedResponse(for: request("a")) == nil)
        }
        #expect(files(directory).isEmpty)
    }

    @Test func `a temporary file is removed after an hour`() throws {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory, capacity: 64 << 10)
        cache.storeCachedResponse(response(10), for: request("a"))
        cache.flush()
        let kept = try #require(files(directory).first)
        let names = ["old": -3700.0, "young": -3500.0]
        for (name, age) in names {
            let path = "\(kept.path).1.\(name).tmp"
            try Data("half".utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes(
                [.modificationDate: Date.now + age], ofItemAtPath: path)
        }
        // The directory is scanned after an eighth of the capacity was written.
        for index in 0..<4 {
            cache.storeCachedResponse(response(4000), for: request("\(index)"))
            cache.flush()
        }
        let left = files(directory).map(\.lastPathComponent).filter { $0.hasSuffix(".tmp") }
        #expect(left.count == 1 && left.first?.hasSuffix(".young.tmp") == true)
    }

    @Test func `a symbolic link in the cache directory is not followed`() throws {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory)
        cache.storeCachedResponse(response(10), for: request("a"))
        cache.flush()
        let file = try #require(files(directory).first)
        let elsewhere = directory.url.appending(path: "elsewhere")
        try FileManager.default.moveItem(at: file, to: elsewhere)
        try FileManager.default.createSymbolicLink(at: file, withDestinationURL: elsewhere)
        #expect(onDisk(directory).cachedResponse(for: request("a")) == nil)
        // The same file, moved back, is found.
        try FileManager.default.removeItem(at: file)
        try FileManager.default.moveItem(at: elsewhere, to: file)
        #expect(onDisk(directory).cachedResponse(for: request("a")) != nil)
    }

    @Test func `a FIFO or a too large file in the cache directory is removed`()
        throws
    {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory)
        cache.storeCachedResponse(response(1000), for: request("a"))
        cache.flush()
        let file = try #require(files(directory).first)
        let whole = try Data(contentsOf: file)
        let small = onDisk(directory, capacity: whole.count - 1)
        #expect(small.cachedResponse(for: request("a")) == nil)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        try #require(mkfifo(file.path, 0o600) == 0)
        #expect(onDisk(directory).cachedResponse(for: request("a")) == nil)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        try whole.write(to: file)
        #expect(onDisk(directory, capacity: whole.count).cachedResponse(for: request("a")) != nil)
    }

    @Test func `a removed response is not read from its file before the file is removed`() throws {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory)
        let fields: HTTPHeaders = ["Vary": "Accept", "Cache-Control": "public"]
        for _ in 0..<20 {
            cache.storeCachedResponse(response(10, fields), for: request("a", ["Accept": "a"]))
            cache.flush()
            cache.removeCachedResponse(for: request("a"))
            cache.storeCachedResponse(response(10, fields), for: request("a", ["Accept": "b"]))
            #expect(cache.cachedResponse(for: request("a", ["Accept": "a"])) == nil)
        }
        // The directory is removed afterwards.
        cache.flush()
    }

    @Test func `after all responses were removed none is found that was read meanwhile`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let cache = ResponseCache(
            diskCapacity: 1 << 20, directory: directory.url.appending(path: "c"))
        let request = request("a")
        for _ in 0..<20 {
            cache.storeCachedResponse(response(10), for: request)
            cache.flush()
            let reader = Task {
                while !Task.isCancelled, cache.cachedResponse(for: request) != nil {}
            }
            cache.removeAllCachedResponses()
            #expect(cache.cachedResponse(for: request) == nil)
            reader.cancel()
            await reader.value
        }
    }

    @Test func `a file that seems to be from the far future is read`() throws {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory)
        cache.storeCachedResponse(response(10), for: request("a"))
        cache.flush()
        let file = try #require(files(directory).first)
        let time = timespec(tv_sec: 15_000_000_000, tv_nsec: 0)
        try #require(utimensat(AT_FDCWD, file.path, [time, time], 0) == 0)
        #expect(cache.currentDiskUsage > 0)
    }

    @Test func `a request with its own Host field has its own responses`() {
        let cache = ResponseCache()
        cache.storeCachedResponse(response(1), for: request("a", ["Host": "b.test"]))
        #expect(cache.cachedResponse(for: request("a")) == nil)
        #expect(cache.cachedResponse(for: request("a", ["Host": "B.TEST"])) != nil)
        cache.storeCachedResponse(response(2), for: request("a"))
        #expect(cache.cachedResponse(for: request("a", ["Host": "A.test"]))?.data.count == 2)
        cache.removeCachedResponse(for: request("a", ["Host": "b.test"]))
        #expect(cache.cachedResponse(for: request("a", ["Host": "b.test"])) == nil)
        #expect(cache.cachedResponse(for: request("a")) != nil)
    }

    @Test func `a disk error is reported, and the memory cache still works`() throws {
        let directory = try TemporaryDirectory()
        try directory.write("a file", to: "c")
        let cache = ResponseCache(
            diskCapacity: 1 << 20, directory: directory.url.appending(path: "c"))
        cache.storeCachedResponse(response(10), for: request("a"))
        cache.flush()
        #expect(cache.lastStorageError?.path.hasSuffix("/c") == false)
        #expect(cache.lastStorageError != nil)
        #expect(cache.cachedResponse(for: request("a")) != nil)
    }

    @Test func `responses to requests with credentials are not written to disk`() throws {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory)
        cache.storeCachedResponse(
            response(10), for: request("a", ["Authorization": "Bearer secret"]))
        var inMemory = response(10)
        inMemory.storagePolicy = .allowedInMemoryOnly
        cache.storeCachedResponse(inMemory, for: request("b"))
        cache.flush()
        #expect(files(directory).isEmpty)
    }

    @Test func `a response that is not written to disk removes the old one from disk`() throws {
        let directory = try TemporaryDirectory()
        let fields: HTTPHeaders = ["Vary": "Accept-Language"]
        let requests = ["de", "en"].map { request("a", ["Accept-Language": $0]) }
        for (size, policy) in [
            (10, CachedResponse.StoragePolicy.allowedInMemoryOnly), (200_000, .allowed),
        ] {
            // The older of the two is stored as a variant, the newer one as the last response.
            for replaced in [requests, requests.reversed()] {
                let cache = onDisk(directory)
                for request in requests {
                    cache.storeCachedResponse(response(1, fields), for: request)
                }
                cache.flush()
                #expect(files(directory).count == 2)
                var newer = response(size, fields)
                newer.storagePolicy = policy
                cache.storeCachedResponse(newer, for: replaced[0])
                #expect(cache.cachedResponse(for: replaced[0])?.data.count != 1)
                cache.flush()
                #expect(onDisk(directory).cachedResponse(for: replaced[0]) == nil)
                cache.removeAllCachedResponses()
            }
        }
    }

    @Test func `variants are removed together with the last response of their URL`() throws {
        let directory = try TemporaryDirectory()
        let fields: HTTPHeaders = ["Vary": "Accept-Language"]
        let cache = onDisk(directory, capacity: 64 << 10)
        for language in ["de", "en"] {
            cache.storeCachedResponse(
                response(1000, fields), for: request("a", ["Accept-Language": language]))
        }
        cache.flush()
        let last = try #require(files(directory).first { !$0.lastPathComponent.contains("-") })
        let variant = try #require(files(directory).first { $0 != last })
        // Makes the last response the least recently used, and the variant the most recently used.
        for (file, seconds) in [(last, 1), (variant, Int.max >> 30)] {
            let time = timespec(tv_sec: seconds, tv_nsec: 0)
            try #require(utimensat(AT_FDCWD, file.path, [time, time], 0) == 0)
        }
        for index in 0..<16 { cache.storeCachedResponse(response(5000), for: request("\(index)")) }
        cache.flush()
        #expect(!FileManager.default.fileExists(atPath: last.path))
        #expect(!files(directory).contains { $0.lastPathComponent.contains("-") })
        // A damaged last response is removed together with its variants.
        cache.removeAllCachedResponses()
        for language in ["de", "en"] {
            cache.storeCachedResponse(
                response(1000, fields), for: request("a", ["Accept-Language": language]))
        }
        cache.flush()
        try Data("damaged".utf8).write(to: last)
        #expect(cache.cachedResponse(for: request("a", ["Accept-Language": "de"])) == nil)
        #expect(files(directory).isEmpty)
    }

    @Test func `answers have the age of their own second, and the fields of their own response`() {
        var entry = entry("http://a.test/")
        #expect(entry.answer(aged: 1).value.response?.headers["Age"] == "1")
        #expect(entry.answer(aged: 1).value.response?.headers["Age"] == "1")
        #expect(entry.answer(aged: 2).value.response?.headers["Age"] == "2")
        let former = entry
        entry.response.headers.update(name: "X-Version", value: "new")
        #expect(entry.answer(aged: 2).value.response?.headers["X-Version"] == "new")
        #expect(former.answer(aged: 2).value.response?.headers["X-Version"] == nil)
    }

    @Test func `an answer to HEAD has no body, also after one with a body, and conversely`() {
        let entry = entry("http://a.test/")
        for withBody in [true, false, true] {
            let body = entry.answer(aged: 1, withBody: withBody).value.body
            #expect(body == (withBody ? Data("x".utf8) : nil))
        }
        var other = entry
        other.data = Data("y".utf8)
        #expect(other.answer(aged: 1).value.body == Data("y".utf8))
        #expect(entry.answer(aged: 1).value.body == Data("x".utf8))
    }

    private func entry(_ address: String) -> CacheEntry {
        CacheEntry(
            response: HTTPResponse(url: URL(string: address), statusCode: 200),
            data: Data("x".utf8),
            requestTime: .now, responseTime: .now, selectors: [], userInfo: nil,
            storagePolicy: .allowed)
    }

    @Test func `a file is valid only for the URL that it was written for`() throws {
        let data = try #require(CacheFile.encode(entry("http://a.test/"), key: "http://a.test/"))
        #expect(CacheFile.decode(data, key: "http://a.test/") != nil)
        // Another URL with the same hash would have the same file name.
        #expect(CacheFile.decode(data, key: "http://b.test/") == nil)
    }

    @Test func `a file keeps the bytes of values that are not UTF-8`() throws {
        var stored = entry("http://a.test/")
        stored.response.headers = [HTTPHeader(name: "X", valueBytes: [0xE9]), .accept("é")]
        let data = try #require(CacheFile.encode(stored, key: "a"))
        let read = try #require(CacheFile.decode(data, key: "a"))
        #expect(read.response.headers == stored.response.headers)
    }

    @Test func `no cache file contains the password of a URL`() throws {
        let data = try #require(
            CacheFile.encode(entry("http://ada:geheim@a.test/"), key: "http://a.test/"))
        #expect(!String(decoding: data, as: UTF8.self).containsBytes(of: "geheim"))
        #expect(
            CacheFile.decode(data, key: "http://a.test/")?.response.url?.absoluteString
                == "http://a.test/")
    }

    @Test func `a removed response is not found even before its file is deleted`() throws {
        let directory = try TemporaryDirectory()
        let cache = onDisk(directory)
        cache.storeCachedResponse(response(10), for: request("a"))
        cache.flush()
        // The files of these responses are written before that of "a" is removed.
        for index in 0..<200 { cache.storeCachedResponse(response(1000), for: request("\(index)")) }
        cache.removeCachedResponse(for: request("a"))
        #expect(cache.cachedResponse(for: request("a")) == nil)
        cache.flush()
        #expect(cache.cachedResponse(for: request("a")) == nil)
    }

    @Test(arguments: [true, false])
    func `a newer response with another Vary replaces the one without`(isWritten: Bool) throws {
        let directory = try TemporaryDirectory()
        let german = request("a", ["Accept-Language": "de"])
        let cache = onDisk(directory)
        cache.storeCachedResponse(response(1), for: german)
        cache.storeCachedResponse(
            response(isWritten ? 2 : 200_000, ["Vary": "Accept-Language"]), for: german)
        cache.flush()
        let found = onDisk(directory).cachedResponse(for: german)
        #expect(found?.data.count == (isWritten ? 2 : nil))
        let inMemory = ResponseCache(memoryCapacity: 64 * 1024)
        inMemory.storeCachedResponse(response(1), for: german)
        inMemory.storeCachedResponse(
            response(isWritten ? 2 : 1 << 20, ["Vary": "Accept-Language"]), for: german)
        #expect(inMemory.cachedResponse(for: german)?.data.count == (isWritten ? 2 : nil))
    }
}
