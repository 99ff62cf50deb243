import Dispatch
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTestSupport
import OutletTesting
import Testing

@testable import OutletLayers
@testable import OutletSession
@testable import OutletTransport

/// Tests HTTP Strict Transport Security (RFC 6797).
@Suite struct HSTSTests {
    private func session(
        _ hsts: HSTSStorage?, _ field: String, verifies: Bool = true
    ) -> (Session, StubTransport) {
        let transport = StubTransport { job in
            job.request.url?.path == "/away"
                ? .redirect(to: "http://a.test/plain")
                : .status(200, headers: ["Strict-Transport-Security": field])
        }
        var configuration = SessionConfiguration()
        configuration.hsts = hsts
        configuration.verifiesCertificates = verifies
        return (Session(transport: transport, configuration: configuration), transport)
    }

    private func get(_ session: Session, _ urls: String...) async {
        for url in urls { _ = await session.request(url).serializingUnserialized().response }
    }

    private func schemes(_ transport: StubTransport) -> [String?] {
        transport.requests.map { $0.url?.scheme }
    }

    @Test func `requests to a known HSTS host use https`() async {
        let (session, transport) = session(.memory, "max-age=60")
        await get(session, "http://a.test/", "https://a.test/", "http://a.test/", "http://b.test/")
        #expect(schemes(transport) == ["http", "https", "https", "http"])
    }

    @Test func `redirects to a known HSTS host use https`() async {
        let (session, transport) = session(.memory, "max-age=60")
        await get(session, "https://a.test/", "https://b.test/away")
        #expect(transport.requests.last?.url?.absoluteString == "https://a.test/plain")
    }

    @Test func `a request that HSTS upgrades keeps its credential over a redirect`() async {
        let (session, transport) = session(.memory, "max-age=60")
        await get(session, "https://a.test/")
        _ = await session.request("http://a.test/away")
            .authenticate(username: "ada", password: "pw").serializingUnserialized().response
        #expect(transport.jobs.count == 3)
        #expect(transport.jobs.last?.credential?.user == "ada")
    }

    @Test(arguments: [
        ("max-age=60", "http://a.test:80/", "https://a.test:443/"),
        ("max-age=60", "http://a.test:8080/x?y#z", "https://a.test:8080/x?y#z"),
        ("max-age=60", "http://www.a.test/", "http://www.a.test/"),
        ("max-age=60; includeSubDomains", "http://www.a.test/", "https://www.a.test/"),
        ("MAX-AGE=\"60\"; includesubdomains; preload", "http://x.y.a.test/", "https://x.y.a.test/"),
        ("includeSubDomains", "http://a.test/", "http://a.test/"),
        ("max-age=60; max-age=60", "http://a.test/", "http://a.test/"),
        ("max-age=-1", "http://a.test/", "http://a.test/"),
    ])
    func `the HSTS field decides which hosts and ports use https`(
        field: String, address: String, expected: String
    ) async {
        let (session, transport) = session(.memory, field)
        await get(session, "https://a.test/", address)
        #expect(transport.requests.last?.url?.absoluteString == expected)
    }

    @Test func `HSTS ignores unverified servers, plain HTTP and IP addresses`() async {
        let (trusting, first) = session(.memory, "max-age=60", verifies: false)
        await get(trusting, "https://a.test/", "http://a.test/")
        #expect(schemes(first) == ["https", "http"])
        let (session, second) = session(.memory, "max-age=60")
        await get(session, "http://a.test/", "http://a.test/")
        await get(session, "https://127.0.0.1/", "http://127.0.0.1/")
        #expect(schemes(second) == ["http", "http", "https", "http"])
        let (without, third) = self.session(nil, "max-age=60")
        await get(without, "https://a.test/", "http://a.test/")
        #expect(schemes(third) == ["https", "http"])
    }

    @Test func `an HSTS policy ends by max-age=0 and by time`() async {
        let hsts = HSTSStorage.memory
        let (session, transport) = session(hsts, "max-age=0")
        hsts.setPolicy(.init(host: "A.test", expiresDate: Date() + 60))
        hsts.setPolicy(.init(host: "b.test", expiresDate: Date() - 60))
        #expect(hsts.policies.map(\.host) == ["a.test"])
        await get(session, "http://a.test/", "http://a.test/", "http://b.test/")
        #expect(schemes(transport) == ["https", "http", "http"])
        #expect(hsts.policies.isEmpty)
    }

    @Test(.timeLimit(.minutes(patience)))
    func `with a cache, policies of responses and of background validations are stored`() async {
        let hsts = HSTSStorage.memory
        let transport = StubTransport { job in
            let isValidation = job.request.headers["If-None-Match"] != nil
            return .status(
                200,
                headers: [
                    "Cache-Control": "max-age=0, stale-while-revalidate=60", "ETag": "\"1\"",
                    "Strict-Transport-Security": isValidation
                        ? "max-age=60; includeSubDomains" : "max-age=60",
                ])
        }
        var configuration = SessionConfiguration()
        configuration.hsts = hsts
        configuration.urlCache = ResponseCache()
        let session = Session(transport: transport, configuration: configuration)
        await get(session, "https://a.test/")
        #expect(hsts.policies.map(\.includesSubdomains) == [false])
        await get(session, "http://a.test/")
        while hsts.policies.first?.includesSubdomains == false, !Task.isCancelled {
            await Task.yield()
        }
        #expect(schemes(transport) == ["https", "https"])
    }

