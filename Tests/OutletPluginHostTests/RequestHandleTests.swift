import COutletPlugin
import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletPluginHost

@Suite struct RequestHandleTests {
    private let handle = RequestHandle(
        HTTPRequest(url: URL(string: "http://test.example/")), isMutable: true)

    @Test(arguments: [
        "ftp://test.example/", "file://test.example/etc/passwd", "gopher://test.example/",
        "ws://test.example/", "httpx://test.example/",
    ])
    func `a plugin sets no address of another scheme`(url: String) {
        #expect(handle.set(url: url) == OUTLET_E_ARGUMENT)
        #expect(handle.seal().request.url?.absoluteString == "http://test.example/")
    }

    @Test(arguments: ["http:///page", "https:", "page", ""])
    func `a plugin sets no address without a host`(url: String) {
        #expect(handle.set(url: url) == OUTLET_E_ARGUMENT)
    }

    @Test(arguments: ["http://other.example/", "HTTPS://other.example/"])
    func `a plugin sets other addresses`(url: String) {
        #expect(handle.set(url: url) == OUTLET_OK)
        #expect(handle.seal().request.url?.absoluteString == url)
    }

    @Test(arguments: ["a\r\nb: c", "\u{1}", "a\u{7F}", "\u{1B}[m"])
    func `a plugin sets no field with a control character`(value: String) {
        #expect(handle.set(header: "A", value: value) == OUTLET_E_ARGUMENT)
        #expect(handle.add(header: "A", value: value) == OUTLET_E_ARGUMENT)
        #expect(handle.add(header: "A", value: "a\tb") == OUTLET_OK)
        #expect(handle.seal().request.headers.map(\.value) == ["a\tb"])
    }

    @Test func `a sealed request is changed no more`() {
        _ = handle.seal()
        #expect(handle.set(url: "http://other.example/") == OUTLET_E_STATE)
    }
}
