extension ColorChoice {
    /// What `--color` says, and `--pretty` where that is more exact.
    init(_ arguments: ParsedArguments) {
        let color = arguments.value(.color).flatMap(ColorChoice.init) ?? .auto
        switch arguments.value(.pretty) {
        case "all", "colors": self = color == .never ? .never : .always
        case "format", "none": self = .never
        default: self = color
        }
    }
}
