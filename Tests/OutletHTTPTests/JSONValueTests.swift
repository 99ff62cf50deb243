import FoundationEssentials
import Glibc
import OutletHTTP
import Testing

@Suite struct JSONValueTests {
    @Test func `members keep the order of the text`() throws {
        let value = try JSONValue(parsing: #"{"z":1,"a":2,"m":3}"#)
        #expect(value.objectValue?.map(\.name) == ["z", "a", "m"])
        #expect(value.text() == #"{"z":1,"a":2,"m":3}"#)
    }

    @Test(arguments: ["0", "-0", "1.10", "1E+400", "12345678901234567890123", "0.1e-7", "-1.5E2"])
    func `a number keeps its exact text`(number: String) throws {
        #expect(try JSONValue(parsing: number).text() == number)
    }

    @Test(arguments: ["", " ", "-", "01", "1.", ".5", "+1", "1e", "0x10", "NaN", "tru", "[1,]"])
    func `an invalid value is refused`(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    }

    @Test(arguments: [
        #"{"a":1,}"#, #"{a:1}"#, #"{"a" 1}"#, "[1 2]", "'a'", "\"\t\"", #""\x""#, "1 2",
    ])
    func `invalid objects, arrays and strings are refused`(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    }

    @Test func `an error contains byte, line and column`() {
        let error = #expect(throws: JSONSyntaxError.self) {
            try JSONValue(parsing: "{\n  \"a\": ?\n}")
        }
        #expect(error?.offset == 9)
        #expect(error?.line == 2)
        #expect(error?.column == 8)
        #expect(
            error?.description
                == "not JSON at byte 9 (line 2, column 8): found '?', expected a value")
    }

    @Test func `a text that ends too early is an unexpectedEnd error`() {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: #"{"a": [1, "#) }
        #expect(error?.reason == .unexpectedEnd)
        #expect(error?.offset == 10)
    }

    @Test func `escapes are read and written`() throws {
        let value = try JSONValue(parsing: #""\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00é""#)
        #expect(value.stringValue == "\"\\/\u{8}\u{c}\n\r\té😀é")
        #expect(value.text() == #""\"\\/\b\f\n\r\té😀é""#)
        #expect(JSONValue.string("\u{0}\u{1f}\u{7f}").text() == #""\u0000\u001f\u007f""#)
    }

    @Test(arguments: [#""\ud800""#, #""\udc00""#, #""\ud800x""#, #""\ud800\u0041""#])
    func `half a surrogate pair is refused`(text: String) {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
        #expect(error?.reason == .unpairedSurrogate)
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        let error = #expect(throws: JSONSyntaxError.self) {
            try JSONValue(parsing: [0x22, 0xFF, 0x22] as [UInt8])
        }
        #expect(error?.reason == .invalidUTF8)
        #expect(error?.offset == 1)
    }

    @Test func `a byte order mark is skipped`() throws {
        #expect(try JSONValue(parsing: [0xEF, 0xBB, 0xBF, 0x31] as [UInt8]) == 1)
    }

    @Test func `nesting is limited to 512 levels`() throws {
        let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        _ = try JSONValue(parsing: deep)
        let error = #expect(throws: JSONSyntaxError.self) {
            try JSONValue(parsing: "[" + deep + "]")
        }
        #expect(error?.reason == .tooDeep(maximum: 512))
    }

    @Test func `the pretty format breaks lines, except in empty containers`() {
        let value: JSONValue = ["a": [1, true], "b": [:], "c": [], "d": nil]
        let expected = """
            {
              "a": [
                1,
                true
              ],
              "b": {},
              "c": [],
              "d": null
            }
            """
        #expect(value.text(.pretty) == expected)
    }

    @Test func `members are sorted only if the format requires it`() {
        let value: JSONValue = ["b": 1, "a": 2]
        #expect(value.text(JSONFormat(sortsMembers: true)) == #"{"a":2,"b":1}"#)
        #expect(value.text() == #"{"b":1,"a":2}"#)
    }

    @Test func `repeated members are kept, and the subscript returns the last one`() throws {
        let value = try JSONValue(parsing: #"{"a":1,"a":2}"#)
        #expect(value["a"] == 2)
        #expect(value.text() == #"{"a":1,"a":2}"#)
    }

    @Test func `a changed member keeps its position, and nil removes it`() {
        var object: JSONObject = ["a": 1, "b": 2]
        object["a"] = 3
        object["c"] = 4
        object["b"] = nil
        #expect(JSONValue.object(object).text() == #"{"a":3,"c":4}"#)
    }

    @Test func `a large object keeps the order and the rules of a small one`() throws {
        let names = (0..<100).map { "n\($0)" } + ["\u{E9}", "e\u{301}"]
        var object = JSONObject()
        for (number, name) in names.enumerated() { object[name] = .int(Int64(number)) }
        for name in names { object[name] = .string(name) }
        #expect(object.map(\.name).elementsEqual(names) { $0.hasSameBytes(as: $1) })
        #expect(names.allSatisfy { object[$0] == .string($0) } && object["x"] == nil)
        #expect(object == JSONObject(parsed: object.members))
        #expect(object.hashValue == JSONObject(parsed: object.members).hashValue)
        object["n3"] = nil
        object["n4"] = 4
        object["n3"] = 3
        #expect(object.count == 102 && object["n4"] == 4 && object.last?.name == "n3")

        let twice = (names + names).enumerated().map { number, name in
            JSONObject.Member(name: name, value: .int(Int64(number)))
        }
        var parsed = JSONObject(parsed: twice)
        parsed["n5"] = "last"
        #expect(parsed.count == 204 && parsed[102 + 5].value == "last" && parsed[5].value == 5)
    }

    @Test func `building, encoding and decoding a large object takes linear time`() throws {
        /// The processor time of a call in ns; of this thread only, because other tests run meanwhile.
        func time(of body: (JSONObject) throws -> Void, members count: Int) throws -> Int {
            func now() -> Int {
                var time = timespec()
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
                return time.tv_sec * 1_000_000_000 + time.tv_nsec
            }
            let object = JSONObject((0..<count).map { ("name\($0)", .int(Int64($0))) })
            let start = now()
            try body(object)
            return now() - start
        }
        let steps: [(JSONObject) throws -> Void] = [
            { object in
                var copy = JSONObject()
                for member in object { copy[member.name] = member.value }
                #expect(copy == object)
            },
            { object in
                let text = JSONValue.object(object).text()
                let parsed = try JSONValue(parsing: text)
                #expect(parsed == .object(object))
            },
            { object in
                let data = try JSONEncoder().encode(JSONValue.object(object))
                let decoded = try JSONDecoder().decode(JSONValue.self, from: data)
                #expect(decoded.objectValue?.count == object.count)
                let numbers = try JSONTextDecoder().decode([String: Int].self, from: data)
                #expect(numbers.count == object.count)
            },
        ]
        for step in steps {
            let small = try time(of: step, members: 1_000)
            // Quadratic time would be 256 times as long, linear time 16 times.
            #expect(try time(of: step, members: 16_000) < 64 * small)
        }
    }

    @Test func `accessors return nil for other kinds of values`() {
        let value: JSONValue = ["n": 1.5, "s": "x", "l": [1]]
        #expect(value["n"]?.doubleValue == 1.5)
        #expect(value["n"]?.intValue == nil)
        #expect(value["s"]?.stringValue == "x")
        #expect(value["l"]?[0]?.intValue == 1)
        #expect(value["l"]?[1] == nil)
        #expect(value["x"] == nil)
        #expect(JSONValue.double(.infinity) == .null)
    }

    @Test func `a value does not change with JSONEncoder and JSONDecoder`() throws {
        let value: JSONValue = ["a": [1, -2.5, "x", nil, true], "n": 18_446_744_073_709_551]
        let data = try JSONEncoder().encode(value)
        let read = try JSONDecoder().decode(JSONValue.self, from: data)
        #expect(read["a"] == value["a"])
        #expect(read["n"] == value["n"])
    }

    @Test func `a value is decoded from 512 levels at most, whatever the decoder's limit is`()
        throws
    {
        func decode(_ levels: Int) throws -> JSONValue {
            let list =
                String(repeating: "<array>", count: levels)
                + String(repeating: "</array>", count: levels)
            return try PropertyListDecoder().decode(
                JSONValue.self, from: Data("<plist>\(list)</plist>".utf8))
        }
        #expect(try decode(512).arrayValue?.count == 1)
        let error = #expect(throws: DecodingError.self) { try decode(513) }
        #expect(error.map { "\($0)".contains("nested deeper than 512 levels") } == true)
    }

    @Test func `anyValue has standard library types and can be converted back`() throws {
        let value = try JSONValue(
            parsing: #"{"args":{"a":"b"},"l":[1,2],"d":1.5,"big":1e40,"b":true,"n":null,"l":[3]}"#)
        let members = try #require(value.anyValue as? [String: Any])
        #expect(members["args"] as? [String: String] == ["a": "b"])
        // The last of two members with the same name is used.
        #expect(members["l"] as? [Int] == [3] && members["d"] as? Double == 1.5)
        #expect(members["big"] as? Double == 1e40 && members["b"] as? Bool == true)
        #expect(members["n"] as? JSONValue == .null)
        let back = try JSONValue(converting: members)
        #expect(back["args"] == value["args"] && back["l"] == [3] && back["n"] == .null)
        #expect(JSONValue.string("x").anyValue as? String == "x")
    }
}
