import OutletHTTP

/// A word of a shell's command line.
///
/// Control characters, which a terminal interprets when the line is pasted, and invisible
/// characters are written as `"$(printf '\\033')"`.
package enum ShellWord {
    /// Quotes a word so that a POSIX shell takes it literally.
    ///
    /// - Parameters:
    ///   - word: The word.
    ///   - always: Whether to quote also words that need no quotes.
    /// - Returns: The word, between single quotes if it has special characters.
    package static func quoted(_ word: String, always: Bool = false) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            byte.isAlpha || byte.isDigit || "-_./:@".utf8.contains(byte)
        }
        guard always || !isPlain || word.isEmpty else { return word }
        var text = "'"
        for scalar in word.unicodeScalars {
            if scalar == "'" {
                text += #"'\''"#
            } else if isUnsafeToPaste(scalar) {
                let octal = UTF8.encode(scalar)?.map { byte in
                    "\\" + (byte < 0o100 ? "0" : "") + (byte < 0o10 ? "0" : "")
                        + String(byte, radix: 8)
                }
                text += #"'"$(printf '"# + (octal ?? []).joined() + #"')"'"#
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text + "'"
    }

    /// Whether a terminal interprets or hides the scalar; a line feed in quotes is harmless.
    private static func isUnsafeToPaste(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control: scalar != "\n"
        case .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
