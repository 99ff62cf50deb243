import COutletFakeHost
import COutletPlugin
import OutletPluginKit
import OutletPluginTesting
import Testing

/// The services of the fake hosts.
@Suite struct FakeServiceTests {
    @Test func `the test provides the response to a plugin's request`() async throws {
        let fake = FakeHost()
        fake.answerRequests { call in
            guard call.url == "https://id.example/token" else { return nil }
            let text = "\(call.method) \(String(decoding: call.body, as: UTF8.self))"
            return HTTPReply(
                status: 201, headers: [("X-Seen", call.headers[0].value)], body: Array(text.utf8))
        }
        let plugin = try fake.make(Fetcher.self)
        let request = fake.request("https://test.example/")
        try await plugin.prepare(request)
        #expect(request.current.header("X-Token") == "201 a POST secret")
        await #expect {
            try await plugin.fetch("https://other.example/")
        } throws: { error in
            (error as? PluginError)?.code == "timed-out"
        }
    }

    @Test func `concurrent requests get their own responses`() async throws {
        let fake = FakeHost()
        fake.answerRequests { HTTPReply(status: 200, body: Array("\($0.url)\0".utf8)) }
        let plugin = try fake.make(Fetcher.self)
        let replies = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<32 {
                group.addTask {
                    let url = "https://id.example/\(number)"
                    return try await plugin.fetch(url).body == Array("\(url)\0".utf8)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(replies == Array(repeating: true, count: 32))
    }

    @Test func `a plugin keeps its fake host alive`() throws {
        weak var fake: FakeHost?
        var plugin: Fetcher?
        do {
            let host = FakeHost()
            fake = host
            plugin = try host.make(Fetcher.self)
        }
        #expect(fake != nil)
        withExtendedLifetime(plugin) {}
        plugin = nil
        #expect(fake == nil)
    }

    @Test func `without a response closure the HTTP service is unsupported`() async throws {
        let plugin = try FakeHost().make(Fetcher.self)
        await #expect {
            try await plugin.fetch("https://id.example/")
        } throws: { error in
            (error as? PluginError)?.code == "unsupported"
        }
    }

    @Test func `a plugin's request that cannot be sent is refused as by Outlet`() async throws {
        let fake = FakeHost()
        fake.answerRequests { _ in HTTPReply(status: 200) }
        let plugin = try fake.make(Fetcher.self)
        let url = "https://id.example/"
        for call in [
            HTTPCall("CONNECT", url), HTTPCall("a b", url), HTTPCall(url, headers: [("a b", "1")]),
            HTTPCall("POST", url, headers: [("content-length", "1")], body: [1]),
            HTTPCall("GET", url, body: [1]), HTTPCall("HEAD", url, body: [1]),
            HTTPCall(url, headers: [("host", "other.example")]), HTTPCall("ftp://id.example/"),
        ] {
            await #expect {
                try await plugin.host.send(call)
            } throws: {
                ($0 as? PluginError)?.status == OUTLET_E_ARGUMENT
            }
        }
        #expect(try await plugin.host.send(HTTPCall("POST", url, body: [1])).status == 200)
    }

    @Test func `a request without a method is GET`() async throws {
        let fake = FakeHost()
        fake.answerRequests { HTTPReply(status: 200, body: Array("\($0.method) \($0.url)".utf8)) }
        let plugin = try fake.make(Fetcher.self)
        let reply = try await plugin.host.send(HTTPCall("https://id.example/"))
        #expect(String(decoding: reply.body, as: UTF8.self) == "GET https://id.example/")
        plugin.host.log("fetched")
        #expect(fake.logged == 1)
    }

    @Test(arguments: [
        (OUTLET_E_STATE, "the plugin has 64 requests in progress"),
        (OUTLET_E_DENIED, "its server is not granted to this plugin"),
        (OUTLET_E_ARGUMENT, "the host does not accept the value"),
    ])
    func `the error of a request that the host does not send names the cause`(
        status: outlet_status, cause: String
    ) async throws {
        let fake: OpaquePointer = outlet_fake_new()
        let table = UnsafeMutablePointer<outlet_host>.allocate(capacity: 1)
        defer {
            table.deallocate()
            outlet_fake_free(fake)
        }
        table.initialize(to: outlet_fake_table(fake).pointee)
        // The field tells the service what to return.
        table.pointee.abi_minor = UInt32(-status)
        table.pointee.extension = { _, _, out in
            out.pointee = UnsafeRawPointer(refusingService)
            return OUTLET_OK
        }
        let host = Host(table: table)
        await #expect {
            try await host.send(HTTPCall("https://id.example/"))
        } throws: { error in
            guard let error = error as? PluginError else { return false }
            return error.status == status && error.message.hasPrefix("request: \(cause)")
        }
    }

    @Test func `without a permission the HTTP service is denied`() async throws {
        let fake: OpaquePointer = outlet_fake_new()
        let table = UnsafeMutablePointer<outlet_host>.allocate(capacity: 1)
        defer {
            table.deallocate()
            outlet_fake_free(fake)
        }
        table.initialize(to: outlet_fake_table(fake).pointee)
        table.pointee.extension = { _, _, _ in OUTLET_E_DENIED }
        let host = Host(table: table)
        await #expect {
            try await host.send(HTTPCall("https://id.example/"))
        } throws: { error in
            guard let error = error as? PluginError else { return false }
            return error.status == OUTLET_E_DENIED && error.code.isEmpty
                && error.message.hasPrefix("outlet.http/1 needs a permission")
        }
    }
}

