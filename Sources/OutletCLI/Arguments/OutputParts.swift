/// What of an exchange is printed, by HTTPie's letters.
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
    /// `p`: what each plugin did.
    static let plugins = OutputParts(rawValue: 32)

    /// What is known before a response's body.
    static let heads: OutputParts = [.requestHead, .requestBody, .responseHead]

    /// All of `-v`.
    static let verbose: OutputParts = [
        .requestHead, .requestBody, .responseHead, .responseBody, .metadata, .plugins,
    ]

    private static let letters: [Character: OutputParts] = [
        "H": .requestHead, "B": .requestBody, "h": .responseHead, "b": .responseBody,
        "m": .metadata, "p": .plugins,
    ]
}

extension OutputParts {
    /// Reads the letters of `--print`.
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

    /// What the options ask for; `nil` when none does.
    init?(_ arguments: ParsedArguments) throws(CommandError) {
        if let letters = arguments.value(.print) {
            self = try OutputParts(letters: letters)
        } else if arguments.isOn(.verbose) {
            self = .verbose
        } else if arguments.isOn(.headers) {
            self = .responseHead
        } else if arguments.isOn(.body) {
            self = .responseBody
        } else {
            return nil
        }
    }
}
