/// Colours text with ECMA-48 SGR sequences, or leaves it as it is.
struct Style: Sendable, Equatable {
    let isOn: Bool

    static let plain = Style(isOn: false)

    func bold(_ text: String) -> String { paint(text, "1") }
    func dim(_ text: String) -> String { paint(text, "2") }
    func red(_ text: String) -> String { paint(text, "31") }
    func green(_ text: String) -> String { paint(text, "32") }
    func yellow(_ text: String) -> String { paint(text, "33") }
    func blue(_ text: String) -> String { paint(text, "34") }
    func magenta(_ text: String) -> String { paint(text, "35") }
    func cyan(_ text: String) -> String { paint(text, "36") }

    /// Returns a text in the colour of a status: green, cyan for 3xx, yellow for 4xx, else red.
    func status(_ code: Int, _ text: String) -> String {
        switch code {
        case 100..<300: green(text)
        case 300..<400: cyan(text)
        case 400..<500: yellow(text)
        default: red(text)
        }
    }

    private func paint(_ text: String, _ code: String) -> String {
        isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

/// When to use colours.
enum ColorChoice: String, Sendable {
    case auto, always, never

    /// Whether a stream gets colours.
    ///
    /// The option decides, then the environment (no-color.org, bixense.com/clicolors), then whether
    /// the stream is a terminal.
    func isOn(isTerminal: Bool, environment: [String: String]) -> Bool {
        switch self {
        case .always: return true
        case .never: return false
        case .auto: break
        }
        if environment["NO_COLOR"]?.isEmpty == false { return false }
        if let force = environment["CLICOLOR_FORCE"], !force.isEmpty, force != "0" { return true }
        return isTerminal && environment["TERM"] != "dumb" && environment["CLICOLOR"] != "0"
    }
}
