import Outlet

/// A command of the program.
enum Verb: String, Sendable, CaseIterable {
    case request
    case pluginsList = "plugins list"
    case pluginsInspect = "plugins inspect"
    case pluginsConfig = "plugins config"
    case pluginsCall = "plugins call"
    case pluginsCheck = "plugins check"
    case pluginsNew = "plugins new"
    case demo
    case help

    /// The forms of the verb's command line.
    var synopses: [String] {
        switch self {
        case .request: ["outlet [METHOD] URL [ITEM…]"]
        case .pluginsList: ["outlet plugins list DIR…"]
        case .pluginsInspect:
            [
                "outlet plugins inspect [--run] FILE",
                "outlet plugins inspect [--run] ID --plugins DIR",
            ]
        case .pluginsConfig: ["outlet plugins config [--run] [ID] --plugins DIR"]
        case .pluginsCall: ["outlet plugins call ID.FUNCTION --plugins DIR [--] [ARGUMENT…]"]
        case .pluginsCheck: ["outlet plugins check FILE"]
        case .pluginsNew: ["outlet plugins new --lang=c|swift NAME"]
        case .demo: ["outlet demo [--plugins DIR]"]
        case .help: ["outlet help [VERB]"]
        }
    }

    /// One sentence about what the verb does.
    var summary: String {
        switch self {
        case .request: "Sends one HTTP request, through plugins if asked to."
        case .pluginsList:
            "Lists the plugins of a directory, and what cannot be used and why; runs none of their code."
        case .pluginsInspect:
            "Shows what a plugin's file says of it; with --run what its code says, too."
        case .pluginsConfig:
            "Checks the settings of plugins, with --run against the schemas of their code, too; starts none."
        case .pluginsCall:
            "Calls a function that a plugin exports, by name; '--' goes before texts that begin with '-'."
        case .pluginsCheck:
            "Tests whether a plugin follows the rules of the ABI, each test in a process of its own."
        case .pluginsNew: "Writes the project of a new plugin, which its own 'make test' checks."
        case .demo: "Runs a few requests through sample plugins and a server of its own."
        case .help: "Explains a verb."
        }
    }

    /// The words that select the verb; empty for ``request``.
    var words: [String] {
        self == .request ? [] : rawValue.parts(separatedBy: " ").map(String.init)
    }
}

extension Verb {
    /// Finds the verb that the operands begin with.
    ///
    /// A first operand that is a verb is never a host name; a host named `demo` must be written
    /// `http://demo/`.
    ///
    /// - Returns: The verb, and the operands after its words.
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if the verb is incomplete or misspelt.
    static func selected(
        by operands: [String]
    ) throws(CommandError) -> (verb: Verb, operands: [String]) {
        guard let first = operands.first else { return (.request, []) }
        let sameStart = allCases.filter { $0.words.first == first }
        if sameStart.isEmpty {
            try refuseMistypedVerb(first)
            return (.request, operands)
        }
        for verb in sameStart where operands.starts(with: verb.words) {
            return (verb, Array(operands.dropFirst(verb.words.count)))
        }
        let choices = sameStart.compactMap { $0.words.dropFirst().first }
        let list = choices.joined(separator: ", ")
        guard operands.count > 1 else {
            throw .usage("\(first): what to do is missing: one of \(list)")
        }
        let nearest = Suggestion.nearest(to: operands[1], among: choices)
        throw .usage(
            "\(first) \(operands[1]): no such verb: there are \(list)",
            advice: nearest.map { "did you mean '\(first) \($0)'?" } ?? "see 'outlet --help'")
    }

    private static func refuseMistypedVerb(_ word: String) throws(CommandError) {
        guard word.utf8.count >= 4, word.utf8.allSatisfy({ $0.isAlpha && $0 & 0x20 != 0 }),
            !RequestLine.isKnownMethod(word),
            let verb = Suggestion.nearest(to: word, among: Set(allCases.compactMap(\.words.first)))
        else { return }
        throw .usage(
            "\(word): no such verb",
            advice: "did you mean '\(verb)'? a host of that name is 'http://\(word)/'")
    }
}
