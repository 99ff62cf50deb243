import Outlet

/// The name of a JSON field with its path through objects and arrays: `user[tags][]`, `a[b][0]`.
struct NestedField: Equatable {
    enum Step: Equatable {
        /// A member of an object.
        case member(String)
        /// An element of an array.
        case element(Int)
        /// A new element at the end of an array.
        case append
    }

    let steps: [Step]

    /// The highest index allowed, because an array is filled with `null` up to its index.
    static let highestIndex = 9_999
    /// The highest number of steps, as deep as JSON from a text may be.
    static let longestPath = 512

    /// Parses a name.
    ///
    /// A backslash escapes `[`, `]` and `\`. A backslash before the first digit in brackets makes
    /// it the name of a member instead of an index.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if the brackets or an index are wrong.
    init(parsing name: String) throws(CommandError) {
        var steps: [Step] = []
        var rest = Array(name.unicodeScalars)[...]
        if !rest.starts(with: ["["]) {
            steps.append(.member(NestedField.literal(from: &rest, until: "[").text))
        }
        while let opening = rest.popFirst() {
            guard opening == "[" else {
                throw .usage(
                    "field '\(name)': text behind ']'", advice: "another '[' or '=' goes there")
            }
            let (text, isEscaped) = NestedField.literal(from: &rest, until: "]")
            guard rest.popFirst() == "]" else { throw .usage("field '\(name)': ']' is missing") }
            steps.append(try NestedField.step(text, isEscaped: isEscaped, in: name))
        }
        guard steps.count <= NestedField.longestPath else {
            throw .usage("a field's name has more than \(NestedField.longestPath) parts")
        }
        self.steps = steps
    }

    private static func step(
        _ text: String, isEscaped: Bool, in name: String
    ) throws(CommandError) -> Step {
        guard !text.isEmpty else { return .append }
        guard !isEscaped, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return .member(text)
        }
        guard let index = Int(text), index <= highestIndex else {
            throw .usage("field '\(name)': index \(text): larger than \(highestIndex)")
        }
        return .element(index)
    }

    private static func literal(
        from rest: inout ArraySlice<Unicode.Scalar>, until end: Unicode.Scalar
    ) -> (text: String, isEscaped: Bool) {
        var text = ""
        var isEscaped = false
        while let scalar = rest.first, scalar != end {
            rest = rest.dropFirst()
            if scalar == "\\", let next = rest.first, isEscapable(next, first: text.isEmpty) {
                rest = rest.dropFirst()
                isEscaped = true
                text.unicodeScalars.append(next)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return (text, isEscaped)
    }

    private static func isEscapable(_ scalar: Unicode.Scalar, first: Bool) -> Bool {
        scalar == "[" || scalar == "]" || scalar == "\\"
            || (first && ("0"..."9").contains(scalar))
    }
}

extension NestedField {
    /// Sets the value at the path, and makes missing objects and arrays.
    ///
    /// - Parameters:
    ///   - value: The value to set.
    ///   - root: The JSON value to change; `nil` if there is none yet.
    ///   - name: The name as written, for the error.
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if the path leads through a value of
    ///   another kind.
    func set(
        _ value: JSONValue, in root: inout JSONValue?, name: String
    ) throws(CommandError) {
        do {
            try NestedField.set(value, in: &root, steps: steps[...])
        } catch {
            throw .usage("field '\(name)': \(error.found), not \(error.wanted), is already there")
        }
    }

    private struct Conflict: Error {
        let found: String
        let wanted: String
    }

    private static func set(
        _ value: JSONValue, in place: inout JSONValue?, steps: ArraySlice<Step>
    ) throws(Conflict) {
        guard let step = steps.first else {
            place = value
            return
        }
        let rest = steps.dropFirst()
        switch step {
        case .member(let name):
            // What is changed is taken out of the place, because otherwise all of it would be copied.
            var object = try opened(&place, as: "an object", JSONObject()) { $0.objectValue }
            var child = object[name]
            if child != nil { object[name] = .null }
            try set(value, in: &child, steps: rest)
            object[name] = child
            place = .object(object)
        case .element, .append:
            var elements = try opened(&place, as: "an array", []) { $0.arrayValue }
            var index = elements.count
            if case .element(let wanted) = step { index = wanted }
            var child: JSONValue?
            if elements.indices.contains(index) {
                child = elements[index]
                elements[index] = .null
            }
            try set(value, in: &child, steps: rest)
            while elements.count <= index { elements.append(.null) }
            elements[index] = child ?? .null
            place = .array(elements)
        }
    }

    /// Takes the existing container out, or makes an empty one if there is nothing or `null`.
    private static func opened<Container>(
        _ place: inout JSONValue?, as wanted: String, _ empty: Container,
        _ container: (JSONValue) -> Container?
    ) throws(Conflict) -> Container {
        guard let value = place, !value.isNull else { return empty }
        guard let found = container(value) else {
            throw Conflict(found: kind(of: value), wanted: wanted)
        }
        place = nil
        return found
    }

    private static func kind(of value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "a truth value"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