    @Test(arguments: [20, 6000])
    func `a policy is stored again when a hundredth of its time has passed`(seconds: Int) throws {
        let hsts = HSTSStorage.memory
        let time = Double(seconds)
        hsts.setPolicy(.init(host: "a.test", expiresDate: Date() + time * 0.98))
        let fields: HTTPHeaders = ["Strict-Transport-Security": "max-age=\(seconds)"]
        hsts.learn(from: fields, of: URL(string: "https://a.test/"))
        let end = try #require(hsts.policies.first).expiresDate
        #expect(end.timeIntervalSinceNow > time * 0.985)
    }

    @Test func `the first of several HSTS fields counts`() async {
        var fields = HTTPHeaders()
        for value in ["max-age=60", "max-age=0"] {
            fields.append(name: "Strict-Transport-Security", value: value)
        }
        let hsts = HSTSStorage.memory
        hsts.learn(from: fields, of: URL(string: "https://a.test/"))
        #expect(hsts.policies.map(\.host) == ["a.test"])
    }

    @Test func `beyond 10,000 HSTS hosts the 100 that expire first are evicted together`() {
        let hsts = HSTSStorage.memory
        let now = Date()
        for number in 0...10_000 {
            // The policies that expire first are neither the first nor the last ones added.
            let time = 5000..<5100 ~= number ? 60.0 : Double(1000 + number)
            hsts.setPolicy(.init(host: "h\(number).test", expiresDate: now + time))
            if number == 9999 { #expect(hsts.policies.count == 10_000) }
        }
        let hosts = Set(hsts.policies.map(\.host))
        let kept = Set([0..<5000, 5100..<10_001].joined().map { "h\($0).test" })
        // Without their names, which would fill the screen.
        #expect(hosts.count == 9901 && hosts.isSubset(of: kept))
    }

    @Test func `changes that are made before the file is written are written at once`() throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appending(path: "hsts")
        // Each write makes a new file, whose name has the same length.
        let events = inotify_init1(Int32(IN_NONBLOCK))
        defer { close(events) }
        #expect(inotify_add_watch(events, directory.path, UInt32(IN_CREATE)) >= 0)
        let hsts = HSTSStorage.file(file)
        var written: [Int] = []
        for hosts in [["a.test"], ["b.test", "c.test", "d.test"]] {
            hsts.writing.suspend()
            for host in hosts { hsts.setPolicy(.init(host: host, expiresDate: Date() + 60)) }
            hsts.writing.resume()
            hsts.flush()
            var buffer = [UInt8](repeating: 0, count: 4096)
            written.append(read(events, &buffer, buffer.count))
        }
        #expect(HSTSStorage.file(file).policies.count == 4)
        #expect(try written.at(0) > 0)
        #expect(try written.at(0) == written.at(1))
    }

