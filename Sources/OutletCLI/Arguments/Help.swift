import Outlet

/// Generates the help text from the verbs, the option table and the exit codes.
enum Help {
    /// Returns the complete help of a verb, or the overview if `verb` is `nil`.
    static func text(for verb: Verb?, style: Style) -> String {
        verb.map { page(for: $0, style: style) } ?? overview(style: style)
    }

    /// Returns the overview of all verbs.
    static func overview(style: Style) -> String {
        var text = "outlet: HTTP requests through native plugins\n"
        text += section("Usage", style)
        for verb in Verb.allCases {
            for synopsis in verb.synopses { text += "  \(synopsis)\n" }
        }
        text += section("Items", style) + items
        text += section("Examples", style)
        for verb in Verb.allCases { text += examples(of: verb) }
        text += options(of: .request, style: style)
        text += section("Exit codes", style) + exitCodes
        text +=
            "\n'outlet help VERB' explains one verb. OUTLET_DEBUG=1 logs each line on the wire.\n"
        return text
    }

    /// Returns the complete help of a verb.
    static func page(for verb: Verb, style: Style) -> String {
        guard verb != .request else { return overview(style: style) }
        var text = "outlet \(verb.rawValue): \(verb.summary)\n"
        text += section("Usage", style)
        for synopsis in verb.synopses { text += "  \(synopsis)\n" }
        let shown = examples(of: verb)
        if !shown.isEmpty { text += section("Examples", style) + shown }
        return text + options(of: verb, style: style)
    }

    /// Returns the list of the verbs that begin with a word, such as `plugins`; `nil` if there are not
    /// several.
    static func list(of word: String, style: Style) -> String? {
        let verbs = Verb.allCases.filter { $0.words.count > 1 && $0.words.first == word }
        guard !verbs.isEmpty else { return nil }
        var text = "outlet \(word): \(verbs.count) verbs\n"
        for verb in verbs {
            text += section("outlet \(verb.rawValue)", style)
            text += wrapped(verb.summary, width: 78).map { "  \($0)\n" }.joined()
            for synopsis in verb.synopses { text += "    \(synopsis)\n" }
        }
        return text + "\n'outlet help \(word) VERB' explains one of them.\n"
    }

    private static func section(_ title: String, _ style: Style) -> String {
        "\n\(style.bold(title))\n"
    }

    private static let items = table(itemForms)

    /// The forms of request items and their meanings.
    static let itemForms = [
        ("Name:value", "header; 'Name:' leaves one out, 'Name;' sends it empty"),
        ("name==value", "query parameter"),
        ("name=text", "JSON field (or form field, with --form)"),
        ("name:=json", "JSON field of any kind: 3, true, [1,2], {\"a\":1}"),
        ("name[key][]=x", "nested fields: objects by name, lists by [] or [0]"),
        ("name=@file", "the value from a file; also :=@ ==@ :@"),
        ("@file", "the whole body from a file"),
        ("\\", "keeps the next : = ; @ or [ from having a meaning"),
    ]

    private static func examples(of verb: Verb) -> String {
        switch verb {
        case .request:
            table([
                ("outlet :8080/get page==2 Accept:text/html", ""),
                ("outlet example.com/api name=Ada age:=36", "(POST, because it has a body)"),
                ("outlet PUT :8080/put @data.bin -v", ""),
                ("outlet --plugins ./plugins --json :8080/get", ""),
                ("echo '{\"a\":1}' | outlet :8080/post", ""),
            ])
        case .pluginsList: table([("outlet plugins list ./plugins", "")])
        case .pluginsInspect:
            table([
                ("outlet plugins inspect ./plugins/request-id.so", ""),
                ("outlet plugins inspect dev.outlet.pacer --plugins ./plugins --run", ""),
            ])
        case .pluginsConfig:
            table([
                ("outlet plugins config --plugins ./plugins", ""),
                ("outlet plugins config dev.outlet.pacer --plugins ./plugins --run", ""),
            ])
        case .pluginsCall:
            table([("outlet plugins call dev.outlet.pacer.delay_ms 3 --plugins ./plugins", "")])
        case .pluginsCheck:
            table([("outlet plugins check ./plugins/request-id.so", "")])
        case .pluginsNew: table([("outlet plugins new --lang=c com.example.stamp", "")])
        case .demo: table([("outlet demo --plugins ./plugins", "")])
        case .help: ""
        }
    }

    private static func options(of verb: Verb, style: Style) -> String {
        var text = ""
        for group in Option.Group.allCases {
            let rows = OptionTable.all.filter { $0.group == group && $0.verbs.contains(verb) }
            guard !rows.isEmpty else { continue }
            text += section(group.rawValue, style)
            text += table(rows.map { (name(of: $0), describe($0)) })
        }
        return text
    }

    private static func name(of option: Option) -> String {
        let short = option.short.map { "-\($0), " } ?? "    "
        return "\(short)--\(option.long)" + (option.value.map { " \($0)" } ?? "")
    }

    private static func describe(_ option: Option) -> String {
        let choices = option.choices.isEmpty ? "" : " (\(option.choices.joined(separator: ", ")))"
        return option.summary + choices
    }

    private static let exitCodes = table(
        ExitCode.allCases.map { (String($0.rawValue), $0.explanation) })

    /// Formats two columns; a left side that is too wide gets a separate line.
    private static func table(_ rows: [(String, String)]) -> String {
        let width = min(rows.map { $0.0.count }.max() ?? 0, 28)
        var text = ""
        for (left, right) in rows {
            guard !right.isEmpty else {
                text += "  \(left)\n"
                continue
            }
            let isWide = left.count > width
            text += "  \(left)" + (isWide ? "\n" : "")
            let padding = String(repeating: " ", count: isWide ? width + 2 : width - left.count)
            let indent = String(repeating: " ", count: width + 4)
            let lines = wrapped(right, width: 80 - width - 4)
            text += "\(padding)  " + lines.joined(separator: "\n\(indent)") + "\n"
        }
        return text
    }

    private static func wrapped(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.parts(separatedBy: " ") where !word.isEmpty {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return lines + [line]
    }
}
