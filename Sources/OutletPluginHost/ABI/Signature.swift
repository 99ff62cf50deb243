/// The type of an exported function, parsed from its text: a result, then arguments in
/// parentheses, one letter each (`outlet/export.h`).
struct Signature: Equatable, Sendable, CustomStringConvertible {
    /// One letter.
    enum Kind: Unicode.Scalar, Equatable, Sendable {
        case void = "v"
        case boolean = "b"
        case int32 = "i"
        case uint32 = "I"
        case int64 = "l"
        case uint64 = "L"
        case double = "d"
        case text = "s"
        case status = "e"
        case call = "c"
        case sink = "o"
    }

    /// Why a text is no signature.
    struct Malformed: Error, Equatable {
        let reason: String
    }

    let result: Kind
    let arguments: [Kind]

    /// The most arguments a function may have.
    static let maximumArguments = 8

    init(_ text: String) throws(Malformed) {
        var letters = text.unicodeScalars[...]
        result = try Signature.kind(letters.popFirst())
        guard letters.popFirst() == "(", letters.popLast() == ")" else {
            throw Malformed(reason: "not of the form result(arguments)")
        }
        guard letters.count <= Signature.maximumArguments else {
            throw Malformed(
                reason: "\(letters.count) arguments, at most \(Signature.maximumArguments)")
        }
        var arguments: [Kind] = []
        for letter in letters { arguments.append(try Signature.kind(letter)) }
        self.arguments = arguments
        guard result != .call, result != .sink else {
            throw Malformed(reason: "'\(result.rawValue)' cannot be a result")
        }
        for kind in [Kind.void, .status] where arguments.contains(kind) {
            throw Malformed(reason: "'\(kind.rawValue)' cannot be an argument")
        }
        for kind in [Kind.call, .sink] where arguments.count(where: { $0 == kind }) > 1 {
            throw Malformed(reason: "'\(kind.rawValue)' comes twice")
        }
        guard !hasSink || result == .status else {
            throw Malformed(reason: "with 'o' the result must be 'e'")
        }
    }

    private static func kind(_ letter: Unicode.Scalar?) throws(Malformed) -> Kind {
        guard let letter else { throw Malformed(reason: "empty") }
        guard let kind = Kind(rawValue: letter) else {
            throw Malformed(reason: "unknown letter '\(letter)'")
        }
        return kind
    }

    /// Whether the function writes its result to a sink.
    var hasSink: Bool { arguments.contains(.sink) }

    /// The kinds that a caller supplies, in order.
    var parameters: [Kind] { arguments.filter { $0 != .call && $0 != .sink } }

    /// The letters.
    var description: String {
        "\(result.rawValue)(\(arguments.map { "\($0.rawValue)" }.joined()))"
    }

    /// The type for people, such as `(text, integer) -> text`.
    var declaration: String {
        let parameters = parameters.map(\.name).joined(separator: ", ")
        let result = hasSink ? "text" : result == .status ? "nothing" : result.name
        return "(\(parameters)) -> \(result)"
    }
}

extension Signature.Kind {
    /// The kind for people.
    var name: String {
        switch self {
        case .void: "nothing"
        case .boolean: "boolean"
        case .int32: "int32"
        case .uint32: "uint32"
        case .int64: "int64"
        case .uint64: "uint64"
        case .double: "number"
        case .text: "text"
        case .status: "status"
        case .call: "call"
        case .sink: "sink"
        }
    }
}
