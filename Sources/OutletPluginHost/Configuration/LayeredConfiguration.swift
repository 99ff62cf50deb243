import OutletHTTP

/// Configuration merged from several origins: a top-level key of a later one replaces the same key
/// of an earlier one with its whole value.
struct LayeredConfiguration: Sendable {
    private(set) var object: JSONObject = [:]
    /// The origin of each top-level key, by the bytes of its token in a JSON pointer.
    private var sources: [[UInt8]: String] = [:]
    /// All origins, in the order in which they were added.
    private var places: [String] = []

    /// Merges an object over what is there.
    ///
    /// - Parameter source: The origin of the object, for error messages.
    mutating func lay(_ other: JSONObject, from source: String) {
        if !places.contains(where: { $0.hasSameBytes(as: source) }) { places.append(source) }
        for member in other {
            object[member.name] = member.value
            sources[Array(member.name.pointerToken.utf8)] = source
        }
    }

    /// The origin of a top-level key, or all origins.
    ///
    /// - Parameter token: The key as a token of a JSON pointer; `nil`, or an unknown key, for all
    ///   origins.
    func source(of token: String?) -> String {
        token.flatMap { sources[Array($0.utf8)] } ?? places.joined(separator: ", ")
    }

    /// The largest number of keys of an object; they are searched linearly.
    static let mostKeys = 1000

    /// Parses a text, which must be a JSON object without repeated keys and too large numbers.
    ///
    /// - Throws: ``InvalidSettings`` with what is wrong, without an origin.
    static func object(
        parsing text: some Collection<UInt8>
    ) throws(InvalidSettings) -> JSONObject {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: Array(text), maximumDepth: 64)
        } catch {
            throw InvalidSettings([ConfigurationViolation(fact: "\(error)")])
        }
        guard let object = value.objectValue else {
            throw InvalidSettings([ConfigurationViolation(fact: "not a JSON object")])
        }
        guard object.count <= mostKeys else {
            throw InvalidSettings([
                ConfigurationViolation(fact: "it has more than \(mostKeys) keys")
            ])
        }
        let faults = ConfigurationViolation.faults(in: value)
        guard faults.isEmpty else { throw InvalidSettings(faults) }
        return object
    }
}

/// Invalid settings, with all violations.
struct InvalidSettings: Error {
    let violations: [ConfigurationViolation]

    init(_ violations: [ConfigurationViolation]) { self.violations = violations }

    /// The same violations with an origin.
    func from(_ source: String) -> InvalidSettings {
        InvalidSettings(
            violations.map { violation in
                var violation = violation
                violation.source = source
                return violation
            })
    }
}
