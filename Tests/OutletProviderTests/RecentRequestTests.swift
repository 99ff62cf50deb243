import FoundationEssentials
import Testing

@testable import OutletHTTP
@testable import OutletProvider

@Suite struct RecentRequestTests {
    private let recent = RecentRequest()

    private func request(
        _ fields: [String: String], to address: String = "http://zoo.test/",
        _ method: String = "GET"
    ) -> HTTPRequest {
        let url = URL(string: address) ?? URL(filePath: "/")
        return recent.request(url, HTTPMethod(rawValue: method), fields)
    }

    private func fields(_ dictionary: [String: String]) -> [String] {
        request(dictionary).headers.map(\.description)
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
        _ = fields(["X-A": composed])
        #expect(request(["X-A": decomposed]).headers["X-A"]?.utf8.count == decomposed.utf8.count)
        _ = fields(["X-A": "K"])
        #expect(request(["X-A": "\u{212A}"]).headers["X-A"]?.utf8.count == 3)
    }

    @Test func `the last of the names that differ only in case is used, cached or not`() {
        let repeated = ["A": "1", "B": "2", "a": "3"]
        let expected = HTTPHeaders(repeated)
        #expect(request(repeated).headers == expected)
        // The order would be wrong if the fields above were reused for equal bytes.
        #expect(request(["a": "3", "B": "2"]).headers == HTTPHeaders(["a": "3", "B": "2"]))
        #expect(request(repeated).headers == expected)
    }

    @Test func `a dictionary that is made anew has the cached fields, in any order of its entries`()
    {
        let names = (0..<20).map { "X-\($0)" }
        let first = request(Dictionary(uniqueKeysWithValues: names.map { ($0, "1") })).headers
        for _ in 0..<20 {
            var again = Dictionary(uniqueKeysWithValues: names.shuffled().map { ($0, "1") })
            again.reserveCapacity(Int.random(in: 20...400))
            #expect(request(again).headers.isSame(as: first))
        }
    }

    @Test func `a request has its own URL and method`() {
        let url = URL(string: "http://zoo.test/a") ?? URL(filePath: "/")
        let fields = ["X-A": "1"]
        let first = recent.request(url, .get, fields)
        #expect(recent.request(url, .get, fields) == first)
        #expect(recent.request(url, .head, fields).method == .head)
        #expect(recent.request(url, .get, fields) == first)
        let other = request(fields, to: "http://zoo.test/b")
        #expect(other.url?.absoluteString == "http://zoo.test/b")
        #expect(other.headers.isSame(as: first.headers))
        #expect(recent.request(url, .get, ["X-A": "2"]).headers["X-A"] == "2")
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        for method in [composed, decomposed] {
            let sent = recent.request(url, HTTPMethod(rawValue: method), fields).method
            #expect(sent.rawValue.utf8.count == method.utf8.count)
        }
    }

    @Test(arguments: [("http://zoo.test/a", true), ("http://ada:secret@zoo.test/a", false)])
    func `a request is kept unless its URL may contain a password`(
        address: (text: String, isKept: Bool)
    ) throws {
        let url = try #require(URL(string: address.text))
        let (first, second) = (recent.request(url, .get, [:]), recent.request(url, .get, [:]))
        #expect(first == second)
        #expect(first.parts.isIdentical(to: second.parts) == address.isKept)
    }

    @Test func `changing a returned request does not change the next one`() {
        let url = URL(string: "http://zoo.test/a") ?? URL(filePath: "/")
        var changed = recent.request(url, .get, ["X-A": "1"])
        changed.headers.update(name: "X-A", value: "2")
        changed.body = .data(Data("x".utf8))
        #expect(recent.request(url, .get, ["X-A": "1"]).headers["X-A"] == "1")
        #expect(recent.request(url, .get, ["X-A": "1"]).body == .none)
    }
}
