import FoundationEssentials
import OutletHTTP
import Testing

@Suite struct DotSegmentTests {
    @Test(arguments: [
        ("", "/"), ("/", "/"), ("?a/../b", "/"), ("#/../a", "/"), ("/a/b", "/a/b"),
        ("/a/./b", "/a/b"), ("/a/../b", "/b"), ("/a/b/..", "/a/"), ("/a/b/.", "/a/b/"),
        ("/..", "/"), ("/../../a", "/a"), ("/a//../b", "/a/b"), ("/a/b/c/./../../g", "/a/g"),
        ("/a/%2e%2E/b", "/b"), ("/a/.%2e/b", "/b"), ("/a/%2e/b", "/a/b"),
        ("/.well-known/x", "/.well-known/x"), ("/a/.../b", "/a/.../b"), ("/a/..b", "/a/..b"),
        ("/a/%2f../b", "/a/%2f../b"), ("/%2e%2f/b", "/%2e%2f/b"), ("/a/../b?c/../d#e/../f", "/b"),
    ])
    func `a path is sent without dot segments`(written: String, path: String) throws {
        let url = try #require(URL(string: "http://a.test\(written)"))
        #expect(url.wirePath == path)
    }

    @Test(arguments: [
        ("http://a.test/a/../b?c/../d#e/../f", "http://a.test/b?c/../d#e/../f"),
        ("http://u:p@a.test:8080/%2e%2e/x", "http://u:p@a.test:8080/x"),
        ("http://a.test?x", "http://a.test?x"), ("http://a.test", "http://a.test"),
    ])
    func `a canonical URL has a path without dot segments`(
        written: String, sent: String
    ) throws {
        #expect(try CanonicalAddress(written).text == sent)
    }
}
