import FoundationEssentials
import Outlet

/// How bodies are looked at.
enum BodyText {
    /// Whether a body that begins so is text in UTF-8: nothing else is shown on a terminal.
    static func isText(prefix: Data) -> Bool {
        guard !prefix.contains(0) else { return false }
        var decoder = UTF8Decoder()
        // The last character may be torn.
        return prefix.allSatisfy { decoder.accepts($0) }
    }

    /// Whether a media type is JSON's (RFC 8259 §11, RFC 6839 §3.1).
    static func claimsJSON(_ mediaType: String) -> Bool {
        mediaType.equalsIgnoringCase("application/json")
            || mediaType.lowercasedASCII.endsWithBytes(of: "+json")
    }
}

extension JSONReformatter {
    /// How deep a report may be nested: a body is read with a limit of its own, and lies deeper.
    private static let maximumDepth = 1024

    /// JSON on one line.
    static var oneLine: JSONReformatter {
        JSONReformatter(layout: .compact, maximumDepth: maximumDepth)
    }

    /// JSON for people: four blanks a level, in the colours of a style.
    static func pretty(_ style: Style) -> JSONReformatter {
        JSONReformatter(
            layout: .indented(4),
            palette: style.isOn
                ? JSONPalette(
                    name: "\u{1B}[34m", string: "\u{1B}[32m", number: "\u{1B}[36m",
                    literal: "\u{1B}[35m", reset: "\u{1B}[0m")
                : nil,
            maximumDepth: maximumDepth)
    }
}