/// The services of the fake host in C, driven as a test in C drives them.
@Suite struct FakeServiceInCTests {
    private let fake: OpaquePointer = outlet_fake_new()
    private var host: UnsafePointer<outlet_host> { outlet_fake_table(fake) }

    private func service<Table>(_ name: String) -> UnsafePointer<Table>? {
        var found: UnsafeRawPointer?
        let status = name.withCString { host.pointee.extension(host, outlet_text($0), &found) }
        #expect((status == OUTLET_OK) == (found != nil))
        return found?.assumingMemoryBound(to: Table.self)
    }

    @Test func `a service is available only after the fake host offers it`() {
        defer { outlet_fake_free(fake) }
        #expect((service("outlet.timer/1") as UnsafePointer<outlet_timers>?) == nil)
        outlet_fake_offer(fake, "outlet.timer/1")
        #expect((service("outlet.timer/1") as UnsafePointer<outlet_timers>?) != nil)
        #expect((service("outlet.http/1") as UnsafePointer<outlet_http>?) == nil)
    }

    @Test func `a test can read what is written to a sink`() {
        defer { outlet_fake_free(fake) }
        let table = host
        let sink = outlet_fake_sink(fake)
        #expect(outlet_fake_written(fake, sink).len == 0)
        for text in ["ab", "", "c"] {
            let status = text.withCString { table.pointee.sink_write(table, sink, outlet_text($0)) }
            #expect(status == OUTLET_OK)
        }
        let written = outlet_fake_written(fake, sink)
        #expect(written.len == 3 && written.ptr.map { String(cString: $0) } == "abc")
        let request = outlet_fake_request(fake, "GET", "http://a.example/")
        let status = table.pointee.sink_write(table, outlet_sink(id: request.id), outlet_text(""))
        #expect(status == OUTLET_E_STALE)
        // 64 MiB in total, as in Outlet.
        let rest = [UInt8](repeating: 0, count: 64 << 20)
        rest.withUnsafeBufferPointer { rest in
            let bytes = outlet_view(ptr: rest.baseAddress, len: UInt64(rest.count))
            #expect(table.pointee.sink_write(table, sink, bytes) == OUTLET_E_ARGUMENT)
        }
        #expect(outlet_fake_written(fake, sink).len == 3)
    }

    @Test func `completions keep their results when others are made`() {
        defer { outlet_fake_free(fake) }
        let (table, none) = (host, outlet_view())
        let completions = (0..<600).map { _ in
            let completion = outlet_fake_completion(fake)
            #expect(table.pointee.done(table, completion, OUTLET_E_FAILED, none, none) == OUTLET_OK)
            return completion
        }
        for completion in completions {
            #expect(outlet_fake_settled(fake, completion) == 1)
            #expect(outlet_fake_result(fake, completion) == OUTLET_E_FAILED)
        }
    }

