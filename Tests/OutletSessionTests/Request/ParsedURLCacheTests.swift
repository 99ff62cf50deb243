import FoundationEssentials
import Testing

@testable import OutletSession

@Suite struct ParsedURLCacheTests {
    @Test func `the cache returns the URL of each text`() {
        let memory = ParsedURLCache()
        let texts = (0..<2000).map { "http://host\($0 % 7).test/\($0)?q=\($0 % 3)" }
        for text in texts + texts { #expect(memory.url(text)?.absoluteString == text) }
    }

    @Test(arguments: [
        "http://ada:secret@host.test/", "http://host.test/" + String(repeating: "x", count: 2000),
    ])
    func `a text that is not cached is still parsed`(text: String) {
        let memory = ParsedURLCache()
        for _ in 0..<2 { #expect(memory.url(text)?.absoluteString == text) }
    }

    @Test func `canonically equivalent texts keep their own bytes`() {
        let memory = ParsedURLCache()
        let (letter, kelvin) = ("http://host.test/K", "http://host.test/\u{212A}")
        #expect(letter == kelvin)
        for _ in 0..<2 {
            #expect(memory.url(letter)?.absoluteString == letter)
            #expect(memory.url(kelvin)?.absoluteString == "http://host.test/%E2%84%AA")
        }
    }

    @Test func `an invalid URL returns nil each time`() {
        let memory = ParsedURLCache()
        for _ in 0..<2 { #expect(memory.url("http://[") == nil) }
    }
}
