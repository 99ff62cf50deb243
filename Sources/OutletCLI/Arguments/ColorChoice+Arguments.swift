extension ColorChoice {
    /// Reads `--color` and `--pretty`; a value of `--pretty` takes precedence, except that
    /// `--color=never` always means no colours.
    init(_ arguments: ParsedArguments) {
        let color = arguments.value(.color).flatMap(ColorChoice.init) ?? .auto
        switch arguments.value(.pretty) {
        case "all", "colors": self = color == .never ? .never : .always
        case "format", "none": self = .never
        default: self = color
        }
    }
}
