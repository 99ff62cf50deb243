import FoundationEssentials
import OutletHTTP
import Testing

@Suite struct JSONValueTests {
    @Test func `members keep the order of the text`() throws {
        let value = try JSONValue(parsing: #"{"z":1,"a":2,"m":3}"#)
        #expect(value.objectValue?.map(\.name) == ["z", "a", "m"])
        #expect(value.text() == #"{"z":1,"a":2,"m":3}"#)
    }

    @Test(arguments: ["0", "-0", "1.10", "1E+400", "12345678901234567890123", "0.1e-7", "-1.5E2"])
    func `a number is written back to the letter`(number: String) throws {
        #expect(try JSONValue(parsing: number).text() == number)
    }

    @Test(arguments: ["", " ", "-", "01", "1.", ".5", "+1", "1e", "0x10", "NaN", "tru", "[1,]"])
    func `what is not JSON is refused`(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    }

    @Test(arguments: [
        #"{"a":1,}"#, #"{a:1}"#, #"{"a" 1}"#, "[1 2]", "'a'", "\"\t\"", #""\x""#, "1 2",
    ])
    func `what is nearly JSON is refused`(text: String) {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    }

    @Test func `an error names byte, line and column`() {
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

    @Test func `a text that ends early says so`() {
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

    @Test func `a byte order mark is passed over`() throws {
        #expect(try JSONValue(parsing: [0xEF, 0xBB, 0xBF, 0x31] as [UInt8]) == 1)
    }

    @Test func `nesting is limited`() throws {
        let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        _ = try JSONValue(parsing: deep)
        let error = #expect(throws: JSONSyntaxError.self) {
            try JSONValue(parsing: "[" + deep + "]")
        }
        #expect(error?.reason == .tooDeep(maximum: 512))
    }

    @Test func `the pretty form breaks lines and leaves empty lists alone`() {
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

    @Test func `sorting members is a matter of the layout`() {
        let value: JSONValue = ["b": 1, "a": 2]
        #expect(value.text(JSONFormat(sortsMembers: true)) == #"{"a":2,"b":1}"#)
        #expect(value.text() == #"{"b":1,"a":2}"#)
    }

    @Test func `a repeated name is kept, and the last one found`() throws {
        let value = try JSONValue(parsing: #"{"a":1,"a":2}"#)
        #expect(value["a"] == 2)
        #expect(value.text() == #"{"a":1,"a":2}"#)
    }

    @Test func `setting a member keeps its place, nil removes it`() {
        var object: JSONObject = ["a": 1, "b": 2]
        object["a"] = 3
        object["c"] = 4
        object["b"] = nil
        #expect(JSONValue.object(object).text() == #"{"a":3,"c":4}"#)
    }

    @Test func `accessors answer only for their own kind`() {
        let value: JSONValue = ["n": 1.5, "s": "x", "l": [1]]
        #expect(value["n"]?.doubleValue == 1.5)
        #expect(value["n"]?.intValue == nil)
        #expect(value["s"]?.stringValue == "x")
        #expect(value["l"]?[0]?.intValue == 1)
        #expect(value["l"]?[1] == nil)
        #expect(value["x"] == nil)
        #expect(JSONValue.double(.infinity) == .null)
    }

    @Test func `other coders carry a value unchanged`() throws {
        let value: JSONValue = ["a": [1, -2.5, "x", nil, true], "n": 18_446_744_073_709_551]
        let data = try JSONEncoder().encode(value)
        let read = try JSONDecoder().decode(JSONValue.self, from: data)
        #expect(read["a"] == value["a"])
        #expect(read["n"] == value["n"])
    }

    @Test func `a value in the standard library's types can be cast, and taken back`() throws {
        let value = try JSONValue(
            parsing: #"{"args":{"a":"b"},"l":[1,2],"d":1.5,"big":1e40,"b":true,"n":null,"l":[3]}"#)
        let members = try #require(value.anyValue as? [String: Any])
        #expect(members["args"] as? [String: String] == ["a": "b"])
        // Of two members of one name the last counts.
        #expect(members["l"] as? [Int] == [3] && members["d"] as? Double == 1.5)
        #expect(members["big"] as? Double == 1e40 && members["b"] as? Bool == true)
        #expect(members["n"] as? JSONValue == .null)
        let back = try JSONValue(converting: members)
        #expect(back["args"] == value["args"] && back["l"] == [3] && back["n"] == .null)
        #expect(JSONValue.string("x").anyValue as? String == "x")
    }
}
