import Outlet

/// Decodes the command line, which the system passes as bytes.
enum ArgumentText {
    /// Decodes arguments from UTF-8; the first one is the program's name.
    ///
    /// Invalid bytes are not replaced, because the argument would then mean something else.
    ///
    /// - Throws: ``CommandError`` if an argument is not valid UTF-8. It shows only the invalid
    ///   bytes, because the argument may contain a secret.
    static func texts(_ arguments: [[UInt8]]) throws(CommandError) -> [String] {
        var texts: [String] = []
        for (index, bytes) in arguments.enumerated() {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw .usage(
                    "argument \(index): not text in UTF-8: \(fault(in: bytes))",
                    advice: advice(for: arguments))
            }
            texts.append(text)
        }
        return texts
    }

    /// Where other bytes than UTF-8 can come from; empty if the command takes none, or is not known.
    private static func advice(for arguments: [[UInt8]]) -> String {
        let words = arguments.dropFirst().map { String(decoding: $0, as: UTF8.self) }
        guard (try? ArgumentParser.parse(words))?.verb == .request else { return "" }
        return "a body of other bytes can come from a file (@FILE) or stdin"
    }

    /// Describes the first invalid bytes and their position.
    private static func fault(in bytes: [UInt8]) -> String {
        var decoder = UTF8Decoder()
        var start = 0
        for (index, byte) in bytes.enumerated() {
            if decoder.isEmpty { start = index }
            guard decoder.accepts(byte) else { return shown(bytes[start...index], at: start) }
        }
        return shown(bytes[start...], at: start)
    }

    private static func shown(_ bytes: ArraySlice<UInt8>, at offset: Int) -> String {
        let escaped = bytes.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return "\(escaped) at byte \(offset + 1)"
    }
}
