/// The type of an exported function, parsed from a text such as `i(ls)`: the result, then the
/// arguments in parentheses, one letter each (`outlet/export.h`).
struct Signature: Equatable, Sendable, CustomStringConvertible {
    /// The type of a result or an argument; the raw value is its letter.
    enum Kind: Unicode.Scalar, Equatable, Sendable {
        case void = "v"
        case boolean = "b"
        case int32 = "i"
        case uint32 = "I"
        case int64 = "l"
        case uint64 = "L"
        case double = "d"
        case text = "s"
        case bytes = "y"
        case request = "r"
        case callback = "f"
        case status = "e"
        case call = "c"
        case sink = "o"
        case byteSink = "O"

        /// Whether the host supplies the argument, not the caller.
        var isSupplied: Bool { self == .call || isSink }
        /// Whether the argument is a sink that receives the function's result.
        var isSink: Bool { self == .sink || self == .byteSink }
        /// Whether it is a number or a Boolean.
        var isScalar: Bool {
            switch self {
            case .boolean, .int32, .uint32, .int64, .uint64, .double: true
            case .void, .status, .text, .bytes, .call, .sink, .byteSink, .request, .callback: false
            }
        }

        /// Whether a function may return it.
        var isResult: Bool {
            switch self {
            case .void, .boolean, .int32, .uint32, .int64, .uint64, .double, .status: true
            case .text, .bytes, .request, .callback, .call, .sink, .byteSink: false
            }
        }

        /// Whether a callback may have it as an argument.
        var isCallbackArgument: Bool {
            switch self {
            case .boolean, .int32, .uint32, .int64, .uint64, .double, .text, .bytes: true
            case .void, .status, .request, .callback, .call, .sink, .byteSink: false
            }
        }
    }

    /// The error for a text that is not a valid signature.
    struct Malformed: Error, Equatable {
        let reason: String
    }

    let result: Kind
    let arguments: [Kind]
    /// The signatures of the callback arguments, in order.
    let callbacks: [Signature]

    /// Whether the function writes its result to a sink.
    let hasSink: Bool
    /// Whether all arguments are numbers or Booleans, which need neither memory nor handles.
    let isScalar: Bool

    /// The maximum number of arguments of a function.
    static let maximumArguments = 8

    /// Parses a signature.
    ///
    /// - Parameter text: The signature, such as `e(cso)`.
    /// - Throws: ``Malformed`` if the text is not a valid signature.
    init(_ text: String) throws(Malformed) {
        try self.init(text.unicodeScalars[...], isCallback: false)
    }

    private init(_ text: Substring.UnicodeScalarView, isCallback: Bool) throws(Malformed) {
        var letters = text
        let result = try Signature.kind(letters.popFirst())
        self.result = result
        guard letters.popFirst() == "(", letters.popLast() == ")" else {
            throw Malformed(reason: "not of the form result(arguments)")
        }
        var arguments: [Kind] = []
        var callbacks: [Signature] = []
        while let letter = letters.popFirst() {
            let kind = try Signature.kind(letter)
            arguments.append(kind)
            guard kind == .callback else { continue }
            guard !isCallback else { throw Malformed(reason: "'f' inside of 'f'") }
            guard letters.popFirst() == "{",
                let end = letters.firstIndex(of: "}")  // text: ours
            else {
                throw Malformed(reason: "'f' without its signature in braces")
            }
            callbacks.append(try Signature(letters[..<end], isCallback: true))
            letters = letters[letters.index(after: end)...]
        }
        self.arguments = arguments
        self.callbacks = callbacks
        hasSink = arguments.contains(where: \.isSink)
        isScalar = arguments.allSatisfy(\.isScalar)
        guard arguments.count <= Signature.maximumArguments else {
            throw Malformed(
                reason: "\(arguments.count) arguments, at most \(Signature.maximumArguments)")
        }
        guard result.isResult, !isCallback || result != .status else {
            throw Malformed(reason: "'\(result.rawValue)' cannot be a result")
        }
        for kind in [Kind.void, .status] where arguments.contains(kind) {
            throw Malformed(reason: "'\(kind.rawValue)' cannot be an argument")
        }
        if isCallback, let kind = arguments.first(where: { !$0.isCallbackArgument }) {
            throw Malformed(reason: "'\(kind.rawValue)' cannot be an argument of 'f'")
        }
        guard arguments.count(where: { $0 == .call }) <= 1 else {
            throw Malformed(reason: "'c' comes twice")
        }
        guard arguments.count(where: \.isSink) <= 1 else {
            throw Malformed(reason: "'o' comes twice")
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

    /// The kinds of the arguments that the caller supplies, in order.
    var parameters: [Kind] { arguments.filter { !$0.isSupplied } }

    /// The signature in letters, as in the plugin's descriptor.
    var description: String {
        "\(result.rawValue)(\(texts { "f{\($0)}" } others: { "\($0.rawValue)" }.joined()))"
    }

    /// Returns a text for each argument.
    private func texts(
        callbacks callback: (Signature) -> String, others: (Kind) -> String
    ) -> [String] {
        var callbacks = callbacks[...]
        return arguments.map { kind in
            guard kind == .callback, let signature = callbacks.popFirst() else {
                return others(kind)
            }
            return callback(signature)
        }
    }

    /// The type in words, such as `(text, int64) -> text`.
    var declaration: String {
        let parameters = zip(
            arguments,
            texts {
                "(\($0.declaration))"
            } others: {
                $0.name
            }
        ).filter { !$0.0.isSupplied }.map(\.1).joined(separator: ", ")
        let result =
            arguments.contains(.byteSink)
            ? "bytes" : hasSink ? "text" : result == .status ? "nothing" : result.name
        return "(\(parameters)) -> \(result)"
    }
}

extension Signature.Kind {
    /// The kind in words.
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
        case .bytes: "bytes"
        case .request: "request"
        case .callback: "function"
        case .status: "status"
        case .call: "call"
        case .sink, .byteSink: "sink"
        }
    }
}
