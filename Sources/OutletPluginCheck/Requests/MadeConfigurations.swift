import OutletHTTP
import OutletPluginHost

/// Generates configurations for one plugin that its schema allows: valid and unusual ones.
///
/// The first ones are the empty one and a valid one that has all settings. The others differ from the
/// valid one in one setting each: also in the members of objects and the elements of lists. The seed
/// decides in which order the settings are changed, for which there may be too little time.
struct MadeConfigurations {
    private let schema: ConfigurationSchema?
    private let right: JSONObject
    private let places: [Place]
    /// Those that do not change a setting.
    private let general: [JSONObject]
    /// The position of the next configuration among all: `general`, then `values` of each place.
    private var position = 0

    /// - Parameters:
    ///   - schema: The plugin's JSON Schema; may be empty.
    ///   - given: The user's configuration of the plugin, as a JSON object.
    ///   - seed: The seed of the order.
    init(schema text: String, given: String, seed: UInt64) {
        let given = (try? JSONValue(parsing: given))?.objectValue ?? JSONObject()
        let examples = SchemaExamples(text)
        schema = text.isEmpty ? nil : ConfigurationSchema(text: text)
        right = Self.right(given, examples, schema)
        var random = SeededRandom(seed: seed)
        var places = Self.places(in: right, examples)
        // The nearest ones first: of a large schema, not all can be kept.
        places = Array(places.prefix(Self.mostPlaces)).shuffled(using: &random)
        places.append(Place(path: [.member(Self.unknownName)], values: Self.oddValues))
        self.places = places
        var many = right
        for number in 0..<1000 { many["x-\(number)"] = .int(Int64(number)) }
        general = [JSONObject(), right, many]
    }

    /// The next configuration that the schema allows, as a JSON object; `nil` after the last one.
    mutating func next() -> String? {
        while position < count {
            let made = made(at: position)
            position += 1
            guard let made, schema?.allows(.object(made)) != false else { continue }
            return JSONValue.object(made).text(.compact)
        }
        return nil
    }

    /// The number of configurations that were generated, and of all, in both cases with those that the
    /// schema refuses.
    var progress: (made: Int, count: Int) { (position, count) }

    private var count: Int { general.count + places.count * rounds }

    /// Each round changes every setting once.
    private var rounds: Int { places.map(\.values.count).max() ?? 0 }

    private func made(at position: Int) -> JSONObject? {
        guard position >= general.count else { return general[position] }
        let (round, number) = (position - general.count).quotientAndRemainder(
            dividingBy: places.count)
        let place = places[number]
        guard round < place.values.count else { return nil }
        // Each setting begins with another value: a round that is cut off has tried all of them.
        let value = place.values[(round + number) % place.values.count]
        return JSONValue.object(right).replacing(place.path[...], by: value).objectValue
    }

    /// A configuration with all settings; with fewer, if the schema does not allow all at once.
    private static func right(
        _ given: JSONObject, _ examples: SchemaExamples, _ schema: ConfigurationSchema?
    ) -> JSONObject {
        let all = examples.members.filter { given[$0.name] == nil }
        var complete = given
        for member in all { complete[member.name] = member.value }
        func isAllowed(_ object: JSONObject) -> Bool { schema?.allows(.object(object)) != false }
        if isAllowed(complete) { return complete }
        var right = given
        for member in all where examples.required.contains(member.name) {
            right[member.name] = member.value
        }
        guard isAllowed(right) else { return complete }
        for member in all.prefix(mostPlaces) where right[member.name] == nil {
            var more = right
            more[member.name] = member.value
            if isAllowed(more) { right = more }
        }
        return right
    }

    /// A setting, or a part of its value.
    private struct Place {
        let path: [JSONStep]
        /// The values to try; `nil` for none.
        let values: [JSONValue?]
    }