    @Test func `a timer completes when it fires or when it is cancelled`() throws {
        defer { outlet_fake_free(fake) }
        outlet_fake_offer(fake, "outlet.timer/1")
        let timers: UnsafePointer<outlet_timers> = try #require(service("outlet.timer/1"))
        var statuses: [outlet_status] = []
        try withUnsafeMutablePointer(to: &statuses) { statuses in
            var ids = [outlet_timer(), outlet_timer(), outlet_timer()]
            for (index, delay) in [UInt64(5), 10, .max].enumerated() {
                let status = timers.pointee.start(
                    host, delay,
                    { _, _, status, data in
                        data?.assumingMemoryBound(to: [outlet_status].self).pointee.append(status)
                    }, statuses, &ids[index])
                try #require(status == OUTLET_OK)
            }
            #expect(outlet_fake_advance(fake, fake, 4) == 0)
            #expect(outlet_fake_advance(fake, fake, 1) == 1)
            #expect(timers.pointee.cancel(host, ids[0]) == OUTLET_E_STALE)
            #expect(timers.pointee.cancel(host, ids[2]) == OUTLET_OK)
            #expect(outlet_fake_advance(fake, fake, 5) == 2)
            #expect(outlet_fake_advance(fake, fake, .max / 2) == 0)
            #expect(timers.pointee.cancel(host, outlet_timer(id: 9)) == OUTLET_E_STALE)
        }
        #expect(statuses == [OUTLET_OK, OUTLET_E_CANCELLED, OUTLET_OK])
    }

    @Test func `the settings are readable in create and reconfigure only`() {
        defer { outlet_fake_free(fake) }
        let table = host
        outlet_fake_set(fake, "word", "yes")
        func status(_ call: outlet_call) -> outlet_status {
            var value = outlet_view()
            return "word".withCString {
                table.pointee.config_value(table, call, outlet_text($0), &value)
            }
        }
        #expect(status(outlet_fake_call(fake)) == OUTLET_E_STATE)
        let call = outlet_fake_begin_configuring(fake)
        #expect(status(call) == OUTLET_OK)
        // A hook of a service may run meanwhile.
        #expect(status(outlet_fake_call(fake)) == OUTLET_E_STATE && status(call) == OUTLET_OK)
        outlet_fake_end_configuring(fake)
        #expect(status(call) == OUTLET_E_STALE)
        _ = outlet_fake_begin_configuring(fake)
        #expect(status(call) == OUTLET_E_STALE && status(outlet_call()) == OUTLET_E_STALE)
    }

    @Test func `timers end when they are due, and the clock shows that time meanwhile`() throws {
        defer { outlet_fake_free(fake) }
        outlet_fake_offer(fake, "outlet.timer/1")
        let timers: UnsafePointer<outlet_timers> = try #require(service("outlet.timer/1"))
        var clock = Clock(host: host, timers: timers)
        withUnsafeMutablePointer(to: &clock) { clock in
            for delay in [UInt64(30), 10, 20, 10] {
                var timer = outlet_timer()
                let status = timers.pointee.start(
                    host, delay, { _, _, _, data in Clock.at(data)?.pointee.note("once") }, clock,
                    &timer)
                #expect(status == OUTLET_OK)
            }
            Clock.restart(clock)
            #expect(outlet_fake_advance(fake, fake, 25) == 6)
            // At 8, 10, 10, 16, 20 and 24.
            #expect(clock.pointee.seen == ["again", "once", "once", "again", "once", "again"])
            clock.pointee.seen = []
            // At 30 and 32.
            #expect(outlet_fake_advance(fake, fake, 7) == 2)
            #expect(clock.pointee.seen == ["once", "again"])
            clock.pointee.isRestarting = false
            #expect(outlet_fake_advance(fake, fake, .max) == 1)
            #expect(outlet_fake_advance(fake, fake, .max) == 0)
        }
    }

    @Test func `timers that are started anew without end stop the clock`() throws {
        defer { outlet_fake_free(fake) }
        outlet_fake_offer(fake, "outlet.timer/1")
        let timers: UnsafePointer<outlet_timers> = try #require(service("outlet.timer/1"))
        var clock = Clock(host: host, timers: timers)
        withUnsafeMutablePointer(to: &clock) { clock in
            Clock.restart(clock)
            #expect(outlet_fake_advance(fake, fake, .max) == 100_000)
            // The clock has not moved further.
            clock.pointee.isRestarting = false
            #expect(outlet_fake_advance(fake, fake, 8) == 1)
        }
    }

    /// What timers receive as their data.
    private struct Clock {
        let host: UnsafePointer<outlet_host>
        let timers: UnsafePointer<outlet_timers>
        var seen: [String] = []
        var isRestarting = true

        mutating func note(_ name: String) { seen.append(name) }

