import FoundationEssentials
import OutletHTTP
import Testing

@testable import OutletPluginHost

@Suite struct `Configuration schema` {
    private func violations(_ schema: String, _ value: String) throws -> [String] {
        try ConfigurationSchema(text: schema).violations(of: try JSONValue(parsing: value))
            .map(\.description)
    }

    /// Returns why a schema cannot be used; `nil` if it can.
    private func fault(_ schema: String, _ value: String = "{}") throws -> String? {
        do {
            _ = try violations(schema, value)
            return nil
        } catch ConfigurationSchema.Unusable.schema(let reason) {
            return reason
        }
    }

    @Test func `a schema with a repeated key cannot be used`() throws {
        #expect(
            try fault(#"{"properties": {"a": {"type": "object", "type": "string"}}}"#)
                == "/properties/a: the key 'type' is there twice")
        #expect(try fault(#"{"properties": {"a": {"type": "object"}}}"#) == nil)
    }

    @Test func `all violations of a value are reported with their paths`() throws {
        let schema = """
            {"properties": {"limits": {"properties": {"rate": {"type": "number", "minimum": 1}},
                                       "additionalProperties": false},
                            "mode": {"enum": ["fast", "safe"]}, "names": {"items": {"maxLength": 2}}},
             "required": ["url"]}
            """
        #expect(
            try violations(
                schema,
                #"{"limits": {"rate": "x", "ratee": 1}, "mode": "slow", "names": ["a", "abc"]}"#)
                == [
                    #"/limits/rate: expected a number, found a string"#,
                    #"/limits: unknown key 'ratee'"#,
                    #"/mode: expected "fast" or "safe""#,
                    #"/names/1: has more than 2 characters"#, "the key 'url' is missing",
                ])
        #expect(
            try violations(schema, #"{"limits": {"ratee": 1}, "url": 1, "mode": "fast"}"#)
                == ["/limits: unknown key 'ratee'; did you mean 'rate'?"])
    }

