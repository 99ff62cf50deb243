public import FoundationEssentials
import OutletHTTP

/// An error in a plugin's configuration and its position.
///
/// It never contains values of the configuration, since they may be secrets; it may contain keys.
public struct ConfigurationViolation: Error, Sendable, Equatable {
    /// A JSON pointer (RFC 6901) to the invalid value, such as `/limits/rate`; empty for the whole
    /// configuration.
    public var path: String
    /// What is wrong, such as `expected a number, found a string`.
    public var fact: String
    /// The origin of the configuration, such as the path of a file; empty where it is not known.
    public var source: String

    /// Creates a violation.
    ///
    /// - Parameters:
    ///   - path: A JSON pointer (RFC 6901) into the configuration; empty for all of it.
    ///   - fact: What is wrong there, without values.
    ///   - source: The origin of the configuration, such as a file; empty where it is not known.
    public init(path: String = "", fact: String, source: String = "") {
        self.path = path
        self.fact = fact
        self.source = source
    }
}

extension ConfigurationViolation: CustomStringConvertible, LocalizedError {
    /// One line: the path, what is wrong, and the origin.
    public var description: String {
        (path.isEmpty ? fact : "\(path): \(fact)") + (source.isEmpty ? "" : " (\(source))")
    }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}

extension ConfigurationViolation {
    /// The text for an unknown key.
    ///
    /// - Parameter suggestion: The key that could be meant; `nil` if there is none.
    static func unknown(_ key: String, suggestion: String?) -> String {
        "unknown key '\(shortened(key))'"
            + (suggestion.map { "; did you mean '\(shortened($0))'?" } ?? "")
    }

    /// The first 256 bytes of a text, with an ellipsis if it is longer.
    static func shortened(_ text: String) -> String {
        text.shortened(toBytes: 256)
    }

    /// The maximum number of violations that are found (`most_violations` in `CJSONSchema`).
    static let most = 100

    /// Repeated keys in objects, and numbers beyond the range of a `Double`; at most ``most``.
    ///
    /// They are refused because parsers disagree on whether the first or the last value of a key
    /// counts, and on whether such a number is infinite or an error.
    static func faults(in value: JSONValue) -> [ConfigurationViolation] {
        var found: [ConfigurationViolation] = []
        var tokens: [String] = []
        func add(_ fact: String) {
            guard found.count < most else { return }
            let path = shortened(tokens.map { "/\($0)" }.joined())
            found.append(ConfigurationViolation(path: path, fact: fact))
        }
        func look(_ value: JSONValue, in name: String) {
            tokens.append(shortened(name).pointerToken)
            look(value)
            tokens.removeLast()
        }
        func look(_ value: JSONValue) {
            switch value {
            case .object(let members):
                var names: Set<[UInt8]> = []
                for member in members where found.count < most {
                    // By bytes: equal texts may have different ones.
                    if !names.insert(Array(member.name.utf8)).inserted {
                        add("the key '\(shortened(member.name))' is there twice")
                    }
                    look(member.value, in: member.name)
                }
            case .array(let elements):
                for (index, element) in elements.enumerated() where found.count < most {
                    look(element, in: "\(index)")
                }
            case .number(let number) where number.doubleValue.isInfinite:
                add("the number is larger than any that is read")
            case .number, .string, .bool, .null: break
            }
        }
        look(value)
        return found
    }
}

extension String {
    /// The first reference token of a JSON pointer, still escaped; `nil` for an empty pointer.
    var firstPointerToken: String? {
        parts(separatedBy: "/").dropFirst().first.map { String($0) }
    }

    /// The text escaped as a reference token of a JSON pointer.
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
    /// The origin that all violations share; empty when they differ.
    var commonSource: String {
        let source = first?.source ?? ""
        return allSatisfy { $0.source.hasSameBytes(as: source) } ? source : ""
    }

    /// The first 20 violations on one line, each with its origin unless all share it.
    var line: String {
        let limit = 20
        let isCommon = !commonSource.isEmpty
        let facts = prefix(limit).map { violation in
            var violation = violation
            if isCommon { violation.source = "" }
            return violation.description
        }
        let text = facts.joined(separator: "; ")
        guard count > limit else { return text }
        let isCut = count >= ConfigurationViolation.most
        return "\(text); and \(isCut ? "at least " : "")\(count - limit) more"
    }
}
