import Testing

@testable import OutletHTTP

/// Untrusted text that is written to a terminal.
@Suite struct TerminalTextTests {
    @Test(
        arguments: [
            ("plain\ttext\n", "plain\ttext\n"),
            ("line\r\nline", "line\r\nline"),
            ("over\rwritten", "over^Mwritten"),
            ("end\r", "end^M"),
            ("\u{1B}[2J\u{1B}]0;title\u{07}", "^[[2J^[]0;title^G"),
            ("\u{9B}2J\u{9D}0;x\u{9C}", "<U+009B>2J<U+009D>0;x<U+009C>"),
            ("\u{7F}\u{00}", "^?^@"),
            ("a\u{202E}b\u{2066}c\u{200F}", "a<U+202E>b<U+2066>c<U+200F>"),
            ("a\u{2028}b\u{FEFF}c\u{E0041}", "a<U+2028>b<U+FEFF>c<U+E0041>"),
            ("grüße 日本 👍", "grüße 日本 👍"),
        ] as [(String, String)])
    func `characters that control a terminal are written visibly`(text: String, shown: String) {
        #expect(TerminalText.visible(text) == shown)
    }

    @Test(
        arguments: [
            ([0xFF], "<FF>"), ([0xC3], "<C3>"), ([0xC3, 0x28], "<C3>("),
            ([0xC0, 0x80], "<C0><80>"), ([0xED, 0xA0, 0x80], "<ED><A0><80>"),
            ([0xF4, 0x90, 0x80, 0x80], "<F4><90><80><80>"),
            ([0xE2, 0x82, 0xE2, 0x82, 0xAC], "<E2><82>€"),
            ([0x9B, 0x32, 0x4A], "<9B>2J"),
        ] as [([UInt8], String)])
    func `bytes that are not UTF-8 are written as numbers`(bytes: [UInt8], shown: String) {
        #expect(Self.shown([bytes]) == shown)
    }

    @Test func `the result does not depend on how the text is split`() {
        let text = Array("a\r\nb\rc\u{1B}[m€\u{202E}👍".utf8) + [0xE2, 0x82] + Array("z".utf8)
        let whole = Self.shown([text])
        for cut in 0...text.count {
            #expect(Self.shown([Array(text[..<cut]), Array(text[cut...])]) == whole)
        }
        #expect(Self.shown(text.map { [$0] }) == whole)
    }

    @Test func `visibleLine escapes line breaks`() {
        #expect(TerminalText.visibleLine("a\tb\nc\r\nd\re") == "a^Ib^Jc^M^Jd^Me")
        #expect(TerminalText.visibleLine("\u{1B}[m\u{9B}\n€") == "^[[m<U+009B>^J€")
        #expect(TerminalText.visibleLine("plain") == "plain")
    }

    private static func shown(_ pieces: [[UInt8]]) -> String {
        var writer = TerminalText()
        var output: [UInt8] = []
        for piece in pieces { piece.withUnsafeBytes { writer.append($0, to: &output) } }
        writer.finish(to: &output)
        return String(decoding: output, as: UTF8.self)
    }
}
