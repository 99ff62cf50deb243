import FoundationEssentials
import Outlet

/// Recognizes the kind of bodies.
enum BodyText {
    /// Whether a body that begins with `prefix` is UTF-8 text; only text is shown on a terminal.
    static func isText(prefix: Data) -> Bool {
        guard !prefix.contains(0) else { return false }
        var decoder = UTF8Decoder()
        // The last character may be incomplete.
        return prefix.allSatisfy { decoder.accepts($0) }
    }

    /// Whether a media type is that of JSON (RFC 8259 §11, RFC 6839 §3.1).
    static func claimsJSON(_ mediaType: String) -> Bool {
        mediaType.equalsIgnoringCase("application/json")
            || mediaType.lowercasedASCII.endsWithBytes(of: "+json")
    }
}

extension JSONReformatter {
    /// The maximum nesting depth of bodies; a report contains a body some levels deep.
    private static let maximumDepth = 1024

    /// Reads a body without printing it.
    static var reader: JSONReformatter {
        JSONReformatter(layout: .compact, maximumDepth: maximumDepth)
    }

    /// Prints a report on one line.
    static var oneLine: JSONReformatter {
        JSONReformatter(layout: .compact, maximumDepth: maximumDepth + 16)
    }

    /// Prints indented JSON: four spaces per level, in the colours of `style`.
    static func pretty(_ style: Style, isReport: Bool = false) -> JSONReformatter {
        JSONReformatter(
            layout: .indented(4),
            palette: style.isOn
                ? JSONPalette(
                    name: "\u{1B}[34m", string: "\u{1B}[32m", number: "\u{1B}[36m",
                    literal: "\u{1B}[35m", reset: "\u{1B}[0m")
                : nil,
            maximumDepth: maximumDepth + (isReport ? 16 : 0))
    }
}
