/// A command line taken apart, its values not yet looked at.
struct ParsedArguments: Sendable, Equatable {
    var verb: Verb
    /// What is no option: the URL and its items, directories, function arguments.
    var operands: [String]
    /// The values of each option in order; a switch that is on has one empty value.
    var values: [Option.ID: [String]] = [:]
    /// Switches that are off, though on by default.
    var switchedOff: Set<Option.ID> = []

    func isOn(_ id: Option.ID) -> Bool {
        values[id] != nil
            || (OptionTable.option(id)?.isOnByDefault == true && !switchedOff.contains(id))
    }

    /// The last value given.
    func value(_ id: Option.ID) -> String? { values[id]?.last }

    func values(_ id: Option.ID) -> [String] { values[id] ?? [] }
}
