import Outlet

/// Parses a command line by means of ``OptionTable``.
///
/// Options may stand anywhere: `--long value`, `--long=value`, `-s value`, `-svalue`, `-abc`.
/// `--no-SWITCH` turns a switch off, `--` ends the options. A negative number after the name of a
/// function is an argument of `plugins call`, and not an option.
struct ArgumentParser {
    private var arguments: ArraySlice<String>
    private var values: [Option.ID: [String]] = [:]
    private var switchedOff: Set<Option.ID> = []
    private var operands: [String] = []

    /// Parses a command line.
    ///
    /// - Parameter arguments: The arguments without the program's name.
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if the command line is wrong.
    static func parse(_ arguments: [String]) throws(CommandError) -> ParsedArguments {
        var parser = ArgumentParser(arguments: arguments[...])
        return try parser.run()
    }

    private init(arguments: ArraySlice<String>) { self.arguments = arguments }

    private mutating func run() throws(CommandError) -> ParsedArguments {
        while let argument = arguments.popFirst() {
            if argument == "--" {
                operands += arguments
                break
            } else if argument.startsWithBytes(of: "--") {
                try parseLong(argument.droppingBytes(2))
            } else if argument.startsWithBytes(of: "-"), argument != "-",
                !isOfFunction || !Self.isNegativeNumber(argument)
            {
                try parseShort(argument.droppingBytes(1))
            } else {
                operands.append(argument)
            }
        }
        // --help and --version work even if the rest of the command line is wrong.
        if values[.version] != nil || values[.help] != nil {
            let verb = (try? Verb.selected(by: operands)) ?? (.request, operands)
            return parsed(verb.verb, operands: verb.operands)
        }
        let (verb, rest) = try Verb.selected(by: operands)
        for option in OptionTable.all where isUsed(option.id) {
            guard option.verbs.contains(verb) else {
                throw .usage("--\(option.long): not an option of 'outlet \(verb.rawValue)'")
            }
        }
        return parsed(verb, operands: rest)
    }

    /// Whether a text is a decimal number with a minus sign; not `-inf` and the like.
    private static func isNegativeNumber(_ text: String) -> Bool {
        let digit = text.utf8.dropFirst().first { $0 != UInt8(ascii: ".") }
        return digit?.isDigit == true && Double(text) != nil
    }

    /// Whether what follows are arguments of a function, besides options.
    private var isOfFunction: Bool {
        operands.count > Verb.pluginsCall.words.count
            && operands.starts(with: Verb.pluginsCall.words)
    }

    private func parsed(_ verb: Verb, operands: [String]) -> ParsedArguments {
        ParsedArguments(verb: verb, operands: operands, values: values, switchedOff: switchedOff)
    }

    private func isUsed(_ id: Option.ID) -> Bool { values[id] != nil || switchedOff.contains(id) }

    private mutating func parseLong(_ text: Substring) throws(CommandError) {
        let parts = text.parts(separatedBy: "=", maxSplits: 1)
        let name = String(parts[0])
        let attached = parts.count > 1 ? String(parts[1]) : nil
        if let option = OptionTable.option(long: name) {
            return try take(option, called: "--\(name)", attached: attached)
        }
        if name.startsWithBytes(of: "no-"),
            let option = OptionTable.option(long: String(name.droppingBytes(3))),
            option.value == nil
        {
            guard attached == nil else { throw .usage("--\(name): takes no value") }
            values[option.id] = nil
            if option.isOnByDefault { switchedOff.insert(option.id) }
            return
        }
        throw unknown("--\(name)")
    }

    private mutating func parseShort(_ text: Substring) throws(CommandError) {
        var rest = text
        while let letter = rest.popFirst() {
            guard let option = OptionTable.option(short: letter) else {
                throw unknown("-\(letter)")
            }
            guard option.value != nil else {
                try take(option, called: "-\(letter)", attached: nil)
                continue
            }
            return try take(
                option, called: "-\(letter)", attached: rest.isEmpty ? nil : String(rest))
        }
    }

    private mutating func take(
        _ option: Option, called name: String, attached: String?
    ) throws(CommandError) {
        guard let placeholder = option.value else {
            guard attached == nil else { throw .usage("\(name): takes no value") }
            values[option.id] = [""]
            switchedOff.remove(option.id)
            return
        }
        guard let value = attached ?? arguments.popFirst() else {
            throw .usage("\(name): the value is missing: \(placeholder)")
        }
        guard !value.isEmpty || option.allowsEmpty else {
            throw .usage("\(name): the value is empty: \(placeholder)")
        }
        guard option.choices.isEmpty || option.choices.contains(value) else {
            // The nearest of several versions says nothing about the one that was meant.
            let nearest =
                value.utf8.contains(where: \.isAlpha)
                ? Suggestion.nearest(to: value, among: option.choices) : nil
            // The value is not shown, because it may be that of another option, and a secret.
            throw .usage(
                "\(name): not one of \(option.choices.joined(separator: ", "))",
                advice: nearest.map { "did you mean '\($0)'?" } ?? "see 'outlet --help'")
        }
        if option.repeats {
            values[option.id, default: []].append(value)
        } else {
            values[option.id] = [value]
        }
    }

    private func unknown(_ name: String) -> CommandError {
        // The name may contain a secret by mistake, but without it the error would say nothing.
        let nearest = Suggestion.nearest(
            to: String(Substring(name.utf8.drop { $0 == UInt8(ascii: "-") })),
            among: OptionTable.all.map(\.long))
        return .usage(
            "\(name): no such option",
            advice: nearest.map { "did you mean '--\($0)'?" }
                ?? (isOfFunction
                    ? "'--' goes before texts that begin with '-'" : "see 'outlet --help'"))
    }
}