    @Test func `HSTS policies are saved in and loaded from a file in curl's format`() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(
            """
            # a comment
            old.test "20010101 00:00:00"
            a.test "20950131 23:59:58"
            .b.test "unlimited"
            nonsense
            """, to: "hsts")
        let file = directory.url.appending(path: "hsts")
        let hsts = HSTSStorage.file(file)
        #expect(hsts.policies.map(\.host) == ["a.test", "b.test"])
        let (session, _) = session(hsts, "max-age=600; includeSubDomains")
        await get(session, "https://c.test/")
        hsts.flush()
        #expect(HSTSStorage.file(file).policies.map(\.host) == ["a.test", "b.test", "c.test"])
        #expect(directory.text("hsts")?.contains("a.test \"20950131 23:59:58\"\n") == true)
        #expect(directory.text("hsts")?.contains("\n.c.test \"") == true)
        let nowhere = HSTSStorage.file(directory.url.appending(path: "no/where"))
        nowhere.setPolicy(.init(host: "a.test", expiresDate: Date() + 60))
        nowhere.flush()
        #expect(nowhere.lastStorageError != nil)
    }

    @Test func `an expired policy in a file upgrades nothing`() throws {
        let directory = try TemporaryDirectory()
        try directory.write(
            """
            old.test "20010101 00:00:00"
            .below.test "20010101 00:00:00"
            a.test "20950131 23:59:58"
            """, to: "hsts")
        let hsts = HSTSStorage.file(directory.url.appending(path: "hsts"))
        func upgraded(_ text: String) throws -> String? {
            hsts.upgrade(try #require(URL(string: text)))?.absoluteString
        }
        #expect(try upgraded("http://a.test/") == "https://a.test/")
        #expect(try upgraded("http://old.test/") == nil)
        #expect(try upgraded("http://www.below.test/") == nil)
    }

    @Test(arguments: [
        "20951331 23:59:58", "20950031 23:59:58", "20950132 23:59:58", "20950131 24:00:00",
        "20950131 23:60:00", "20950131 23:59:61", "2095013 23:59:58",
    ])
    func `a line with an invalid time is ignored`(time: String) throws {
        let directory = try TemporaryDirectory()
        try directory.write("a.test \"\(time)\"", to: "hsts")
        let hsts = HSTSStorage.file(directory.url.appending(path: "hsts"))
        #expect(hsts.upgrade(try #require(URL(string: "http://a.test/"))) == nil)
        #expect(hsts.policies.isEmpty)
    }

    /// A storage caches the result for a URL; a change of the policies must clear the cache.
    @Test func `a change of a policy applies to URLs that were upgraded before`() throws {
        let hsts = HSTSStorage.memory
        func upgraded(_ text: String = "http://www.a.test/x") throws -> String? {
            hsts.upgrade(try #require(URL(string: text)))?.absoluteString
        }
        func set(_ host: String, subdomains: Bool, for seconds: Double) {
            hsts.setPolicy(
                HSTSStorage.Policy(
                    host: host, includesSubdomains: subdomains, expiresDate: Date() + seconds))
        }
        set("b.test", subdomains: false, for: 3600)
        for _ in 0..<2 { #expect(try upgraded() == nil) }
        set("a.test", subdomains: true, for: 3600)
        for _ in 0..<2 { #expect(try upgraded() == "https://www.a.test/x") }
        #expect(try upgraded("http://www.a.test/y") == "https://www.a.test/y")
        set("a.test", subdomains: false, for: 3600)
        #expect(try upgraded() == nil)
        set("www.a.test", subdomains: false, for: 3600)
        #expect(try upgraded() == "https://www.a.test/x")
        hsts.removeAllPolicies()
        #expect(try upgraded() == nil)
    }

    @Test func `a storage neither shortens nor revives the policies of another one`() throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appending(path: "hsts")
        let (soon, late) = (Date() + 100, Date() + 1_000_000)
        let (first, second) = (HSTSStorage.file(file), HSTSStorage.file(file))
        func ends() -> [String: Date] {
            Dictionary(
                uniqueKeysWithValues: HSTSStorage.file(file).policies.map {
                    ($0.host, $0.expiresDate)
                })
        }
        for (storage, end) in [(first, soon), (second, late)] {
            storage.setPolicy(.init(host: "bank.test", expiresDate: end))
            storage.flush()
        }
        first.setPolicy(.init(host: "a.test", expiresDate: late))
        first.flush()
        #expect(try #require(ends()["bank.test"]) > soon + 1000)
        // What another one has removed does not come back.
        second.removeAllPolicies()
        second.flush()
        first.setPolicy(.init(host: "b.test", expiresDate: late))
        first.flush()
        #expect(Array(ends().keys) == ["b.test"])
        #expect(first.policies.map(\.host) == ["b.test"])
        // A host ends its policy, which only the file has.
        let third = HSTSStorage.file(file)
        first.setPolicy(.init(host: "c.test", expiresDate: late))
        first.flush()
        third.learn(
            from: ["Strict-Transport-Security": "max-age=0"], of: URL(string: "https://c.test/"))
        third.flush()
        #expect(Array(ends().keys) == ["b.test"])
    }

    @Test func `storages that write one file at the same time lose no host`() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appending(path: "hsts")
        let storages = (0..<4).map { _ in HSTSStorage.file(file) }
        await withTaskGroup(of: Void.self) { group in
            for (index, storage) in storages.enumerated() {
                group.addTask {
                    for host in 0..<25 {
                        storage.setPolicy(
                            .init(host: "h\(host).s\(index).test", expiresDate: Date() + 1000))
                        storage.flush()
                    }
                }
            }
        }
        #expect(HSTSStorage.file(file).policies.count == 100)
    }

    @Test func `two storages of one file keep the hosts of each other`() throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appending(path: "hsts")
        let end = Date() + 1000
        let (first, second) = (HSTSStorage.file(file), HSTSStorage.file(file))
        func hosts() -> [String] { HSTSStorage.file(file).policies.map(\.host) }
        first.setPolicy(.init(host: "a.test", expiresDate: end))
        first.flush()
        second.setPolicy(.init(host: "b.test", expiresDate: end))
        second.flush()
        #expect(hosts() == ["a.test", "b.test"])
        #expect(second.upgrade(try #require(URL(string: "http://a.test/"))) != nil)
        // What one has removed does not come back from the other's file.
        first.setPolicy(.init(host: "a.test", expiresDate: .distantPast))
        first.flush()
        #expect(hosts() == ["b.test"])
        second.setPolicy(.init(host: "c.test", expiresDate: end))
        second.removeAllPolicies()
        second.flush()
        #expect(hosts() == [])
    }
}
