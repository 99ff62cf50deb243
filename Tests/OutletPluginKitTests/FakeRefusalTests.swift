import COutletFakeHost
import COutletPlugin
import Testing

/// What the fake host in C refuses, as Outlet does.
@Suite struct FakeRefusalTests {
    private let fake: OpaquePointer = outlet_fake_new()
    private var host: UnsafePointer<outlet_host> { outlet_fake_table(fake) }
    private var request: outlet_request { outlet_fake_request(fake, "GET", "http://a.test/") }

    private func view<Result>(_ bytes: [UInt8], _ body: (outlet_view) -> Result) -> Result {
        bytes.withUnsafeBufferPointer {
            body(outlet_view(ptr: $0.baseAddress, len: UInt64($0.count)))
        }
    }

    private func view<Result>(_ text: String, _ body: (outlet_view) -> Result) -> Result {
        view(Array(text.utf8), body)
    }

    private func text(_ view: outlet_view) -> String {
        String(decoding: UnsafeBufferPointer(start: view.ptr, count: Int(view.len)), as: UTF8.self)
    }

    private func set(
        _ request: outlet_request, _ name: String, _ value: String
    ) -> outlet_status {
        view(name) { name in
            view(value) { host.pointee.request_set_header(host, request, name, $0) }
        }
    }

    @Test(arguments: [
        ("http://a.example", true), ("HTTP://A.example:/", true), ("http://[::1]:80/", true),
        ("http://user:pw@a.example/[x]", true), ("http://b\u{FC}cher.example/a b", true),
        ("http://a.example./", true), ("http://1.2.3.4/", true),
        ("http://a b/", false), ("http://a.example:99999/", false), ("http://[::1/", false),
        ("http://a..example/", false), ("http://a.example:80a/", false), ("http:///x", false),
        ("http://1.2.3.4.5/", false), ("http://a.example\\x", false), ("ftp://a/", false),
        ("http://a]/", false), ("http://[x]/", false), ("http://@/", false),
    ])
    func `URLs`(url: String, isURL: Bool) {
        defer { outlet_fake_free(fake) }
        let status = view(url) { host.pointee.request_set_url(host, request, $0) }
        #expect((status == OUTLET_OK) == isURL)
    }

    @Test(arguments: [
        ("a.example", true), ("[::1]:80", true), ("a,b", true), ("a:65535", true),
        ("a:99999999", false), ("a:", false), ("[x]", false), ("u@h", false), ("", false),
    ])
    func `values of Host`(value: String, isHost: Bool) {
        defer { outlet_fake_free(fake) }
        #expect((set(request, "Host", value) == OUTLET_OK) == isHost)
    }

