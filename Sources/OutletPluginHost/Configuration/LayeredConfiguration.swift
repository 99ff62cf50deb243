import OutletHTTP

/// Configuration from several places: a key of a later one takes the place of the same key of an
/// earlier one, with all that is in it.
struct LayeredConfiguration: Sendable {
    private(set) var object: JSONObject = [:]
    /// Where keys come from.
    private var sources: [String: String] = [:]
    /// All places, in order.
    private var places: [String] = []

    mutating func lay(_ other: JSONObject, from source: String) {
        if !places.contains(source) { places.append(source) }
        for member in other {
            object[member.name] = member.value
            sources[member.name] = source
        }
    }

    /// Where a key comes from; without one all places.
    ///
    /// - Parameter token: The key as a step of a JSON pointer.
    func source(of token: String?) -> String {
        let key = sources.keys.first { token?.hasSameBytes(as: $0.pointerToken) == true }
        return key.flatMap { sources[$0] } ?? places.joined(separator: ", ")
    }

    /// How many keys an object may have; they are looked up one after another.
    static let mostKeys = 1000

    /// Reads a text, which must be a JSON object without repeated keys.
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
        let repeated = ConfigurationViolation.repeatedKeys(in: value)
        guard repeated.isEmpty else { throw InvalidSettings(repeated) }
        return object
    }
}

/// Settings that cannot be used, and all that is wrong with them.
struct InvalidSettings: Error {
    let violations: [ConfigurationViolation]

    init(_ violations: [ConfigurationViolation]) { self.violations = violations }

    /// The same with the place that they come from.
    func from(_ source: String) -> InvalidSettings {
        InvalidSettings(
            violations.map { violation in
                var violation = violation
                violation.source = source
                return violation
            })
    }
}
