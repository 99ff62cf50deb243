import COutletPlugin
import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletPluginHost

@Suite struct RequestHandleTests {
    private let handle = RequestHandle(
        HTTPRequest(url: URL(string: "http://test.example/")), access: .answer)

    @Test(arguments: [
        "ftp://test.example/", "file://test.example/etc/passwd", "gopher://test.example/",
        "ws://test.example/", "httpx://test.example/",
    ])
    func `a plugin cannot set a URL with another scheme`(url: String) {
        #expect(handle.set(url: url) == OUTLET_E_ARGUMENT)
        #expect(handle.seal().request.url?.absoluteString == "http://test.example/")
    }

    @Test(arguments: ["http:///page", "https:", "page", ""])
    func `a plugin cannot set a URL without a host`(url: String) {
        #expect(handle.set(url: url) == OUTLET_E_ARGUMENT)
    }

    @Test(arguments: ["http://other.example/", "HTTPS://other.example/"])
    func `a plugin can set another http or https URL`(url: String) {
        #expect(handle.set(url: url) == OUTLET_OK)
        #expect(handle.seal().request.url?.absoluteString == url)
    }

    @Test(arguments: ["a\r\nb: c", "\u{1}", "a\u{7F}", "\u{1B}[m"])
    func `a plugin cannot set a field with a control character`(value: String) {
        #expect(set("A", value) == OUTLET_E_ARGUMENT)
        #expect(add("A", value) == OUTLET_E_ARGUMENT)
        #expect(add("A", "a\tb") == OUTLET_OK)
        #expect(handle.seal().request.headers.map(\.value) == ["a\tb"])
    }

    @Test func `a sealed request cannot be changed`() {
        _ = handle.seal()
        #expect(handle.set(url: "http://other.example/") == OUTLET_E_STALE)
    }

    private func set(
        _ name: String, _ value: String, keepsOthers: Bool = false
    ) -> outlet_status {
        Array(name.utf8).withUnsafeBufferPointer { name in
            Array(value.utf8).withUnsafeBufferPointer {
                handle.write(header: name, value: $0, keepsOthers: keepsOthers)
            }
        }
    }

    private func add(_ name: String, _ value: String) -> outlet_status {
        set(name, value, keepsOthers: true)
    }

    /// Returns the bytes of a field's value as a plugin receives them.
    private func copy(_ name: String, _ nth: Int = 0) -> CopiedBytes? {
        Array(name.utf8).withUnsafeBufferPointer { handle.header($0, nth) }
    }

    @Test func `reading a field twice returns the same bytes`() {
        #expect(add("A", "one") == OUTLET_OK)
        #expect(add("a", "two") == OUTLET_OK)
        #expect(handle.set(body: Array("body".utf8)) == OUTLET_OK)
        let first = copy("A")?.block.baseAddress
        #expect(first != nil)
        #expect(copy("a")?.block.baseAddress == first)
        #expect(copy("a", 1)?.block.baseAddress != first)
        #expect(handle.url().block.baseAddress == handle.url().block.baseAddress)
        #expect(handle.bodyCopy()?.block.baseAddress == handle.bodyCopy()?.block.baseAddress)
        #expect(handle.headers().first == handle.headers().first)
    }

    @Test func `a read after a change returns new bytes, and earlier bytes are unchanged`() {
        #expect(set("A", "old") == OUTLET_OK)
        let old = copy("A")
        let (all, url) = (handle.headers(), handle.url())
        #expect(set("A", "new") == OUTLET_OK)
        #expect(handle.set(url: "http://other.example/") == OUTLET_OK)
        #expect(copy("A").map { String(decoding: $0.block, as: UTF8.self) } == "new")
        #expect(old.map { String(decoding: $0.block, as: UTF8.self) } == "old")
        #expect(handle.headers().first != all.first)
        #expect(String(decoding: handle.url().block, as: UTF8.self) == "http://other.example/")
        #expect(String(decoding: url.block, as: UTF8.self) == "http://test.example/")
    }

    private func answer(_ status: Int32) -> RequestHandle.Answer? {
        RequestHandle.Answer(
            status: status, fields: nil, count: 0, body: outlet_view(ptr: nil, len: 0))
    }

    @Test(arguments: [
        (Int32(200), true), (599, true), (199, false), (100, false), (0, false), (600, false),
        (-200, false),
    ])
    func `a plugin's response must have a final status`(status: Int32, isOne: Bool) {
        #expect((answer(status) != nil) == isOne)
    }

    /// Makes a response with the field `X-Field` repeated `count` times.
    private func answer(field value: String, count: Int = 1) -> RequestHandle.Answer? {
        Array("X-Field".utf8).withUnsafeBufferPointer { name in
            Array(value.utf8).withUnsafeBufferPointer { value in
                let field = outlet_field(
                    name: outlet_view(ptr: name.baseAddress, len: UInt64(name.count)),
                    value: outlet_view(ptr: value.baseAddress, len: UInt64(value.count)))
                return Array(repeating: field, count: count).withUnsafeBufferPointer { fields in
                    RequestHandle.Answer(
                        status: 200, fields: fields.baseAddress, count: UInt64(count),
                        body: outlet_view(ptr: nil, len: 0))
                }
            }
        }
    }

    @Test func `a plugin's response may have at most 2000 fields`() {
        #expect(answer(field: "x", count: 2000)?.headers.count == 2000)
        #expect(answer(field: "x", count: 2001) == nil)
    }

    @Test(arguments: ["a\r\nX-Other: b", "a\nb", "a\0b"])
    func `a plugin's response cannot have a field with a control character`(value: String) {
        #expect(answer(field: value) == nil)
    }

    @Test(arguments: [true, false])
    func `a mutable response can be replaced until it is sealed`(isMutable: Bool) {
        let outcome = ResponseHandle.Outcome(response: nil, body: Data(), failure: nil)
        let handle = ResponseHandle(outcome, isMutable: isMutable)
        #expect(
            handle.replace(.failure(PluginReason(message: "a")))
                == (isMutable ? OUTLET_OK : OUTLET_E_STATE))
        #expect((handle.failure() != nil) == isMutable)
        #expect((handle.seal() != nil) == isMutable)
        #expect(handle.replace(.failure(PluginReason(message: "b"))) == OUTLET_E_STALE)
        #expect(handle.failure() == nil && handle.seal() == nil)
    }

    @Test func `a request can be answered until it is sealed`() throws {
        let given = try #require(answer(200))
        #expect(handle.answer(given) == OUTLET_OK)
        #expect(handle.seal().answer != nil)
        #expect(handle.answer(given) == OUTLET_E_STALE)
        #expect(handle.seal().answer == nil)
    }
}