        static func at(_ data: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<Clock>? {
            data?.assumingMemoryBound(to: Clock.self)
        }

        /// Starts a timer that starts itself anew when it ends, each 8 ns.
        static func restart(_ clock: UnsafeMutablePointer<Clock>) {
            var timer = outlet_timer()
            let (host, timers) = (clock.pointee.host, clock.pointee.timers)
            let status = timers.pointee.start(
                host, 8,
                { _, _, _, data in
                    guard let clock = Clock.at(data) else { return }
                    clock.pointee.note("again")
                    if clock.pointee.isRestarting { Clock.restart(clock) }
                }, clock, &timer)
            #expect(status == OUTLET_OK)
        }
    }

    @Test func `a request completes once, with the test's response or as cancelled`() throws {
        defer { outlet_fake_free(fake) }
        outlet_fake_offer(fake, "outlet.http/1")
        let http: UnsafePointer<outlet_http> = try #require(service("outlet.http/1"))
        var codes: [String] = []
        try withUnsafeMutablePointer(to: &codes) { codes in
            let context = Context(host: host, codes: codes)
            try withUnsafePointer(to: context) { context in
                var exchanges = [outlet_exchange(), outlet_exchange()]
                for index in 0..<2 {
                    var request = outlet_http_request()
                    request.struct_size = UInt32(MemoryLayout<outlet_http_request>.size)
                    let status = "http://a.example/".withCString { url in
                        request.url = outlet_text(url)
                        return http.pointee.send(
                            host, outlet_call(), &request,
                            { _, _, response, data in
                                data?.assumingMemoryBound(to: Context.self).pointee.add(response)
                            }, UnsafeMutableRawPointer(mutating: context), &exchanges[index])
                    }
                    try #require(status == OUTLET_OK)
                }
                #expect(outlet_fake_sent(fake, 0).id != 0 && outlet_fake_sent(fake, 2).id == 0)
                #expect(http.pointee.cancel(host, exchanges[1]) == OUTLET_OK)
                let response = outlet_fake_response(fake, 204, "")
                #expect(outlet_fake_respond(fake, fake, 0, response) == 1)
                #expect(outlet_fake_respond(fake, fake, 0, response) == 0)
                #expect(outlet_fake_respond(fake, fake, 1, response) == 1)
                #expect(outlet_fake_respond(fake, fake, 2, response) == 0)
                #expect(http.pointee.cancel(host, exchanges[0]) == OUTLET_E_STALE)
            }
        }
        #expect(codes == ["204", "cancelled"])
    }

    /// What `done` receives as its data.
    private struct Context {
        let host: UnsafePointer<outlet_host>
        let codes: UnsafeMutablePointer<[String]>

        func add(_ response: outlet_response) {
            var (status, code, message) = (Int32(0), outlet_view(), outlet_view())
            let failed = host.pointee.response_error(host, response, &code, &message) == OUTLET_OK
            _ = host.pointee.response_status(host, response, &status)
            let text = UnsafeBufferPointer(start: code.ptr, count: Int(code.len))
            codes.pointee.append(failed ? String(decoding: text, as: UTF8.self) : "\(status)")
        }
    }
}

/// A service that sends no request, and returns the negative minor version of the host; never freed.
private nonisolated(unsafe) let refusingService = {
    let service = UnsafeMutablePointer<outlet_http>.allocate(capacity: 1)
    service.initialize(
        to: outlet_http(
            struct_size: UInt32(MemoryLayout<outlet_http>.size), reserved: 0,
            send: { host, _, _, _, _, _ in -outlet_status(host.pointee.abi_minor) },
            cancel: { _, _ in OUTLET_E_STALE }))
    return UnsafePointer(service)
}()

private struct Fetcher: RequestPreparing {
    static let info = PluginInfo(id: "test.fetcher", version: "1.0.0")
    let host: Host

    init(host: Host, configuration: Configuration) throws(PluginError) { self.host = host }

    func fetch(_ url: String) async throws(PluginError) -> HTTPReply {
        try await host.send(
            HTTPCall("POST", url, headers: [("X-A", "a")], body: Array("secret".utf8)))
    }

    func prepare(_ request: MutableRequest) async throws(PluginError) {
        let reply = try await fetch("https://id.example/token")
        let text = String(decoding: reply.body, as: UTF8.self)
        try request.setHeader("X-Token", "\(reply.status) \(reply.header("x-seen") ?? "") \(text)")
    }
}
