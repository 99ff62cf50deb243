/// A parsed command line, whose values are not validated yet.
struct ParsedArguments: Sendable, Equatable {
    var verb: Verb
    /// The arguments that are not options: the URL and its items, directories, function arguments.
    var operands: [String]
    /// The values of each option in order; a switch that is on has one empty value.
    var values: [Option.ID: [String]] = [:]
    /// The switches that are on by default and were turned off.
    var switchedOff: Set<Option.ID> = []

    func isOn(_ id: Option.ID) -> Bool {
        values[id] != nil
            || (OptionTable.option(id)?.isOnByDefault == true && !switchedOff.contains(id))
    }

    /// Returns the last value of an option; `nil` if it is not given.
    func value(_ id: Option.ID) -> String? { values[id]?.last }

    func values(_ id: Option.ID) -> [String] { values[id] ?? [] }
}
