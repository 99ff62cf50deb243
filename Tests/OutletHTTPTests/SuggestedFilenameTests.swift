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
    func `the field's name is taken, the extended one first`(field: String, expected: String) {
        #expect(name(field) == expected)
    }

    @Test(arguments: [
        ("../../etc/passwd", "passwd"), ("/etc/passwd", "passwd"),
        (#"C:\Windows\evil.exe"#, "evil.exe"), (".bashrc", "bashrc"), ("...", "h.test"),
        ("..", "h.test"), ("a\u{1}b\u{7f}c", "abc"), ("evil\u{202E}txt.exe", "eviltxt.exe"),
        (" . name . ", "name"),
    ])
    func `no name leads out of a directory or hides`(given: String, expected: String) {
        #expect(name("attachment; filename*=UTF-8''\(encoded(given))") == expected)
    }

    private func encoded(_ text: String) -> String {
        text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test func `a long name is cut before its extension`() {
        let long = name("attachment; filename=\(String(repeating: "ä", count: 300)).tar")
        #expect(long.utf8.count <= 255)
        #expect(long.hasSuffix("ä.tar"))
    }

    @Test func `without the field the address gives the name`() {
        #expect(name(nil, "http://h.test/dir/file%20x.txt?q=1") == "file x.txt")
        #expect(name(nil, "http://h.test/") == "h.test")
        #expect(name(nil, "http://h.test/a%2F..%2Fb") == "b")
    }
}
