import FoundationEssentials
import Outlet

/// How a body is shown.
enum BodyText {
    /// What a body turned out to be.
    enum Content: Sendable, Equatable {
        case json(JSONValue)
        /// Claims to be JSON and is not.
        case brokenJSON(JSONSyntaxError)
        case text(String)
        case binary
    }

    /// Looks at a body.
    ///
    /// Only what claims to be JSON is read as JSON: guessing would change bytes on the screen.
    static func content(of body: Data, claimsJSON: Bool) -> Content {
        if claimsJSON, !body.isEmpty {
            do {
                return .json(try JSONValue(parsing: body))
            } catch {
                return .brokenJSON(error)
            }
        }
        guard !body.contains(0), let text = String(validating: body, as: UTF8.self) else {
            return .binary
        }
        return .text(text)
    }

    /// JSON for the screen.
    static func format(_ value: JSONValue, pretty: Bool, style: Style) -> String {
        var format: JSONFormat = pretty ? JSONFormat(indent: 4) : .compact
        if style.isOn {
            format.palette = JSONPalette(
                name: "\u{1B}[34m", string: "\u{1B}[32m", number: "\u{1B}[36m",
                literal: "\u{1B}[35m", reset: "\u{1B}[0m")
        }
        return value.text(format)
    }
}
