import FoundationEssentials
import OutletHTTP
import Testing

@Suite struct URLEscapingTests {
    @Test(arguments: [
        ("http://h/a%20b c", "http://h/a%20b%20c"),
        ("http://h/a%2Fb[1]", "http://h/a%2Fb%5B1%5D"),
        ("http://h/x?q={a}%2F", "http://h/x?q=%7Ba%7D%2F"),
        ("http://h/é%20", "http://h/%C3%A9%20"),
        ("http://h/100% %2f", "http://h/100%25%20%2f"),
        ("http://h/%2", "http://h/%252"),
        ("http://h/%20?a b#c%20d#e", "http://h/%20?a%20b#c%20d%23e"),
        ("http://[::1]:80/%5B [", "http://[::1]:80/%5B%20%5B"),
        ("http://user:p%40ss@h/ %20", "http://user:p%40ss@h/%20%20"),
        ("http://h/a b", "http://h/a%20b"),
        ("http://h/plain%20one", "http://h/plain%20one"),
    ])
    func `what a URL cannot have is encoded, and escapes are kept`(text: String, url: String) {
        #expect(URL(escaping: text)?.absoluteString == url)
    }

    @Test(arguments: [
        ("/a%20b c", "http://h/a%20b%20c"), ("b%20c d", "http://h/x/b%20c%20d"),
        ("//other/p%2Fq r", "http://other/p%2Fq%20r"), ("?a%20 b", "http://h/x/y?a%20%20b"),
        ("a%20/http://x y", "http://h/x/a%20/http://x%20y"),
    ])
    func `escapes of references are kept`(text: String, url: String) {
        let base = URL(string: "http://h/x/y")
        #expect(URL(escaping: text, relativeTo: base)?.absoluteString == url)
    }
}
