/// The parts of an exchange to print, with the letters of HTTPie's `--print`.
struct OutputParts: OptionSet, Sendable, Equatable {
    let rawValue: UInt8

    /// `H`: the request's head.
    static let requestHead = OutputParts(rawValue: 1)
    /// `B`: the request's body.
    static let requestBody = OutputParts(rawValue: 2)
    /// `h`: the response's head.
    static let responseHead = OutputParts(rawValue: 4)
    /// `b`: the response's body.
    static let responseBody = OutputParts(rawValue: 8)
    /// `m`: timing, sizes, addresses, proxy and CA.
    static let metadata = OutputParts(rawValue: 16)
    /// `p`: the actions of plugins.
    static let plugins = OutputParts(rawValue: 32)

    /// The parts that are known before the response's body arrives.
    static let heads: OutputParts = [.requestHead, .requestBody, .responseHead]

    /// The parts of `--verbose`.
    static let verbose: OutputParts = [
        .requestHead, .requestBody, .responseHead, .responseBody, .metadata, .plugins,
    ]

    private static let letters: [Character: OutputParts] = [
        "H": .requestHead, "B": .requestBody, "h": .responseHead, "b": .responseBody,
        "m": .metadata, "p": .plugins,
    ]
}

extension OutputParts {
    /// Parses the letters of `--print`.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` for an unknown letter.
    init(letters: String) throws(CommandError) {
        var parts: OutputParts = []
        for letter in letters {
            guard let part = OutputParts.letters[letter] else {
                throw .usage("--print: '\(letter)': not one of H, B, h, b, p, m")
            }
            parts.insert(part)
        }
        self = parts
    }

    /// Reads `--print`, `--verbose`, `--headers` and `--body`.
    ///
    /// `nil` if none of them is given.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` for an unknown letter of `--print`, and if
    ///   two of them are given.
    init?(_ arguments: ParsedArguments) throws(CommandError) {
        let choices: [(option: Option.ID, parts: OutputParts)] = [
            (.verbose, .verbose), (.headers, .responseHead), (.body, .responseBody),
        ]
        var given = choices.filter { arguments.isOn($0.option) }
        if let letters = arguments.value(.print) {
            given.append((.print, try OutputParts(letters: letters)))
        }
        guard let first = given.first else { return nil }
        guard given.count == 1 else {
            throw .usage(
                "--\(first.option.rawValue): contradicts --\(given[1].option.rawValue)",
                advice: "--print=hb prints the response's head and body")
        }
        self = first.parts
    }
}
