import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import Testing

struct JSONTextDecoderTests {
    private let decoder = JSONTextDecoder()

    // MARK: As Foundation's decoder

    /// Values of each kind, some of which fit each type and some of which do not.
    private static let values = [
        "0", "-0", "1", "-1", "1.0", "-0.0", "12.5", "1e3", "1E-2", "0.1e-7", "128", "-129",
        "9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
        "18446744073709551616", "123456789012345678901234567890.5", "1e400", "0.30000000000000004",
        "1e18",
        "9007199254740993.0", "1E+2",
        "123456789012.345", "12345678901234.56789", "null", "true", "false", #""""#, #""text""#,
        #""a text of more than fifteen bytes""#, #""\u00e9\n\/""#, #""\ud83d\ude00""#, #""\ud83d""#,
        #""é😀""#, #""1""#, #""http://example.com/a?b""#, #""ht tp://""#, #""AQID""#, "[]", "[null]",
        #"["a","b"]"#, "[1,2,3]", "[1.5, 2]", "[1,\"a\"]", "[[1],[2,3]]", "{}", #"{"a":1}"#,
        #"{"1":"x"}"#, #"{"b":null}"#, #"{"a":1,"a":2}"#,
    ]

    @Test(arguments: values)
    func `a value is decoded as by JSONDecoder`(text: String) {
        expectSame(Bool.self, text)
        expectSame(String.self, text)
        expectSame(Int.self, text)
        expectSame(Int8.self, text)
        expectSame(Int64.self, text)
        expectSame(UInt.self, text)
        expectSame(UInt8.self, text)
        expectSame(UInt64.self, text)
        expectSame(Int128.self, text)
        expectSame(UInt128.self, text)
        expectSame(Double.self, text)
        expectSame(Float.self, text)
        expectSame(Decimal.self, text)
        expectSame(Date.self, text)
        expectSame(Data.self, text)
        expectSame(URL.self, text)
        expectSame(Int?.self, text)
        expectSame([String].self, text)
        expectSame([String?].self, text)
        expectSame([Int].self, text)
        expectSame([Int32].self, text)
        expectSame([Double].self, text)
        expectSame([[Double]].self, text)
        expectSame([String: Int].self, text)
        expectSame([String: Int?].self, text)
        expectSame([Int: String].self, text)
        expectSame(Alternatives.self, text)
    }

    @Test(arguments: 0..<200)
    func `an object with random members is decoded as by JSONDecoder`(seed: UInt64) {
        var steps = Steps(state: seed)
        expectSame(Everything.self, object(depth: 2, &steps))
    }

    @Test(arguments: 0..<200)
    func `a damaged text that JSONDecoder refuses is refused`(seed: UInt64) throws {
        var steps = Steps(state: seed)
        var bytes = Array(object(depth: 1, &steps).utf8)
        let place = Int.random(in: 0..<bytes.count, using: &steps)
        switch Int.random(in: 0..<3, using: &steps) {
        case 0: bytes.remove(at: place)
        case 1: bytes[place] = UInt8.random(in: 0...255, using: &steps)
        default:
            bytes.insert(
                try #require(#"{}[],:"\ 0-e."#.utf8.randomElement(using: &steps)), at: place)
        }
        guard (try? decoder.decode(Everything.self, from: Data(bytes))) != nil else { return }
        #expect(throws: Never.self) {
            try JSONDecoder().decode(Everything.self, from: Data(bytes))
        }
    }

    @Test func `UTF-16 and UTF-32 are decoded as by JSONDecoder`() throws {
        for encoding: String.Encoding in [.utf16LittleEndian, .utf16BigEndian] {
            let data = try #require(#"{"a":1}"#.data(using: encoding))
            #expect(try decoder.decode([String: Int].self, from: data) == ["a": 1])
        }
        for encoding: String.Encoding in [.utf16, .utf32, .utf32LittleEndian, .utf32BigEndian] {
            let data = try #require(#"{"a":1}"#.data(using: encoding))
            let own = outcome { try decoder.decode([String: Int].self, from: data) }
            #expect(own == outcome { try JSONDecoder().decode([String: Int].self, from: data) })
        }
    }