    @Test func `lengths above the limits, and null pointers with a length`() {
        defer { outlet_fake_free(fake) }
        let request = request
        let (host, call) = (host, outlet_fake_call(fake))
        let none = outlet_view(ptr: nil, len: 3)
        var value = outlet_view()
        func refuses(_ count: Int, _ body: (outlet_view) -> outlet_status) -> Bool {
            let fits = view(String(repeating: "k", count: count)) { body($0) }
            let tooLong = view(String(repeating: "k", count: count + 1)) { body($0) }
            return fits == OUTLET_OK && tooLong == OUTLET_E_ARGUMENT
                && body(none) == OUTLET_E_ARGUMENT
        }
        func named(_ name: String, _ body: (outlet_view) -> outlet_status) -> outlet_status {
            view(name, body)
        }
        let table = host.pointee
        #expect(refuses(65_536) { table.request_set_method(host, request, $0) })
        #expect(
            refuses(1024) { name in named("v") { table.request_set_header(host, request, name, $0) }
            })
        #expect(
            refuses(65_536) { text in
                named("X") { table.request_set_header(host, request, $0, text) }
            })
        #expect(refuses(1024) { table.request_remove_header(host, request, $0) })
        #expect(
            refuses(1024) { name in named("v") { table.request_set_attr(host, request, name, $0) } }
        )
        #expect(
            refuses(65_536) { text in named("k") { table.request_set_attr(host, request, $0, text) }
            })
        #expect(refuses(64) { code in named("m") { table.fail(host, call, code, $0) } })
        #expect(refuses(4096) { text in named("c") { table.fail(host, call, $0, text) } })
        #expect(refuses(4096) { table.log(host, call, 0, $0, nil, 0) })
        #expect(table.request_set_body(host, request, none) == OUTLET_E_ARGUMENT)
        #expect(table.sink_write(host, outlet_fake_sink(fake), none) == OUTLET_E_ARGUMENT)
        for name in [none, outlet_view(ptr: nil, len: 1025)] {
            #expect(table.request_header(host, request, name, 0, &value) == OUTLET_E_ARGUMENT)
            #expect(table.request_attr(host, request, name, &value) == OUTLET_E_ARGUMENT)
        }
        #expect(outlet_fake_logged(fake) == 1)
    }

    @Test(
        arguments: [
            [0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
            [0xC3], [0xE2, 0x82, 0x41], [0xFF],
        ] as [[UInt8]])
    func `texts that are not UTF-8`(bytes: [UInt8]) {
        defer { outlet_fake_free(fake) }
        let (host, call, request) = (host, outlet_fake_call(fake), request)
        let statuses = view(bytes) { bad in
            view("k") { good in
                [
                    host.pointee.request_set_attr(host, request, bad, good),
                    host.pointee.request_set_attr(host, request, good, bad),
                    host.pointee.fail(host, call, good, bad),
                    host.pointee.log(host, call, 0, bad, nil, 0),
                ]
            }
        }
        #expect(statuses.allSatisfy { $0 == OUTLET_E_ARGUMENT })
        let field = view(bytes) { bad in
            view("X") { host.pointee.request_set_header(host, request, $0, bad) }
        }
        #expect(field == OUTLET_OK)
    }

    @Test func `codes that are not of letters, digits and hyphens`() {
        defer { outlet_fake_free(fake) }
        let (host, call) = (host, outlet_fake_call(fake))
        let response = outlet_fake_response(fake, 200, "")
        let statuses = view("a b") { code in
            view("x") {
                [
                    host.pointee.fail(host, call, code, $0),
                    host.pointee.response_replace_error(host, response, code, $0),
                ]
            }
        }
        #expect(statuses == [OUTLET_E_ARGUMENT, OUTLET_E_ARGUMENT])
        #expect(!String(cString: outlet_fake_failure(fake)).isEmpty)
        var (code, message) = (outlet_view(), outlet_view())
        #expect(host.pointee.response_error(host, response, &code, &message) == OUTLET_OK)
        #expect(text(code) == "plugin")
    }

    @Test func `log lines of unknown levels and with too many fields`() {
        defer { outlet_fake_free(fake) }
        let host = host
        let fields = [outlet_field](repeating: outlet_field(), count: 33)
        let statuses = view("x") { line in
            [
                host.pointee.log(host, outlet_call(), 4, line, nil, 0),
                host.pointee.log(host, outlet_call(), 0, line, fields, 33),
                host.pointee.log(host, outlet_call(), 0, line, fields, 32),
            ]
        }
        #expect(statuses == [OUTLET_E_ARGUMENT, OUTLET_E_ARGUMENT, OUTLET_OK])
    }

    @Test func `more than 2,000 header fields`() {
        defer { outlet_fake_free(fake) }
        let request = request
        for number in 0..<2000 { #expect(set(request, "F\(number)", "x") == OUTLET_OK) }
        #expect(set(request, "G", "x") == OUTLET_E_ARGUMENT)
        #expect(set(request, "F7", "y") == OUTLET_OK)
        let (host, none) = (host, outlet_view())
        let statuses = view("A") { name in
            let fields = [outlet_field](
                repeating: outlet_field(name: name, value: none), count: 2001)
            return [2000, 2001].map {
                host.pointee.request_answer(host, request, 200, fields, $0, none)
            }
        }
        #expect(statuses == [OUTLET_OK, OUTLET_E_ARGUMENT])
    }

    @Test func `a field that is set keeps the place of the first one of its name`() {
        defer { outlet_fake_free(fake) }
        let (host, request) = (host, request)
        for (name, value) in [("A", "1"), ("B", "2"), ("a", "3"), ("C", "4")] {
            let status = view(name) { name in
                view(value) { host.pointee.request_add_header(host, request, name, $0) }
            }
            #expect(status == OUTLET_OK)
        }
        #expect(set(request, "A", "9") == OUTLET_OK && set(request, "b", "8") == OUTLET_OK)
        var fields = [outlet_field](repeating: outlet_field(), count: 4)
        var count: UInt64 = 0
        #expect(host.pointee.request_headers(host, request, &fields, 4, &count) == OUTLET_OK)
        let shown = fields.prefix(Int(count)).map { "\(text($0.name))=\(text($0.value))" }
        #expect(shown == ["A=9", "b=8", "C=4"])
    }

    @Test func `fields of the transport in answers`() {
        defer { outlet_fake_free(fake) }
        let (host, request) = (host, request)
        let status = view("Transfer-Encoding") { encoding in
            view("Content-Length") { length in
                view("99") { value in
                    let fields = [
                        outlet_field(name: encoding, value: value),
                        outlet_field(name: length, value: value),
                        outlet_field(name: length, value: value),
                    ]
                    return view("hello") {
                        host.pointee.request_answer(host, request, 200, fields, 3, $0)
                    }
                }
            }
        }
        #expect(status == OUTLET_OK)
        let answer = outlet_fake_answered(fake, request)
        var fields = [outlet_field](repeating: outlet_field(), count: 3)
        var count: UInt64 = 0
        #expect(host.pointee.response_headers(host, answer, &fields, 3, &count) == OUTLET_OK)
        #expect(count == 1 && text(fields[0].value) == "5")
    }

    @Test func `snapshots of a smaller size than the first one`() {
        defer { outlet_fake_free(fake) }
        var request = outlet_request_snapshot(), response = outlet_response_snapshot()
        (request.struct_size, response.struct_size) = (8, 8)
        #expect(host.pointee.request_snapshot(host, self.request, &request) == OUTLET_E_ARGUMENT)
        #expect(
            host.pointee.response_snapshot(host, outlet_fake_response(fake, 200, ""), &response)
                == OUTLET_E_ARGUMENT)
    }

    @Test func `requests and timers that cannot be started`() throws {
        defer { outlet_fake_free(fake) }
        outlet_fake_offer(fake, "outlet.http/1")
        outlet_fake_offer(fake, "outlet.timer/1")
        let (host, call) = (host, outlet_fake_call(fake))
        let http: UnsafePointer<outlet_http> = try service("outlet.http/1")
        let timers: UnsafePointer<outlet_timers> = try service("outlet.timer/1")
        func send(_ done: outlet_http_done?, _ size: Int, _ flags: UInt32 = 0) -> outlet_status {
            view("http://a.test/") { url in
                var asked = outlet_http_request()
                asked.struct_size = UInt32(size)
                asked.flags = flags
                asked.url = url
                var exchange = outlet_exchange()
                // A plugin in C can pass a null pointer.
                let done = unsafeBitCast(done, to: outlet_http_done.self)
                return http.pointee.send(host, call, &asked, done, nil, &exchange)
            }
        }
        let size = MemoryLayout<outlet_http_request>.size
        let done: outlet_http_done = { _, _, _, _ in }
        #expect(send(nil, size) == OUTLET_E_ARGUMENT)
        #expect(send(done, 8) == OUTLET_E_ARGUMENT)
        #expect(send(done, size, 4) == OUTLET_E_UNSUPPORTED)
        #expect(send(done, size) == OUTLET_OK)
        var timer = outlet_timer()
        let never = unsafeBitCast(nil as outlet_timer_done?, to: outlet_timer_done.self)
        #expect(timers.pointee.start(host, 1, never, nil, &timer) == OUTLET_E_ARGUMENT)
        #expect(outlet_fake_advance(fake, nil, 10) == 0)
    }

    @Test func `requests, timers and quiesced in create`() {
        defer { outlet_fake_free(fake) }
        outlet_fake_offer(fake, "outlet.http/1")
        outlet_fake_offer(fake, "outlet.timer/1")
        var descriptor = outlet_descriptor()
        descriptor.create = { _, host, call, _, out in
            var (http, timers) = (UnsafeRawPointer?.none, UnsafeRawPointer?.none)
            _ = "outlet.http/1".withCString { host.pointee.extension(host, outlet_text($0), &http) }
            _ = "outlet.timer/1".withCString {
                host.pointee.extension(host, outlet_text($0), &timers)
            }
            var (exchange, timer) = (outlet_exchange(), outlet_timer())
            let sent = "http://a.test/".withCString { url in
                var asked = outlet_http_request()
                asked.struct_size = UInt32(MemoryLayout<outlet_http_request>.size)
                asked.url = outlet_text(url)
                return http?.assumingMemoryBound(to: outlet_http.self).pointee
                    .send(host, call, &asked, { _, _, _, _ in }, nil, &exchange)
            }
            let started = timers?.assumingMemoryBound(to: outlet_timers.self).pointee
                .start(host, 1, { _, _, _, _ in }, nil, &timer)
            let isRefused =
                sent == OUTLET_E_STATE && started == OUTLET_E_STATE
                && host.pointee.quiesced(host) == OUTLET_E_STALE
            out.pointee = OpaquePointer(bitPattern: 16)
            return isRefused ? OUTLET_OK : OUTLET_E_FAILED
        }
        #expect(outlet_fake_create(fake, &descriptor) != nil)
        #expect(outlet_fake_sent(fake, 0).id == 0 && outlet_fake_quiesced(fake) == 0)
    }

    private func service<Table>(_ name: String) throws -> UnsafePointer<Table> {
        var found: UnsafeRawPointer?
        _ = view(name) { host.pointee.extension(host, $0, &found) }
        return try #require(found?.assumingMemoryBound(to: Table.self))
    }

    @Test func `handles of another kind`() {
        defer { outlet_fake_free(fake) }
        let (host, request) = (host, request)
        let response = outlet_fake_response(fake, 200, "")
        let (sink, completion) = (outlet_fake_sink(fake), outlet_fake_completion(fake))
        let none = outlet_view()
        var status: Int32 = 0
        var value = outlet_view()
        let table = host.pointee
        let refused = [
            table.response_status(host, outlet_response(id: request.id), &status),
            table.request_url(host, outlet_request(id: response.id), &value),
            table.request_set_body(host, outlet_request(id: sink.id), none),
            table.request_set_body(host, outlet_request(id: completion.id), none),
            table.sink_write(host, outlet_sink(id: request.id), none),
            table.done(host, outlet_completion(id: request.id), OUTLET_OK, none, none),
            table.fail(host, outlet_call(id: completion.id), none, none),
        ]
        #expect(refused.allSatisfy { $0 == OUTLET_E_STALE })
        #expect(outlet_fake_settled(fake, completion) == 0)
    }

    @Test func `copies of the table`() {
        defer { outlet_fake_free(fake) }
        let request = request
        var copy = host.pointee
        let set = copy.request_set_body
        #expect(set(&copy, request, outlet_view()) == OUTLET_E_STALE)
        #expect(copy.quiesced(&copy) == OUTLET_E_STALE)
    }
}
