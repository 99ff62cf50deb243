import Outlet

/// Generates the manual page `outlet(1)` from the option table, the verbs and the exit codes.
enum ManualPage {
    /// The page's source, with the macros of man(7).
    static var text: String {
        var page = """
            .TH OUTLET 1 "" "outlet \(escaped(outletVersion))" "User Commands"
            .SH NAME
            outlet \\- HTTP requests through native plugins
            .SH SYNOPSIS

            """
        for synopsis in Verb.allCases.flatMap(\.synopses) {
            page += ".B \(escaped(synopsis))\n.br\n"
        }
        page += ".SH VERBS\n"
        for verb in Verb.allCases {
            page += entry(verb.words.isEmpty ? "[METHOD] URL [ITEM…]" : verb.rawValue, verb.summary)
        }
        page += ".SH ITEMS\n"
        for (form, meaning) in Help.itemForms { page += entry(form, meaning) }
        for group in Option.Group.allCases {
            page += ".SH OPTIONS: \(group.rawValue.uppercased())\n"  // text: ours
            for option in OptionTable.all where option.group == group {
                page += entry(name(of: option), summary(of: option))
            }
        }
        page += ".SH EXIT STATUS\n"
        for code in ExitCode.allCases { page += entry(String(code.rawValue), code.explanation) }
        page += ".SH ENVIRONMENT\n"
        for (name, meaning) in environment { page += entry(name, meaning) }
        return page
    }

    private static let environment = [
        ("OUTLET_DEBUG", "When 1, each line on the wire is logged to stderr, secrets left out."),
        (
            "OUTLET_PLUGIN_PATH",
            "Absolute paths of directories of plugins, separated by colons; --plugins wins."
        ),
        ("http_proxy, https_proxy, all_proxy, no_proxy", "Which proxy a request goes through."),
        (
            "CURL_CA_BUNDLE, SSL_CERT_FILE, SSL_CERT_DIR",
            "Where certificate authorities are found; the first one counts before the others."
        ),
        ("NO_COLOR, CLICOLOR_FORCE, CLICOLOR, TERM", "Whether colours are used."),
    ]

    private static func name(of option: Option) -> String {
        let names = (option.short.map { ["-\($0)"] } ?? []) + ["--\(option.long)"]
        return names.joined(separator: ", ") + (option.value.map { " \($0)" } ?? "")
    }

    private static func summary(of option: Option) -> String {
        option.choices.isEmpty
            ? option.summary
            : "\(option.summary) One of \(option.choices.joined(separator: ", "))."
    }

    private static func entry(_ term: String, _ text: String) -> String {
        ".TP\n.B \(escaped(term))\n\(escaped(text))\n"
    }

    private static func escaped(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")  // text: ours
        // troff treats a line that begins with one of these characters as a request.
        let isRequest = escaped.startsWithBytes(of: ".") || escaped.startsWithBytes(of: "'")
        return isRequest ? "\\&\(escaped)" : escaped
    }
}