    /// The settings of a configuration and the parts of their values, those of least depth first.
    private static func places(in right: JSONObject, _ examples: SchemaExamples) -> [Place] {
        var places: [Place] = []
        var level: [(path: [JSONStep], value: JSONValue?, schema: JSONValue)] = [
            ([], .object(right), examples.root)
        ]
        while !level.isEmpty, places.count < mostPlaces {
            var next: [(path: [JSONStep], value: JSONValue?, schema: JSONValue)] = []
            for (path, value, schema) in level where places.count < mostPlaces {
                if !path.isEmpty {
                    var values = oddValues
                    values += examples.others(for: schema, than: value)
                    // A list without its element is empty, which is among the odd values.
                    if case .member = path.last { values.append(nil) }
                    places.append(Place(path: path, values: values))
                }
                guard path.count < SchemaExamples.mostDepth,
                    places.count + next.count < mostPlaces
                else { continue }
                switch value ?? examples.value(of: schema) {
                case .object(let object):
                    let known = examples.names(of: schema)
                    let names = object.map(\.name) + known.filter { object[$0] == nil }
                    for name in names {
                        next.append(
                            (
                                path + [.member(name)], object[name],
                                examples.schema(of: name, in: schema)
                            ))
                    }
                case .array(let elements):
                    next.append((path + [.element], elements.first, examples.element(of: schema)))
                default: break
                }
            }
            level = next
        }
        return places
    }

    /// The most settings, and parts of settings, that are changed.
    private static let mostPlaces = 256

    /// The name of a setting that no plugin has.
    private static let unknownName = "x-outlet-check"

    /// One value of each JSON type that few settings accept.
    ///
    /// None is the name of a file outside of the test's directory.
    private static let oddValues: [JSONValue?] = [
        .null, true, -1, 9_223_372_036_854_775_807, 1e308, "", [], [:],
        .string(String(repeating: "\u{20AC}", count: 20_000)), "\u{0}\u{1B}[2J\u{202E}",
        (0..<100).reduce(JSONValue.array([])) { value, _ in ["a": [value]] },
    ]
}

extension MadeConfigurations {
    /// Returns configurations that differ from the given one in a setting, and that the schema
    /// probably allows.
    ///
    /// - Parameters:
    ///   - schema: The plugin's JSON Schema; may be empty.
    ///   - given: The user's configuration of the plugin, as a JSON object.
    ///   - seed: The seed of the order of the settings.
    /// - Returns: The name of the setting and the JSON object of each.
    static func variants(
        schema: String, given: String, seed: UInt64
    ) -> [(name: String, text: String)] {
        let given = (try? JSONValue(parsing: given))?.objectValue ?? JSONObject()
        let examples = SchemaExamples(schema)
        let known = examples.members.map(\.name)
        let names = known + given.map(\.name).filter { !known.contains($0) }
        var random = SeededRandom(seed: seed)
        return names.shuffled(using: &random).flatMap { name in
            let schema = examples.schema(of: name, in: examples.root)
            return otherValues(than: given[name], schema, examples).map { value in
                var other = given
                other[name] = value
                return (name, JSONValue.object(other).text(.compact))
            }
        }
    }

    /// Values of a setting that differ from its present one.
    private static func otherValues(
        than present: JSONValue?, _ schema: JSONValue, _ examples: SchemaExamples
    ) -> [JSONValue] {
        var values = schema["enum"]?.arrayValue ?? []
        if values.isEmpty {
            switch present ?? examples.value(of: schema) {
            case .bool: values = [true, false]
            case .number(let number):
                values = number.intValue.map { [.int($0 &+ 1), .int($0 &- 1)] } ?? []
            case .string(let text):
                values = ["Check", "http://check.example/x"]
                if !mayNameFile(text) { values.insert(.string(text + "x"), at: 0) }
            case .array, .object: values = examples.others(for: schema, than: present)
            default: break
            }
        }
        return Array(values.filter { $0 != present }.prefix(3))
    }

    /// Whether a text may name a file outside of the test's directory, so that one like it may name
    /// another file of the user, which a plugin could overwrite.
    private static func mayNameFile(_ text: String) -> Bool {
        text.containsBytes(of: "/") && !text.startsWithBytes(of: "http:")
            && !text.startsWithBytes(of: "https:")
    }
}

/// A step to a part of a JSON value.
private enum JSONStep {
    case member(String)
    /// The first element of a list.
    case element
}

extension JSONValue {
    /// The value with another one at a place, which need not be there; `nil` removes what is there.
    fileprivate func replacing(_ path: ArraySlice<JSONStep>, by value: JSONValue?) -> JSONValue {
        switch path.first {
        case nil: return value ?? self
        case .member(let name):
            var object = objectValue ?? JSONObject()
            let rest = path.dropFirst()
            object[name] =
                rest.isEmpty ? value : (object[name] ?? .null).replacing(rest, by: value)
            return .object(object)
        case .element:
            let elements = arrayValue ?? []
            let first = (elements.first ?? .null).replacing(path.dropFirst(), by: value)
            return .array([first] + elements.dropFirst())
        }
    }
}