    /// The bytes that end a string, or are not ASCII, each at each place of an eight-byte word.
    @Test(arguments: [
        "\"", "\\\"", "\\", "\u{1F}", "\u{0}", " ", "!", "#", "[", "]", "\u{7F}", "é", "😀",
    ])
    func `a string with any character at any place is decoded as by JSONDecoder`(part: String) {
        for (before, after) in (0..<18).flatMap({ a in [0, 1, 7, 8, 9].map { (a, $0) } }) {
            let text = String(repeating: "a", count: before) + part
            let rest = String(repeating: "b", count: after)
            expectSame([String].self, "[\"\(text)\(rest)\"]")
            expectSame([String].self, "[\"\(text)\(rest)")
        }
    }

    @Test(arguments: 0..<20)
    func `a byte that is not UTF-8 is refused at any place of a string`(place: Int) {
        var bytes = Array("[\"aaaaaaaaaaaaaaaaaaaa\"]".utf8)
        bytes[2 + place] = 0xFF
        let error = #expect(throws: DecodingError.self) {
            try decoder.decode([String].self, from: Data(bytes))
        }
        #expect(error.map { Failure($0).kind } == "corrupted")
    }

    @Test func `a text with as many values as possible is decoded`() throws {
        let text = "[" + String(repeating: "1,", count: 10_000) + "1]"
        #expect(try decode([Int].self, text) == Array(repeating: 1, count: 10_001))
    }

    @Test func `a large number with a fraction is not decoded as an integer`() {
        #expect(throws: DecodingError.self) { try decode(Int.self, "9007199254740993.5") }
    }

    // MARK: Objects

    private struct Pair: Decodable, Equatable {
        let first: Int
        let second: Int
    }

    @Test(arguments: [
        #"{"first":1,"second":2}"#, #"{"second":2,"first":1}"#,
        #"{"first":1,"other":{"first":8,"second":9},"second":2}"#,
        #"{"\u0066irst":1,"second":2,"é":3}"#,
    ])
    func `members are found in any order, with escapes and unknown members`(text: String) throws {
        #expect(try decode(Pair.self, text) == Pair(first: 1, second: 2))
    }

    @Test(arguments: [0, 40])
    func `the first of several members with the same name is used`(others: Int) throws {
        let more = (0..<others).map { #","m\#($0)":0"# }.joined()
        let texts = [
            #"{"second":2,"first":1,"second":3\#(more)}"#,
            #"{"first":1,"first":3,"second":2\#(more)}"#,
            #"{"first":1,"second":2,"\u0066irst":3\#(more)}"#,
        ]
        for text in texts { #expect(try decode(Pair.self, text) == Pair(first: 1, second: 2)) }
    }

    @Test func `every member of a large object is found`() throws {
        let members = (0..<1000).map { #""name \#($0)":\#($0)"# }
        let decoded = try decode([String: Int].self, "{\(members.joined(separator: ","))}")
        #expect(decoded == Dictionary(uniqueKeysWithValues: (0..<1000).map { ("name \($0)", $0) }))
    }

    @Test func `a JSONValue keeps the digits of its numbers and the order of its members`() throws {
        let text = #"{"b":1.10,"a":[12345678901234567890123]}"#
        #expect(try decode(JSONValue.self, text).text() == text)
    }

    // MARK: Errors

    @Test func `an error has the path of the value`() throws {
        let cases: [(String, String)] = [
            (#"{"list":[{"first":1,"second":2},{"first":"x","second":2}]}"#, "list/1/first"),
            (#"{"list":[{"first":1,"second":null}]}"#, "list/0/second"),
            (#"{"list":[[]]}"#, "list/0"),
            (#"{"list":[{"first":1,"second":99999999999999999999}]}"#, "list/0/second"),
        ]
        for (text, path) in cases {
            let error = #expect(throws: DecodingError.self) {
                try decode([String: [Pair]].self, text)
            }
            #expect(error.map { Failure($0).path } == path)
        }
    }

    @Test func `the error for a missing member contains the object's path`() throws {
        let error = #expect(throws: DecodingError.self) {
            try decode([[Pair]].self, #"[[{"first":1}]]"#)
        }
        #expect(error.map { Failure($0) } == Failure(kind: "missing second", path: "0/0"))
    }

    @Test func `the error for invalid JSON contains line and column`() throws {
        let error = #expect(throws: DecodingError.self) {
            try decode([Int].self, "[1,\n 2,]")
        }
        guard case .dataCorrupted(let context)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        let fault = try #require(context.underlyingError as? JSONSyntaxError)
        #expect(fault.line == 2 && fault.column == 4)
    }

    @Test func `values nested deeper than 512 levels are refused`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(throws: Never.self) { try decode(JSONValue.self, nested(512)) }
        #expect(throws: DecodingError.self) { try decode(JSONValue.self, nested(513)) }
    }

    /// If the path were searched from the start, each failed attempt would take as long as
    /// the text is.
    @Test(.timeLimit(.minutes(1)))
    func `a failed attempt to decode an element takes constant time in a long array`() throws {
        let text = "[" + String(repeating: "\"a\",", count: 200_000) + "1]"
        #expect(try decode([Alternatives].self, text).count == 200_001)
    }

    // MARK: Containers

    @Test func `a container can be read after its decoder has returned`() throws {
        struct Keeper: Decodable {
            let container: any UnkeyedDecodingContainer
            init(from decoder: any Decoder) throws { container = try decoder.unkeyedContainer() }
        }
        var container = try decode(Keeper.self, #"["kept", 2]"#).container
        #expect(container.currentIndex == 0)
        #expect(try container.decode(String.self) == "kept")
        #expect(container.currentIndex == 1)
        #expect(try container.decode(Int.self) == 2)
        #expect(container.isAtEnd && container.currentIndex == 2)
        #expect(throws: DecodingError.self) { try container.decode(Int.self) }
    }

    @Test func `nested containers and super decoders read their members`() throws {
        struct Nested: Decodable, Equatable {
            enum Key: CodingKey { case inner, list, `super`, other }
            let value: Int
            let last: String
            let inherited: Int
            let other: Int
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Key.self)
                let inner = try container.nestedContainer(keyedBy: Key.self, forKey: .inner)
                value = try inner.decode(Int.self, forKey: .other)
                var list = try container.nestedUnkeyedContainer(forKey: .list)
                #expect(list.count == 3)
                #expect(try list.decodeNil())
                var elements = try list.nestedUnkeyedContainer()
                #expect(try elements.decode(Bool.self))
                last = try list.nestedContainer(keyedBy: Key.self).decode(
                    String.self, forKey: .other)
                inherited = try Int(from: container.superDecoder())
                other = try Int(from: container.superDecoder(forKey: .other))
            }
        }
        let nested = try decode(
            Nested.self,
            #"{"super":3,"inner":{"other":1},"list":[null,[true],{"other":"x"}],"other":4}"#)
        #expect(nested.value == 1 && nested.last == "x")
        #expect(nested.inherited == 3 && nested.other == 4)
    }

    // MARK: Support

    private func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
        try decoder.decode(type, from: Data(text.utf8))
    }

    /// Expects the same value, or the same kind of error at the same path.
    private func expectSame<Value: Decodable & Equatable>(
        _ type: Value.Type, _ text: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let own = outcome { try decode(type, text) }
        let foundation = outcome { try JSONDecoder().decode(type, from: Data(text.utf8)) }
        #expect(own == foundation, "\(type) of \(text)", sourceLocation: sourceLocation)
    }

    private func outcome<Value>(_ body: () throws -> Value) -> Outcome<Value> {
        do {
            return .value(try body())
        } catch let error as DecodingError {
            return .failure(Failure(error))
        } catch {
            return .failure(Failure(kind: "\(error)", path: ""))
        }
    }

    private enum Outcome<Value: Equatable>: Equatable {
        case value(Value)
        case failure(Failure)
    }

    private struct Failure: Equatable {
        var kind: String
        var path: String

        init(kind: String, path: String) {
            self.kind = kind
            self.path = path
        }

        init(_ error: DecodingError) {
            let context: DecodingError.Context
            switch error {
            case .typeMismatch(let type, let given):
                // JSONDecoder's error for `null` in place of a Bool.
                kind = type == Bool.self && "\(given)".contains("null") ? "null" : "mismatch"
                context = given
            case .valueNotFound(_, let given): (kind, context) = ("null", given)
            case .keyNotFound(let key, let given):
                (kind, context) = ("missing \(key.stringValue)", given)
            case .dataCorrupted(let given):
                // JSONDecoder does not say where a number does not fit.
                (kind, context) = ("corrupted", given)
            @unknown default:
                (kind, context) = ("unknown", .init(codingPath: [], debugDescription: ""))
            }
            path = context.codingPath.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }
                .joined(separator: "/")
        }

        static func == (a: Failure, b: Failure) -> Bool {
            a.kind == b.kind && (a.path == b.path || a.kind == "corrupted")
        }
    }

    /// A type that tries one kind of value after the other.
    private indirect enum Alternatives: Decodable, Equatable {
        case null, int(Int), text(String), list([Alternatives]), object([String: Alternatives])
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Int.self) {
                self = .int(value)
            } else if let value = try? container.decode(String.self) {
                self = .text(value)
            } else if let value = try? container.decode([Alternatives].self) {
                self = .list(value)
            } else if let value = try? container.decode([String: Alternatives].self) {
                self = .object(value)
            } else {
                self = .other
            }
        }
    }

    private final class Everything: Decodable, Equatable {
        let i: Int, d: Double, s: String, b: Bool
        let i8: Int8?, u: UInt64?, f: Float?, o: String?, oi: Int?, od: Double?, ob: Bool?
        let a: [String]?, ai: [Int]?, ad: [Double]?, z: [[Double]]?
        let url: URL?, date: Date?, data: Data?, dec: Decimal?
        let n: Everything?, e: [Everything]?

        static func == (x: Everything, y: Everything) -> Bool {
            x.i == y.i && x.d == y.d && x.s == y.s && x.b == y.b && x.i8 == y.i8 && x.u == y.u
                && x.f == y.f && x.o == y.o && x.oi == y.oi && x.od == y.od && x.ob == y.ob
                && x.a == y.a && x.ai == y.ai && x.ad == y.ad && x.z == y.z && x.url == y.url
                && x.date == y.date && x.data == y.data && x.dec == y.dec && x.n == y.n
                && x.e == y.e
        }
    }

    /// Generates an object for ``Everything``; about every fifth value is of another kind.
    private func object(depth: Int, _ steps: inout Steps) -> String {
        let names = [
            "i", "d", "s", "b", "i8", "u", "f", "o", "oi", "od", "ob", "a", "ai", "ad", "z", "url",
            "date", "data", "dec", "n", "e", "\\u0069", "é", "", "unknown",
        ]
        var members: [String] = []
        for name in names.shuffled(using: &steps) where Int.random(in: 0..<9, using: &steps) > 0 {
            members.append(#""\#(name)" :\#(value(of: name, depth: depth, &steps))"#)
        }
        if Bool.random(using: &steps) { members.append(#""i":7,"s":"again""#) }
        return "{\n" + members.joined(separator: ",\t") + "}"
    }

    private func value(of name: String, depth: Int, _ steps: inout Steps) -> String {
        func any() -> String { Self.values.randomElement(using: &steps) ?? "null" }
        guard Int.random(in: 0..<40, using: &steps) > 0 else { return any() }
        switch name {
        case "i", "oi", "i8", "u": return "\(Int.random(in: 0...127, using: &steps))"
        case "d", "f", "od", "date", "dec":
            return ["0", "-1", "12.5", "1e3", "0.1"].randomElement(using: &steps) ?? "0"
        case "s", "o": return [#""""#, #""\n""#, #""é""#].randomElement(using: &steps) ?? "null"
        case "b", "ob": return "\(Bool.random(using: &steps))"
        case "a": return #"["x", "\u00e9"]"#
        case "ai": return "[1, 2]"
        case "ad": return "[1.5, 2]"
        case "z": return "[[], [1.5]]"
        case "url": return #""http://example.com/""#
        case "data": return #""AQID""#
        case "n": return depth > 0 ? object(depth: depth - 1, &steps) : "null"
        case "e": return depth > 0 ? "[\(object(depth: depth - 1, &steps))]" : "[]"
        default: return any()
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `100,000 objects with names that are not ASCII are read within another one`() throws {
        let members = (0..<100_000).map { #""é\#($0)":{"é":\#($0)}"# }
        let text = Data("{\(members.joined(separator: ","))}".utf8)
        let values = try JSONTextDecoder().decode([String: [String: Int]].self, from: text)
        #expect(values.count == 100_000)
        #expect(values.allSatisfy { $0.key == "é\($0.value["é"] ?? -1)" })
    }
}
