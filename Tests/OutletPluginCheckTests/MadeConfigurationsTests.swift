import OutletHTTP
import Testing

@testable import OutletPluginCheck

/// The configurations that the checker generates.
@Suite struct MadeConfigurationsTests {
    private func all(
        _ schema: String, given: String = "{}", seed: UInt64 = 1
    ) throws -> [JSONValue] {
        var made = MadeConfigurations(schema: schema, given: given, seed: seed)
        var all: [JSONValue] = []
        while let next = made.next() { all.append(try JSONValue(parsing: next)) }
        #expect(made.progress.made == made.progress.count)
        return all
    }

    @Test(
        arguments: [
            (#"{"type": "array", "items": {"type": "string"}}"#, [0, 1, 2, 8]),
            (#"{"type": "array", "minItems": 2, "maxItems": 3}"#, [2, 3]),
            (
                #"{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}"#,
                [0, 1, 2, 8]
            ),
            (#"{"type": "array", "items": {"enum": ["a", "b"]}, "default": []}"#, [0, 1, 2, 8]),
            (#"{"type": "array", "items": [{"type": "boolean"}, {"type": "string"}]}"#, [0, 1, 2]),
        ] as [(String, Set<Int>)])
    func `lists have no, one and several elements`(list: String, counts: Set<Int>) throws {
        let made = try all(#"{"properties": {"list": \#(list)}}"#)
        let found = Set(made.compactMap { $0["list"]?.arrayValue?.count })
        #expect(found.isSuperset(of: counts))
    }

    @Test func `elements of lists and members of objects have unusual values`() throws {
        let made = try all(
            """
            {"properties": {
              "rules": {"type": "array", "items": {"$ref": "#/definitions/rule"}},
              "limits": {"allOf": [{"properties": {"rate": {"type": "integer"}}}], "type": "object"},
              "names": {"type": "object", "additionalProperties": {"type": "integer"}}},
             "definitions": {"rule": {"type": "object", "properties": {"port": {"type": "integer"}}}}}
            """)
        #expect(made.contains { $0["rules"]?[0]?["port"]?.intValue == -1 })
        #expect(made.contains { $0["rules"]?[0]?.objectValue?.isEmpty == true })
        #expect(made.contains { $0["limits"]?["rate"]?.intValue == -1 })
        #expect(made.contains { $0["names"]?["check"]?.intValue == -1 })
    }

    @Test func `parts of the user's configuration have unusual values without a schema`() throws {
        let made = try all("", given: #"{"hosts": [{"name": "a"}, {"name": "b"}]}"#)
        #expect(
            made.contains { $0["hosts"]?[0]?["name"] == "" && $0["hosts"]?[1]?["name"] == "b" })
    }

    @Test func `the schema allows all, and all settings are changed`() throws {
        let names = (0..<40).map { "k\($0)" }
        let settings = names.map { #""\#($0)": {"type": "integer"}"# }.joined(separator: ", ")
        let made = try all(#"{"properties": {\#(settings)}, "additionalProperties": false}"#)
        for name in names { #expect(made.contains { $0[name]?.intValue == -1 }) }
        for configuration in made {
            #expect(configuration.objectValue?.allSatisfy { $0.value.doubleValue != nil } == true)
        }
    }

    @Test func `settings that exclude each other are not set together`() throws {
        let made = try all(
            """
            {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
             "not": {"required": ["a", "b"]}}
            """)
        #expect(made.contains { $0["a"] != nil })
        #expect(!made.contains { $0["a"] != nil && $0["b"] != nil })
    }

    @Test func `values that a schema bounds are as small and as large as allowed`() throws {
        let made = try all(
            """
            {"properties": {"port": {"type": "integer", "minimum": 3, "maximum": 99},
                            "name": {"type": "string", "minLength": 2, "maxLength": 9}}}
            """)
        let ports = Set(made.compactMap { $0["port"]?.intValue })
        #expect(ports.isSuperset(of: [3, 99]))
        #expect(made.contains { $0["name"]?.stringValue?.utf8.count == 27 })
    }

    @Test func `a schema that refers to itself often is no endless one`() throws {
        let members = (0..<20).map { ##""m\##($0)": {"$ref": "#"}"## }.joined(separator: ", ")
        var made = MadeConfigurations(
            schema: #"{"type": "object", "properties": {\#(members)}}"#, given: "{}", seed: 1)
        #expect(made.next() == "{}")
        #expect(made.next() != nil)
    }

    @Test func `the seed decides the order of the settings, not what is tried`() throws {
        let schema = #"{"properties": {"a": {}, "b": {}, "c": {}, "d": {}, "e": {}}}"#
        let texts = try (1...2).map { try all(schema, seed: $0).map { $0.text() } }
        #expect(try all(schema, seed: 1).map { $0.text() } == texts[0])
        #expect(texts[0] != texts[1])
        #expect(Set(texts[0]) == Set(texts[1]))
    }
}