    @Test func `a key that differs from a known one in case only is taken for that`() throws {
        #expect(
            try violations(
                #"{"properties": {"keyURL": {}, "keyuri": {}}, "additionalProperties": false}"#,
                #"{"keyurl": 1}"#) == ["unknown key 'keyurl'; did you mean 'keyURL'?"])
    }

    @Test(arguments: [
        (
            #"{"type": ["integer", "null"]}"#, "1.5",
            "expected a whole number or null, found a number with a fraction"
        ),
        (#"{"exclusiveMinimum": 1}"#, "1", "expected a number above 1"),
        (#"{"exclusiveMaximum": 1}"#, "1", "expected a number below 1"),
        (#"{"maximum": 1}"#, "2", "expected a number up to 1"),
        (#"{"multipleOf": 3}"#, "4", "expected a multiple of 3"),
        (#"{"multipleOf": 0.5}"#, "0.7", "expected a multiple of 0.5"),
        (#"{"minLength": 2}"#, #""ä""#, "has fewer than 2 characters"),
        (#"{"minItems": 1}"#, "[]", "has fewer than 1 element"),
        (#"{"maxProperties": 0}"#, #"{"a": 1}"#, "has more than 0 keys"),
        (#"{"pattern": "^[a-z]+$"}"#, #""A""#, "does not match the pattern '^[a-z]+$'"),
        (#"{"const": 7}"#, "8", "expected 7"),
        (#"{"not": {"type": "string"}}"#, #""a""#, "is what the schema excludes with 'not'"),
        (#"{"uniqueItems": true}"#, "[1, 2, 1]", "element 2 is there twice"),
        (#"{"contains": {"const": 1}}"#, "[2]", "holds no element that fits 'contains'"),
        (
            #"{"anyOf": [{"type": "string"}, {"properties": {"a": {"type": "null"}}}]}"#,
            #"{"a": 1}"#,
            "fits no alternative: expected a string, found an object; or /a: expected null, found a "
                + "whole number"
        ),
        (
            #"{"oneOf": [{"type": "number"}, {"minimum": 0}]}"#, "1",
            "fits 2 alternatives, of which it may fit one"
        ),
        (
            #"{"propertyNames": {"maxLength": 1}}"#, #"{"ab": 1}"#,
            "the key 'ab' is no name: has more than 1 character"
        ),
        (
            #"{"dependencies": {"user": ["password"]}}"#, #"{"user": 1}"#,
            "the key 'password' is missing, which 'user' needs"
        ),
        ("false", "1", "is not allowed here"),
    ])
    func `the error does not contain the value`(
        schema: String, value: String, fact: String
    ) throws {
        #expect(try violations(schema, value) == [fact])
    }

    @Test(arguments: [
        ("{", "not JSON at byte 1 (line 1, column 2): the text ends before the value does"),
        (#"{"required": true}"#, "/required: JSON value is not an array."),
        (
            #"{"properties": {"a/b": {"items": [{}, {"type": "strin"}]}}}"#,
            "/properties/a~1b/items/1/type: Unrecognised JSON type name 'strin'"
        ),
        (
            ##"{"not": {"$ref": "#/definitions/b"}, "definitions": {"b": {"minItems": -1}}}"##,
            "/definitions/b/minItems: Expected a non-negative integer value for "
                + "'minItems' constraint."
        ),
        (#"{"minimum": 1e999}"#, "a number in it is larger than any that is read"),
        ("[]", "it is neither an object nor a boolean"),
        (#"{"type": "strin"}"#, "/type: Unrecognised JSON type name 'strin'"),
        (#"{"type": "any"}"#, "/type: Unrecognised JSON type name 'any'"),
        (#"{"not": {"type": ["null", "any"]}}"#, "/not/type: Unrecognised JSON type name 'any'"),
        (#"{"multipleOf": 0}"#, "/multipleOf: 'multipleOf' is not above 0"),
        (
            ##"{"$ref": "#/default/%61", "default": {"a": {"multipleOf": 0}}}"##,
            "'multipleOf' is not above 0"
        ),
        (
            ##"{"items": {"$ref": "#/const/0"}, "const": [{"pattern": "("}]}"##,
            "the pattern '(' cannot be used: missing ): ("
        ),
        (
            ##"{"$ref": "#/a/properties", "a": {"properties": {"not": {"multipleOf": 0}}}}"##,
            "'multipleOf' is not above 0"
        ),
        (
            #"{"minLength": 2.5}"#,
            "/minLength: Expected a non-negative integer value for 'minLength' constraint."
        ),
        ("{}\0{}", "it holds a NUL"),
        (#"{"pattern": "a\u0000b"}"#, "/pattern: a text in it holds a NUL"),
        (#"{"properties": {"a\u0000b": {}}}"#, "/properties: a text in it holds a NUL"),
        (#"{"pattern": "("}"#, "/pattern: the pattern '(' cannot be used: missing ): ("),
        (
            #"{"patternProperties": {"(?=a)": {}}}"#,
            "/patternProperties: the pattern '(?=a)' cannot be used: invalid perl operator: (?="
        ),
        (##"{"$ref": "#"}"##, "the '$ref' '#' leads to itself"),
        (
            ##"{"$ref": "#/a", "a": {"$ref": "#/b/"}, "b": {"$ref": "#/%61"}}"##,
            "the '$ref' '#/%61' leads to itself"
        ),
        (
            ##"{"allOf": [{"$ref": "#"}]}"##,
            "it applies itself to the same value without end, or lies too deep"
        ),
        (
            #"{"properties": {"a": {"$ref": "file:///etc/passwd"}}}"#,
            "the '$ref' 'file:///etc/passwd' leads out of the schema: only '#' and '#/…' are followed"
        ),
        (
            #"{"$schema": "https://json-schema.org/draft/2020-12/schema"}"#,
            "its '$schema' is 'https://json-schema.org/draft/2020-12/schema'; drafts 4, 6 and 7 are "
                + "understood"
        ),
    ])
    func `the error for an unusable schema has the reason`(schema: String, reason: String) throws {
        #expect(try fault(schema) == reason)
    }

    @Test func `the work for a schema is limited`() throws {
        // Each level checks the next level twice: 2^40 checks.
        var doubling = ##"{"$ref": "#/definitions/0", "definitions": {"##
        for level in 0..<40 {
            let next = ##"{"$ref": "#/definitions/\##(level + 1)"}"##
            doubling += #""\#(level)": {"anyOf": [\#(next), \#(next)]}, "#
        }
        doubling += #""40": false}}"#
        #expect(
            try fault(doubling) == "checking the value with it takes more than 1000000 steps")
        // Each level refers to the next: the depth is the number of levels.
        func chain(_ count: Int) -> String {
            let levels = (0..<count).map { level in
                ##""\##(level)": {"not": {"$ref": "#/definitions/\##(level + 1)"}}"##
            }
            return ##"{"not": {"$ref": "#/definitions/0"}, "definitions": {"##
                + (levels + [#""\#(count)": {}"#]).joined(separator: ",") + "}}"
        }
        #expect(
            try fault(chain(990))
                == "it applies itself to the same value without end, or lies too deep")
        #expect(try fault(chain(1000)) == "it holds more than 2000 objects")
        let nested =
            String(repeating: "[", count: 1 << 18) + String(repeating: "]", count: 1 << 18)
        #expect(try fault(#"{"enum": \#(nested)}"#) == "it is nested deeper than 128 levels")
        let numbers = (0...1000).map(String.init).joined(separator: ",")
        #expect(try fault(#"{"enum": [\#(numbers)]}"#) == "/enum: it names more than 1000 values")
        let patterns = (0...100).map { #""\#($0)": {}"# }.joined(separator: ",")
        #expect(
            try fault(#"{"patternProperties": {\#(patterns)}}"#)
                == "/patternProperties: it has more than 100 patterns")
        let text = String(repeating: "a", count: 1 << 20)
        #expect(
            try violations(#"{"pattern": "^(a+)+$"}"#, "\"\(text)!\"").count == 1)
        let wide = (1...7).map { String(repeating: "a?", count: $0 * 40) }.joined(separator: "|")
        #expect(
            try fault(#"{"pattern": "^(\#(wide))*b"}"#, "\"\(text)\"")
                == "checking the value with it takes more than 1000000 steps")
        #expect(try fault(#"{"pattern": "\#(text)"}"#) == "a pattern has more than 4096 bytes")
    }

    @Test func `a value that is nested too deeply is reported as invalid, not the schema`() throws {
        let nested = String(repeating: "[", count: 129) + String(repeating: "]", count: 129)
        do {
            _ = try violations("{}", nested)
            Issue.record("the value was accepted")
        } catch ConfigurationSchema.Unusable.value(let reason) {
            #expect(reason == "it is nested deeper than 128 levels")
        }
    }

    @Test func `no similar name is suggested for long names or among many names`() throws {
        let names = (0..<1500).map { #""\#(String(repeating: "n", count: 40))\#($0)": {}"# }
        let schema =
            #"{"properties": {\#(names.joined(separator: ","))}, "additionalProperties": false}"#
        let keys = (0..<1000).map { #""\#(String(repeating: "n", count: 1000))\#($0)": 0"# }
        let found = try violations(schema, "{\(keys.joined(separator: ","))}")
        #expect(found.count == 100)
        #expect(found.allSatisfy { $0.utf8.count < 300 && !$0.contains("mean") })
    }

    @Test func `at most 100 violations are reported`() throws {
        let value = "[" + repeatElement("0", count: 5000).joined(separator: ",") + "]"
        let found = try ConfigurationSchema(text: #"{"items": {"type": "string"}}"#)
            .violations(of: JSONValue(parsing: value))
        #expect(found.count == 100)
        #expect(
            found.line.hasSuffix(
                "/19: expected a string, found a whole number; and at least 80 more"))
    }

    @Test(
        arguments: [
            (#"{"maximum": 18446744073709551615}"#, "5", nil),
            (
                #"{"minimum": 9223372036854775808}"#, "-5",
                "expected a number from 9.223372036854775808e+18"
            ),
            (#"{"exclusiveMinimum": 18446744073709551614}"#, "0", ""),
            (#"{"const": 18446744073709551615}"#, "-1", ""),
            (#"{"enum": [18446744073709551615]}"#, "18446744073709551615", nil),
            (#"{"maxLength": 18446744073709551615}"#, #""a""#, nil),
            (#"{"multipleOf": 9223372036854775808}"#, "18446744073709551616", nil),
        ] as [(String, String, String?)])
    func `whole numbers above those of 64 bits with a sign stay large`(
        schema: String, value: String, fact: String?
    ) throws {
        let found = try violations(schema, value)
        #expect(found.isEmpty == (fact == nil), "\(found)")
    }

    @Test(
        arguments: [
            (#"{"const": {"$ref": "a"}}"#, #"{"$ref": "a"}"#, true),
            (#"{"const": {"$ref": "a"}}"#, #"{"$ref": "b"}"#, false),
            (##"{"enum": [{"$ref": "#/a"}, 1]}"##, ##"{"$ref": "#/a"}"##, true),
            (#"{"enum": [{"pattern": "("}]}"#, #"{"pattern": "("}"#, true),
            (#"{"default": {"$ref": "a"}, "examples": [{"multipleOf": 0}]}"#, "1", true),
            (
                #"{"const": {"maxLength": 18446744073709551615}}"#,
                #"{"maxLength": 18446744073709551615}"#, true
            ),
            (#"{"properties": {"const": {"maxLength": 1.0}}}"#, #"{"const": "ab"}"#, false),
            (#"{"properties": {"$ref": {"type": "string"}}}"#, #"{"$ref": 1}"#, false),
        ] as [(String, String, Bool)])
    func `the values in a schema are data`(schema: String, value: String, isValid: Bool) throws {
        #expect(try violations(schema, value).isEmpty == isValid)
    }

    @Test(arguments: [
        (#"{"minLength": 2.0}"#, #""a""#, "has fewer than 2 characters"),
        (#"{"maxItems": 1e0}"#, "[1, 2]", "has more than 1 element"),
        (#"{"minProperties": 10.0e-1}"#, "{}", "has fewer than 1 key"),
    ])
    func `a limit without a fraction is a whole number`(
        schema: String, value: String, fact: String
    ) throws {
        #expect(try violations(schema, value) == [fact])
    }

    @Test func `a number beyond the range of a double makes the schema check unusable`() {
        #expect(throws: ConfigurationSchema.Unusable.self) {
            try violations(#"{"type": "string"}"#, "1e999")
        }
    }

    @Test func `a duplicate key is found at any depth`() throws {
        let value = try JSONValue(parsing: #"{"a": [{"b/c": {"d": 1, "e": 2, "d": 3}}], "f": 1}"#)
        #expect(
            ConfigurationViolation.faults(in: value).map(\.description)
                == ["/a/0/b~1c: the key 'd' is there twice"])
    }

    @Test func `keys with different bytes are different, also if they are equal texts`() throws {
        let value = try JSONValue(parsing: #"{"\u00e9": 1, "e\u0301": 2}"#)
        #expect(ConfigurationViolation.faults(in: value) == [])
        var layers = LayeredConfiguration()
        layers.lay(try #require(value.objectValue), from: "a")
        layers.lay(["\u{e9}": 3], from: "b")
        #expect(layers.object["\u{e9}"] == 3 && layers.object["e\u{301}"] == 2)
        #expect(layers.source(of: "\u{e9}") == "b" && layers.source(of: "e\u{301}") == "a")
    }

    @Test func `a number beyond the range of a double is found at any depth`() throws {
        let value = try JSONValue(parsing: #"{"a": [1e308, {"b": -1e999}], "c": 1e-999}"#)
        #expect(
            ConfigurationViolation.faults(in: value).map(\.description)
                == ["/a/1/b: the number is larger than any that is read"])
    }

    // MARK: The test suite of JSON Schema

    /// The files with references to other schemas, which the host does not load.
    private static let filesWithReferences: Set = [
        "definitions.json", "ref.json", "refRemote.json",
    ]

    @Test(arguments: ["draft4", "draft6", "draft7"])
    func `the JSON Schema test suite passes, except for references to other documents`(
        draft: String
    ) throws {
        let folder = "/usr/share/json-schema-test-suite/tests/\(draft)"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter {
            $0.hasSuffix(".json")
        }
        var count = 0
        for name in names {
            let bytes = try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
            for group in try JSONValue(parsing: bytes).arrayValue ?? [] {
                var schema = try #require(group["schema"])
                if draft == "draft4", var object = schema.objectValue {
                    object["$schema"] = "http://json-schema.org/draft-04/schema#"
                    schema = .object(object)
                }
                for test in try #require(group["tests"]?.arrayValue) {
                    let comment: Comment =
                        "\(name): \(group["description"]): \(test["description"])"
                    do {
                        let violations = try ConfigurationSchema(text: schema.text())
                            .violations(of: try #require(test["data"]))
                        #expect(violations.isEmpty == test["valid"]?.boolValue, comment)
                        count += 1
                    } catch ConfigurationSchema.Unusable.schema(let reason) {
                        #expect(reason.contains("leads out of the schema"), comment)
                        #expect(Self.filesWithReferences.contains(name), comment)
                    }
                }
            }
        }
        #expect(count > 250)
    }
}
