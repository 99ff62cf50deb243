import Testing

@testable import OutletHTTP

/// JSON that is formatted while it is received.
@Suite struct JSONReformatterTests {
    private static let valid = [
        "{}", "[]", " [ ] ", "null", "true", " false\n", "0", "-0", "-1.5e+10", "12E3", "\"\"",
        #"{"a":[1,2,{"b":null}],"c":{},"d":[[],{}],"e":"x\"y\\z\/\b\f\n\r\t"}"#,
        #"["\u00e9\ud83d\ude00\u0000\u001f\u009b\u202e\u0022\u005c", "é😀"]"#,
        "\u{FEFF}[1]", "[1,\n2 ,\t3\r\n]", "[-0.0e-0,1e5]",
    ]

    private static let broken = [
        "", " ", "{", "[", "[1", "[1,", "[1,]", "{\"a\"", "{\"a\":", "{\"a\":1,", "{\"a\":1,}",
        "{a:1}",
        "nope", "nul", "truE", "01", "-", "1.", "1e", "1e+", ".5", "+1", "\"", "\"\\", "\"\\x\"",
        "\"\\u12g4\"", "\"\\ud800", "\"\\ud800\\", "\"\\ud800\\x\"", "\"\\ud800\\u12g4\"",
        "\"\u{01}\"", "[1}", "{]", "[1 2]", "1 2", "[] x", "{\"a\" 1}", "[,]", "{,}", "'a'", "[1]]",
    ]

    @Test(arguments: valid)
    func `a value keeps its meaning in every layout`(text: String) throws {
        let value = try JSONValue(parsing: text)
        for layout in [JSONReformatter.Layout.compact, .indented(2)] {
            let shown = try Self.reformat([Array(text.utf8)], layout)
            #expect(try JSONValue(parsing: shown) == value)
        }
    }

    /// Strings with half of a surrogate pair, which RFC 8259 §8.2 allows and `String` cannot hold.
    private static let halves = [
        #""\ud800""#, #""\udC00""#, #""\ud800x""#, #""\ud800é""#, #""\ud800\n""#,
        #""\ud800\"""#, #""\ud800\ud800""#, #""\ud800\udc00\udc00""#, #"{"\uD83D":"a\uDE00b"}"#,
        #""\ud800\u0000""#,
    ]

    @Test(arguments: halves)
    func `the escape of half a surrogate pair stays as it is`(text: String) throws {
        let text = text.replacing(#"\ud800\udc00"#, with: "\u{10000}")
        #expect(try Self.reformat([Array(text.utf8)], .compact) == text)
    }

    @Test(arguments: valid + broken + halves)
    func `the result does not depend on how the text is split`(text: String) {
        let bytes = Array(text.utf8)
        let whole = Result { try Self.reformat([bytes], .indented(4)) }
        let single = Result { try Self.reformat(bytes.map { [$0] }, .indented(4)) }
        #expect((try? whole.get()) == (try? single.get()))
        #expect(Self.fault(whole) == Self.fault(single))
    }

    @Test(arguments: broken)
    func `invalid JSON is refused, and no byte of it is lost`(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
        var reformatter = JSONReformatter(layout: .compact)
        var output: [UInt8] = []
        let bytes = Array(text.utf8)
        do {
            try reformatter.append(bytes, to: &output)
            try reformatter.finish()
            Issue.record("accepted")
        } catch {
            let shown = output + reformatter.held + bytes.suffix(reformatter.unread)
            let plain = text.utf8.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
            #expect(shown.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == Array(plain))
        }
    }

    private static let palette = JSONPalette(
        name: "<n>", string: "<s>", number: "<d>", literal: "<l>", reset: "<>")

    @Test(arguments: valid + broken)
    func `the colour is reset after each piece, at the end and at a fault`(text: String) {
        let bytes = Array(text.utf8)
        for cut in 0...bytes.count {
            var reformatter = JSONReformatter(layout: .indented(2), palette: Self.palette)
            for piece in [bytes[..<cut], bytes[cut...]] {
                var output: [UInt8] = []
                let result = Result { try reformatter.append(Array(piece), to: &output) }
                let marks = String(decoding: output, as: UTF8.self).matches(of: /<[nsdl]?>/)
                #expect(marks.last.map { $0.output == "<>" } ?? true, "\(text), \(cut)")
                guard case .success = result else { break }
            }
        }
    }

    @Test(arguments: [
        [0xEF], [0xEF, 0xBB], [0xEF, 0x31], [0xEF, 0xBB, 0x31], [0xBB, 0xBF, 0x31],
    ])
    func `an incomplete byte order mark is a fault, and its bytes are not lost`(bytes: [UInt8]) {
        var reformatter = JSONReformatter(layout: .compact)
        var output: [UInt8] = []
        let fault = #expect(throws: JSONSyntaxError.self) {
            try reformatter.append(bytes, to: &output)
            try reformatter.finish()
        }
        #expect(output + reformatter.held + bytes.suffix(reformatter.unread) == bytes)
        let parsed = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: bytes) }
        if bytes.count > 2 { #expect(fault == parsed) }
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        for bytes in [[0xFF], [0xC3, 0x28], [0xED, 0xA0, 0x80]] as [[UInt8]] {
            #expect(throws: JSONSyntaxError.self) {
                try Self.reformat([[0x22] + bytes + [0x22]], .compact)
            }
        }
    }

    @Test func `the error equals the error of the parser`() {
        let text = "{\n  \"a\": nope}"
        #expect(
            Self.fault(Result { try Self.reformat([Array(text.utf8)], .compact) })
                == Self.fault(Result { try JSONValue(parsing: text).text() }))
    }

    @Test func `characters that control a terminal are escaped`() throws {
        let text = "[\"\\u009b\\u202E\u{9B}\u{202E}\u{7F}\u{E0041}\\u001b\"]"
        #expect(
            try Self.reformat([Array(text.utf8)], .compact)
                == #"["\u009b\u202e\u009b\u202e\u007f\udb40\udc41\u001b"]"#)
    }

    @Test func `members are indented, and empty containers stay on one line`() throws {
        #expect(
            try Self.reformat([Array(#"{"a":[1,{}],"b":[]}"#.utf8)], .indented(2))
                == "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}")
    }

    @Test func `nesting is limited to 512 levels`() {
        let deep = [UInt8](repeating: UInt8(ascii: "["), count: 513)
        #expect(throws: JSONSyntaxError.self) { try Self.reformat([deep], .compact) }
        let fault = Self.fault(Result { try Self.reformat([deep], .compact) })
        #expect(fault?.reason == .tooDeep(maximum: 512))
        #expect(fault?.offset == 512)
    }

    private static func fault(_ result: Result<String, any Error>) -> JSONSyntaxError? {
        guard case .failure(let error) = result else { return nil }
        return error as? JSONSyntaxError
    }

    private static func reformat(
        _ pieces: [[UInt8]], _ layout: JSONReformatter.Layout
    ) throws(JSONSyntaxError) -> String {
        var reformatter = JSONReformatter(layout: layout)
        var output: [UInt8] = []
        for piece in pieces {
            try reformatter.append(piece, to: &output)
        }
        try reformatter.finish()
        return String(decoding: output, as: UTF8.self)
    }
}
