import COutletFakeHost
import COutletPlugin
import Testing

/// Views that the fake host in C gives out: they are valid until the hook has returned, as those of
/// Outlet, and freed then.
@Suite struct FakeViewTests {
    private let fake: OpaquePointer = outlet_fake_new()
    private var host: UnsafePointer<outlet_host> { outlet_fake_table(fake) }

    private func view<Result>(_ text: String, _ body: (outlet_view) -> Result) -> Result {
        text.withCString { body(outlet_text($0)) }
    }

    private func text(_ view: outlet_view) -> String {
        String(decoding: UnsafeBufferPointer(start: view.ptr, count: Int(view.len)), as: UTF8.self)
    }

    private func request() -> outlet_request { outlet_fake_request(fake, "GET", "http://a.test/") }

    @Test func `a view of a header is valid after the header was changed and removed`() {
        defer { outlet_fake_free(fake) }
        let request = request()
        let first = "the first value, which is set"
        func set(_ value: outlet_view) {
            #expect(
                view("X-A") { host.pointee.request_set_header(host, request, $0, value) }
                    == OUTLET_OK)
        }
        func read() -> outlet_view {
            var value = outlet_view()
            #expect(
                view("X-A") { host.pointee.request_header(host, request, $0, 0, &value) }
                    == OUTLET_OK)
            return value
        }
        view(first, set)
        let kept = read()
        var snapshot = outlet_request_snapshot()
        snapshot.struct_size = UInt32(MemoryLayout<outlet_request_snapshot>.size)
        #expect(host.pointee.request_snapshot(host, request, &snapshot) == OUTLET_OK)
        // A value that is a view of the field's own.
        set(kept)
        #expect(text(read()) == first)
        for round in 0..<20 { view("another value, number \(round)", set) }
        #expect(view("X-A") { host.pointee.request_remove_header(host, request, $0) } == OUTLET_OK)
        var later = outlet_request_snapshot()
        later.struct_size = UInt32(MemoryLayout<outlet_request_snapshot>.size)
        #expect(host.pointee.request_snapshot(host, request, &later) == OUTLET_OK)
        #expect(text(kept) == first)
        #expect(snapshot.field_count == 1 && later.field_count == 0)
        #expect(snapshot.fields.map { text($0.pointee.value) } == first)
    }

    @Test func `views of an attribute, a URL and a body are valid after they were changed`() {
        defer { outlet_fake_free(fake) }
        let request = request()
        let first = "http://a.test/the-first-value"
        func change(_ text: String) {
            view(text) { value in
                #expect(
                    view("note") { host.pointee.request_set_attr(host, request, $0, value) }
                        == OUTLET_OK)
                #expect(host.pointee.request_set_url(host, request, value) == OUTLET_OK)
                #expect(host.pointee.request_set_body(host, request, value) == OUTLET_OK)
            }
        }
        change(first)
        var (note, url, body) = (outlet_view(), outlet_view(), outlet_view())
        #expect(view("note") { host.pointee.request_attr(host, request, $0, &note) } == OUTLET_OK)
        #expect(host.pointee.request_url(host, request, &url) == OUTLET_OK)
        #expect(host.pointee.request_body(host, request, &body) == OUTLET_OK)
        for round in 0..<20 { change("http://a.test/another/\(round)") }
        #expect([note, url, body].map(text) == [first, first, first])
    }

    @Test func `a response can be replaced by one with its own fields and body`() {
        defer { outlet_fake_free(fake) }
        let long = String(repeating: "a value of a field, ", count: 20)
        let response = outlet_fake_response(fake, 200, "the body")
        for name in ["X-A", "X-B", "X-C"] { outlet_fake_add_header(fake, response, name, long) }
        func fields() -> [outlet_field] {
            var fields = [outlet_field](repeating: outlet_field(), count: 3)
            var count: UInt64 = 0
            #expect(host.pointee.response_headers(host, response, &fields, 3, &count) == OUTLET_OK)
            return Array(fields.prefix(Int(count)))
        }
        var body = outlet_view()
        #expect(host.pointee.response_body(host, response, &body) == OUTLET_OK)
        let first = fields()
        #expect(
            host.pointee.response_replace(host, response, 201, Array(first.dropFirst()), 2, body)
                == OUTLET_OK)
        #expect(fields().map { text($0.name) } == ["X-B", "X-C"])
        #expect(fields().map { text($0.value) } == [long, long])
        // Views are valid until the next call begins.
        #expect(first.map { text($0.value) } == [long, long, long])
        #expect(host.pointee.response_replace(host, response, 202, nil, 0, body) == OUTLET_OK)
        #expect(fields().isEmpty && text(body) == "the body")
    }
}
