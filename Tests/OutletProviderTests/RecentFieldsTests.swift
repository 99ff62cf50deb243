import OutletHTTP
import Testing

@testable import OutletProvider

@Suite struct RecentFieldsTests {
    private let recent = RecentFields()

    private func fields(_ dictionary: [String: String]) -> [String] {
        recent.fields(dictionary).map(\.description)
    }

    @Test func `equal dictionaries have the same fields, sorted by name`() {
        let expected = ["Accept: text/html", "X-A: 1", "X-B: 2"]
        #expect(fields(["X-B": "2", "Accept": "text/html", "X-A": "1"]) == expected)
        #expect(fields(["X-A": "1", "X-B": "2", "Accept": "text/html"]) == expected)
    }

    @Test func `a dictionary with other bytes does not get the cached fields`() {
        _ = fields(["X-A": "1", "X-B": "2"])
        #expect(fields(["X-A": "1", "X-B": "3"]) == ["X-A: 1", "X-B: 3"])
        #expect(fields(["X-A": "1", "X-C": "3"]) == ["X-A: 1", "X-C: 3"])
        #expect(fields(["X-A": "1"]) == ["X-A: 1"])
        #expect(fields([:]) == [])
        #expect(fields(["X-A": "1", "X-b": "2"]) == ["X-A: 1", "X-b: 2"])
    }

    @Test func `canonically equivalent values keep their own bytes`() {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        #expect(composed == decomposed)
        _ = recent.fields(["X-A": composed])
        #expect(recent.fields(["X-A": decomposed])["X-A"]?.utf8.count == decomposed.utf8.count)
        _ = recent.fields(["X-A": "K"])
        #expect(recent.fields(["X-A": "\u{212A}"])["X-A"]?.utf8.count == 3)
    }

    @Test func `the last of the names that differ only in case is used, cached or not`() {
        let repeated = ["A": "1", "B": "2", "a": "3"]
        let expected = HTTPHeaders(repeated)
        #expect(recent.fields(repeated) == expected)
        // The order would be wrong if the fields above were reused for equal bytes.
        #expect(recent.fields(["a": "3", "B": "2"]) == HTTPHeaders(["a": "3", "B": "2"]))
        #expect(recent.fields(repeated) == expected)
    }
}
