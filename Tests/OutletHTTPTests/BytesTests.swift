import OutletHTTP
import Testing

/// Operations on the bytes of a text, not on its `Character`s or canonical equivalents.
@Suite struct BytesTests {
    @Test(arguments: [
        ("a;b;;c", ["a", "b", "", "c"]), ("", [""]), (";", ["", ""]),
        ("a;\u{FE0F}b", ["a", "\u{FE0F}b"]), ("a;\u{301}b", ["a", "\u{301}b"]),
        // The Greek question mark, which is canonically equivalent to a semicolon.
        ("a\u{37E}b", ["a\u{37E}b"]), ("é;\u{FFFD}", ["é", "\u{FFFD}"]),
    ])
    func `a text is split at a byte, also next to combining characters`(
        text: String, expected: [String]
    ) {
        let parts = text.parts(separatedBy: ";")
        #expect(parts.map { Array($0.utf8) } == expected.map { Array($0.utf8) })
    }

    @Test func `splitting stops after maxSplits`() {
        #expect("a=b=c".parts(separatedBy: "=", maxSplits: 1) == ["a", "b=c"])
    }

    @Test(arguments: [
        ("a, b ,,c", ["a", "b", "c"]), (#"a="x,y", b"#, [#"a="x,y""#, "b"]),
        (#"a="x\",y", b"#, [#"a="x\",y""#, "b"]), (#"a="x, b, c"#, [#"a="x"#, "b", "c"]),
        (#"a="x\", b"#, [#"a="x\""#, "b"]), ("", []), (" , ", []),
        ("a=\"ü\u{301},\u{2028}\",b\u{301}, c", ["a=\"ü\u{301},\u{2028}\"", "b\u{301}", "c"]),
    ])
    func `a list is not split inside closed quoted strings`(text: String, expected: [String]) {
        #expect(text.listItems().map { Array($0.utf8) } == expected.map { Array($0.utf8) })
    }

    @Test func `a text is cut at the first or the last separator`() throws {
        let first = try #require("a=\u{301}b=c".cut(at: "="))
        #expect(first.head == "a" && first.tail.hasSameBytes(as: "\u{301}b=c"))
        let last = try #require("a/b/\u{FE0F}c".cutAtLast("/"))
        #expect(last.head == "a/b" && last.tail.hasSameBytes(as: "\u{FE0F}c"))
        let around = try #require("a:\u{301}//b://c".cut(around: "//"))
        #expect(around.head.hasSameBytes(as: "a:\u{301}") && around.tail == "b://c")
        #expect("ab".cut(around: "bc") == nil)
        #expect("abc".cut(at: "=") == nil && "abc".cutAtLast("=") == nil)
        #expect(try #require("=".cut(at: "=")) == ("", ""))
    }

    @Test func `only LF and CRLF end a line`() {
        let text = "a\u{2028}b\u{85}c\u{B}d\re\r\nf\n\n\r\ng\n"
        #expect(text.lines == ["a\u{2028}b\u{85}c\u{B}d\re", "f", "g"])
    }

    @Test func `only spaces and tabs are trimmed`() {
        #expect(" \t a b\u{A0}\t ".trimmingBlanks.hasSameBytes(as: "a b\u{A0}"))
        #expect(" \u{301} ".trimmingBlanks.hasSameBytes(as: "\u{301}"))
        #expect("  ".trimmingBlanks.isEmpty)
    }

    @Test func `texts are compared by their bytes`() {
        #expect("\u{212A}" == "K")
        #expect(!"\u{212A}".hasSameBytes(as: "K") && !"\u{212A}".equalsIgnoringCase("k"))
        #expect(!"\u{E9}".hasSameBytes(as: "e\u{301}"))
        #expect("/\u{FE0F}x".startsWithBytes(of: "/") && "x/\u{301}".containsByte("/"))
        #expect(!"\u{301}/".startsWithBytes(of: "/") && "a\u{301}.so".endsWithBytes(of: ".so"))
        #expect("Content-TYPE".equalsIgnoringCase("content-type"))
        #expect("ByTes=1".startsIgnoringCase(with: "bytes="))
        #expect(!"so".endsWithBytes(of: ".so"))
        #expect("a:\u{301}//b".containsBytes(of: "//b") && "ab".containsBytes(of: ""))
        #expect(!"ab".containsBytes(of: "bc") && !"".containsBytes(of: "a"))
    }

    @Test func `lowercasing changes ASCII letters only`() {
        #expect("AZ[@\u{212A}\u{130}Ä".lowercasedASCII.hasSameBytes(as: "az[@\u{212A}\u{130}Ä"))
    }

    @Test(arguments: [
        ("0", 0), ("007", 7), ("9223372036854775807", Int64.max), ("9223372036854775808", nil),
        ("", nil), ("+1", nil), ("-1", nil), ("1 ", nil), ("٣", nil), ("1\u{301}", nil),
    ])
    func `a number consists of digits and fits in 64 bits`(text: String, expected: Int64?) {
        #expect(text.decimal() == expected)
        #expect(text.clampedDecimal() == (text.isDigits ? expected ?? .max : nil))
    }

    @Test(arguments: [
        ("a%20b", Array("a b".utf8)), ("%ff%C3", [0xFF, 0xC3]), ("%", nil), ("%4", nil),
        ("%4g", nil), ("%+1", nil), ("", []),
    ])
    func `a percent sign needs two hexadecimal digits`(text: String, expected: [UInt8]?) {
        #expect(text.percentDecodedBytes == expected)
    }

    @Test(arguments: [
        (#""a\"b\\c" rest"#, #"a"b\c"#, " rest"), (#""""#, "", ""), (#""open\""#, nil, #""open\""#),
        ("token", nil, "token"), ("\"\u{301}é\"x", "\u{301}é", "x"), (#""\"#, nil, #""\"#),
    ])
    func `a quoted string is read only if it is closed`(
        text: String, expected: String?, rest: String
    ) {
        var scanner = ByteScanner(text)
        #expect(
            scanner.readQuotedString().map { Array($0.utf8) } == expected.map { Array($0.utf8) })
        #expect(scanner.rest.hasSameBytes(as: rest))
    }

    @Test(arguments: [
        ("max-age=3", "max-age", "3"), (" a = \"b;c\" d", "a", "b;c"), ("flag", "flag", nil),
        ("a=", "a", ""), ("a=\"open", "a", "\"open"), ("=b", "", "b"),
    ])
    func `a parameter has a name and an optional value`(text: String, name: String, value: String?)
    {
        var scanner = ByteScanner(text)
        let found = scanner.readParameter()
        #expect(found.name == name && found.value == value && scanner.isAtEnd)
    }

    @Test func `a scanner reads tokens, blanks and single bytes`() {
        var scanner = ByteScanner("Basic \t, é")
        #expect(scanner.readToken() == "Basic")
        #expect(scanner.readToken().isEmpty)
        scanner.skipBlanks()
        #expect(scanner.skip(",") && !scanner.skip(","))
        scanner.skipBlanks()
        #expect(scanner.rest == "é" && !scanner.isAtEnd)
        scanner.skip()
        scanner.skip()
        scanner.skip()
        #expect(scanner.isAtEnd && scanner.peek == nil)
    }

    @Test func `copies have the same bits, values that are canonically equivalent do not`() {
        let composed = String(repeating: "\u{E9}", count: 20)
        let decomposed = String(repeating: "e\u{301}", count: 20)
        #expect(composed == decomposed && !haveSameBits(composed, decomposed))
        let (text, dictionary) = (composed, [composed: "1"])
        #expect(haveSameBits(text, composed) && haveSameBits("a", "a"))
        var changed = dictionary
        #expect(haveSameBits(changed, dictionary))
        changed[composed] = "2"
        #expect(!haveSameBits(changed, dictionary) && !haveSameBits("a", "b"))
        // Sizes that are no multiple of a word are not compared.
        #expect(!haveSameBits(true, true))
    }

    @Test(arguments: [
        ("abc", 3, "abc"), ("abcd", 3, "abc…"), ("aé", 3, "aé"), ("aéb", 2, "a…"), ("é", 1, "…"),
        ("e\u{301}\u{301}", 3, "e\u{301}…"), ("", 0, ""),
    ])
    func `a shortened text has at most the given bytes and no part of a character`(
        text: String, limit: Int, expected: String
    ) {
        #expect(text.shortened(toBytes: limit).hasSameBytes(as: expected))
    }
}
