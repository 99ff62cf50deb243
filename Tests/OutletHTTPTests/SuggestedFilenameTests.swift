import FoundationEssentials
import OutletHTTP
import Testing

@Suite struct SuggestedFilenameTests {
    private func name(_ disposition: String?, _ address: String = "http://h.test/") -> String {
        var headers = HTTPHeaders()
        if let disposition { headers.add(name: "Content-Disposition", value: disposition) }
        return HTTPResponse(url: URL(string: address), statusCode: 200, headers: headers)
            .suggestedFilename
    }

    @Test(arguments: [
        (#"attachment; filename="a b.txt""#, "a b.txt"),
        ("attachment; filename=plain.txt", "plain.txt"),
        (#"inline; x=1; filename="semi;colon.txt"; y=2"#, "semi;colon.txt"),
        (#"attachment; filename="quote\".txt""#, "quote\".txt"),
        ("attachment; filename=\"eur.txt\"; filename*=UTF-8''%e2%82%ac.txt", "€.txt"),
        ("attachment; filename*=iso-8859-1'de'%fc.txt", "ü.txt"),
        ("attachment; filename*=UTF-8''%ff; filename=b.txt", "b.txt"),
        ("attachment; filename*=UTF-8''..%2f..%2fevil", "evil"),
    ])
    func `the name of Content-Disposition is used, and filename* takes precedence`(
        field: String, expected: String
    ) {
        #expect(name(field) == expected)
    }

    @Test(arguments: [
        ("../../etc/passwd", "passwd"), ("/etc/passwd", "passwd"),
        (#"C:\Windows\evil.exe"#, "evil.exe"), (".bashrc", "bashrc"), ("...", "h.test"),
        ("..", "h.test"), ("a\u{1}b\u{7f}c", "abc"), ("evil\u{202E}txt.exe", "eviltxt.exe"),
        (" . name . ", "name"),
        // One `Character` each, which is neither a slash nor a backslash nor a dot.
        ("..\u{2F}\u{FE0F}x", "x"), ("a/\u{301}x", "\u{301}x"), ("a\\\u{301}x", "\u{301}x"),
        ("a/\u{2028}../b", "b"), ("/\u{200B}/\u{2060}etc", "etc"), ("a/.\u{301}x", "\u{301}x"),
        (".\u{FE0F}./\u{FE0F}.\u{FE0F}.\u{FE0F}/.profile", "profile"),
        ("a\u{0}/b", "b"), ("..\u{0}", "h.test"), ("/\u{2028}\u{85}/", "h.test"),
        ("..%2F..%2Fx", "%2F..%2Fx"), ("CON\u{202E}", "CON"),
    ])
    func `path separators, leading dots and control characters are removed`(
        given: String, expected: String
    ) {
        #expect(name("attachment; filename*=UTF-8''\(encoded(given))") == expected)
    }

    private func encoded(_ text: String) -> String {
        text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Names that a faulty server or a malicious one might send.
    static let hostileNames = [
        "..", "/", "\\", "\u{FE0F}", "\u{301}", ".", " ", "\u{0}", "\n", "\u{2028}", "x",
    ]
    .flatMap { first in
        ["/", "\\", "\u{FE0F}", "/\u{301}", "..", "\u{7F}", "é", "\u{200D}"].flatMap { second in
            ["/", "..", "\u{301}", "y", "\u{202E}", "\u{85}"].map { first + second + $0 }
        }
    }

    @Test func `every name is one visible path component`() {
        let long =
            [
                "a\(String(repeating: "\u{301}", count: 300)).tar",
                String(repeating: ".x", count: 300),
            ]
            + [String(repeating: "日", count: 300), "\(String(repeating: "a", count: 300))/.b"]
            + ["\(String(repeating: "b", count: 250)). .\(String(repeating: "c", count: 90))"]
        for given in Self.hostileNames + long {
            let name = name("attachment; filename*=UTF-8''\(encoded(given))")
            let bytes = Array(name.utf8)
            #expect((1...255).contains(bytes.count) && bytes.first != UInt8(ascii: "."))
            #expect(
                !bytes.contains { $0 < 0x20 || $0 == 0x7F || "/\\".utf8.contains($0) }, "\(given)")
            #expect(name.utf8.last != UInt8(ascii: ".") && name.utf8.last != 0x20)
        }
    }

    @Test func `an unclosed quoted name does not hide the parameters after it`() {
        #expect(name("attachment; filename=\"a; filename*=UTF-8''b") == "b")
    }

    @Test func `a long name is cut before its extension`() {
        let long = name("attachment; filename=\(String(repeating: "ä", count: 300)).tar")
        #expect(long.utf8.count <= 255)
        #expect(long.hasSuffix("ä.tar"))
    }

    @Test func `without the field the name is taken from the URL`() {
        #expect(name(nil, "http://h.test/dir/file%20x.txt?q=1") == "file x.txt")
        #expect(name(nil, "http://h.test/") == "h.test")
        #expect(name(nil, "http://h.test/a%2F..%2Fb") == "b")
    }
}
