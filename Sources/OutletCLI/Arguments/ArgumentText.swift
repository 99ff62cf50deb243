import Outlet

/// The command line as the system gives it: bytes, which are to be text.
enum ArgumentText {
    /// The texts of arguments that begin with the program's name.
    ///
    /// - Throws: ``CommandError`` for one that is not UTF-8: repaired it would ask for something
    ///   else. Of its bytes only those are shown that are the fault, it may hold a secret.
    static func texts(_ arguments: [[UInt8]]) throws(CommandError) -> [String] {
        var texts: [String] = []
        for (index, bytes) in arguments.enumerated() {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw .usage(
                    "argument \(index): not text in UTF-8: \(fault(in: bytes))",
                    advice: "other bytes can come from a file or stdin")
            }
            texts.append(text)
        }
        return texts
    }

    /// The first bytes that are no character, and where they are.
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
