import FoundationEssentials
import Testing

@testable import OutletSession

@Suite struct ParsedURLCacheTests {
    @Test func `every text spells its own address, however many there are`() {
        let memory = ParsedURLCache()
        let texts = (0..<2000).map { "http://host\($0 % 7).test/\($0)?q=\($0 % 3)" }
        for text in texts + texts { #expect(memory.url(text)?.absoluteString == text) }
    }

    @Test(arguments: [
        "http://ada:secret@host.test/", "http://host.test/" + String(repeating: "x", count: 2000),
    ])
    func `what is not remembered is an address all the same`(text: String) {
        let memory = ParsedURLCache()
        for _ in 0..<2 { #expect(memory.url(text)?.absoluteString == text) }
    }

    @Test func `what is no address is none the second time either`() {
        let memory = ParsedURLCache()
        for _ in 0..<2 { #expect(memory.url("http://[") == nil) }
    }
}
