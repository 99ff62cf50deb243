import OutletHTTP

/// What is wrong with a plugin's configuration, and where in it.
///
/// Values of the configuration are never part of it, since they may be secrets; keys are.
public struct ConfigurationViolation: Error, Sendable, Equatable {
    /// A JSON pointer (RFC 6901) to where it is wrong, such as `/limits/rate`; empty for all of it.
    public var path: String
    /// Such as `expected a number, found a string`.
    public var fact: String
    /// Where the configuration comes from, such as the path of a file; empty where that is plain.
    public var source: String

    /// Makes a violation.
    ///
    /// - Parameters:
    ///   - path: A JSON pointer (RFC 6901) into the configuration; empty for all of it.
    ///   - fact: What is wrong there.
    ///   - source: Where the configuration comes from, such as a file; empty where that is not known.
    public init(path: String = "", fact: String, source: String = "") {
        self.path = path
        self.fact = fact
        self.source = source
    }
}

extension ConfigurationViolation: CustomStringConvertible {
    /// The place and the fact.
    public var description: String {
        (path.isEmpty ? fact : "\(path): \(fact)") + (source.isEmpty ? "" : " (\(source))")
    }
}

extension ConfigurationViolation {
    /// A key that nobody asks for.
    ///
    /// - Parameter known: Keys that could be meant.
    static func unknown(_ key: String, known: [String]) -> String {
        let nearest = Suggestion.nearest(to: key, among: known)
        return "unknown key '\(shortened(key))'"
            + (nearest.map { "; did you mean '\($0)'?" } ?? "")
    }

    /// A text of somebody else's, at most 256 bytes of it.
    static func shortened(_ text: String) -> String {
        let limit = 256
        guard text.utf8.count > limit else { return text }
        return String(decoding: text.utf8.prefix(limit), as: UTF8.self) + "…"
    }

    /// Keys that objects hold twice, a hundred at most: of two readers one would take the first value,
    /// the other the last.
    static func repeatedKeys(in value: JSONValue) -> [ConfigurationViolation] {
        var found: [ConfigurationViolation] = []
        var tokens: [String] = []
        func look(_ value: JSONValue) {
            if let members = value.objectValue {
                var names: Set<String> = []
                for member in members where found.count < 100 {
                    if !names.insert(member.name).inserted {
                        found.append(
                            ConfigurationViolation(
                                path: shortened(tokens.map { "/\($0)" }.joined()),
                                fact: "the key '\(shortened(member.name))' is there twice"))
                    }
                    look(member.value, in: member.name)
                }
            } else if let elements = value.arrayValue {
                for (index, element) in elements.enumerated() where found.count < 100 {
                    look(element, in: "\(index)")
                }
            }
        }
        func look(_ value: JSONValue, in name: String) {
            // Only objects can hold keys, and arrays objects.
            guard value.objectValue != nil || value.arrayValue != nil else { return }
            tokens.append(shortened(name).pointerToken)
            look(value)
            tokens.removeLast()
        }
        look(value)
        return found
    }
}

extension String {
    /// The first step of a JSON pointer; `nil` of an empty one.
    var firstPointerToken: String? {
        parts(separatedBy: "/").dropFirst().first.map { String($0) }
    }

    /// The text as a step of a JSON pointer.
    var pointerToken: String {
        String(
            decoding: utf8.flatMap { byte in
                switch byte {
                case UInt8(ascii: "~"): Array("~0".utf8)
                case UInt8(ascii: "/"): Array("~1".utf8)
                default: [byte]
                }
            }, as: UTF8.self)
    }
}

extension [ConfigurationViolation] {
    /// The place that all come from; empty when there are several.
    var commonSource: String {
        let source = first?.source ?? ""
        return allSatisfy { $0.source.hasSameBytes(as: source) } ? source : ""
    }

    /// All on one line, twenty at most; each with where it comes from, unless that is the same for all.
    var line: String {
        let limit = 20
        let isCommon = !commonSource.isEmpty
        let facts = prefix(limit).map { violation in
            var violation = violation
            if isCommon { violation.source = "" }
            return violation.description
        }
        let text = facts.joined(separator: "; ")
        return count <= limit ? text : "\(text); and \(count - limit) more"
    }
}
