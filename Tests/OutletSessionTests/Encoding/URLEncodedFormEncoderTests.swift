import FoundationEssentials
import OutletHTTP
import Testing

@Suite struct URLEncodedFormEncoderTests {
    private func form(
        _ value: any Encodable, _ encoder: URLEncodedFormEncoder = URLEncodedFormEncoder()
    ) throws -> String { try encoder.encode(value) }

    // MARK: Values that cannot be encoded

    @Test func `the error for a root without keys names its type`() {
        let error = #expect(throws: URLEncodedFormEncoder.Error.self) { try form([1, 2]) }
        #expect(error == .invalidRootObject("Array<Int>"))
        #expect(throws: URLEncodedFormEncoder.Error.invalidRootObject("Int")) { try form(1) }
        #expect(throws: URLEncodedFormEncoder.Error.invalidRootObject("Nothing")) {
            try form(Nothing())
        }
    }

    @Test func `an error of a value or a custom option is thrown`() {
        struct Broken: Error {}
        struct Value: Encodable {
            var date = Date()
            var data = Data()
        }
        let dates = URLEncodedFormEncoder(dateEncoding: .custom { _ in throw Broken() })
        let data = URLEncodedFormEncoder(dataEncoding: .custom { _ in throw Broken() })
        #expect(throws: Broken.self) { try form(Value(), dates) }
        #expect(throws: Broken.self) { try form(Value(), data) }
        #expect(throws: EncodingError.self) { try form(["a": Failing()]) }
    }

    // MARK: Structure

    @Test func `scalars of every type are encoded as pairs`() throws {
        #expect(try form(Scalars()) == Scalars.form)
    }

    @Test func `the key of a nested value is its path`() throws {
        struct Value: Encodable {
            var one = "one"
            var list = [1, 2, 3]
            var member = ["a": ["b": "c"]]
            var rows = [["x": 1], ["y": 2]]
            var grid = [[1], [2, 3]]
        }
        #expect(
            try form(Value())
                == "grid%5B%5D%5B%5D=1&grid%5B%5D%5B%5D=2&grid%5B%5D%5B%5D=3"
                + "&list%5B%5D=1&list%5B%5D=2&list%5B%5D=3"
                + "&member%5Ba%5D%5Bb%5D=c&one=one&rows%5B%5D%5Bx%5D=1&rows%5B%5D%5By%5D=2")
    }

    @Test func `arrays keep their order, pairs are sorted`() throws {
        #expect(try form(["b": ["z", "a"], "a": ["2", "1"]], plain) == "a=2&a=1&b=z&b=a")
    }

    @Test func `pairs keep the encoding order without alphabetizeKeyValuePairs`() throws {
        struct Value: Encodable {
            var z = 1
            var a = 2
        }
        #expect(try form(Value()) == "a=2&z=1")
        #expect(
            try form(Value(), URLEncodedFormEncoder(alphabetizeKeyValuePairs: false)) == "z=1&a=2")
    }

    @Test func `empty arrays and objects are omitted`() throws {
        struct Value: Encodable {
            var list: [Int] = []
            var member: [String: Int] = [:]
            var a = 1
        }
        #expect(try form(Value()) == "a=1")
        #expect(try form([String: Int]()) == "")
    }

    @Test func `a superclass and nested containers are encoded`() throws {
        #expect(try form(Derived()) == "base=1&derived=2")
        #expect(
            try form(ByHand(), plain)
                == "list=1&list=x&list=-7&list=deep&object[inner]=true".replacing("[", with: "%5B")
                .replacing("]", with: "%5D").replacing("true", with: "1"))
    }

    @Test func `a key that is encoded twice has its last value`() throws {
        #expect(try form(Twice()) == "key=second")
    }

    @Test func `containers of the same kind under one key are merged, and others are replaced`()
        throws
    {
        #expect(try form(Layered()) == "four%5Bfive%5D=2&four%5Bfour%5D=one")
    }

    @Test func `nested arrays in an array are encoded first, and other elements keep their order`()
        throws
    {
        let mixed: JSONValue = ["a": [["z", "b"], ["k": 1], [["c"]]]]
        #expect(
            try form(mixed)
                == "a%5B%5D%5B%5D%5B%5D=c&a%5B%5D%5B%5D=z&a%5B%5D%5B%5D=b&a%5B%5D%5Bk%5D=1")
        let alike: JSONValue = ["a": [["z": 1], ["b": 2]]]
        #expect(try form(alike) == "a%5B%5D%5Bz%5D=1&a%5B%5D%5Bb%5D=2")
    }

    @Test func `a JSONValue object can be the root`() throws {
        #expect(try form(JSONValue.object(["b": 1, "a": [true, nil]])) == "a%5B%5D=1&b=1")
    }

    private let plain = URLEncodedFormEncoder(arrayEncoding: .noBrackets)
}

private struct Nothing: Encodable {
    func encode(to encoder: any Encoder) {}
}

private struct Failing: Encodable {
    func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(
            self, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "no"))
    }
}

private struct Scalars: Encodable {
    var bool = true
    var decimal = Decimal(string: "1.50")
    var double = 1.5
    var float = Float(0.1)
    var int = -1
    var int128 = Int128.min
    var int16 = Int16.min
    var int32 = Int32.min
    var int64 = Int64.min
    var int8 = Int8.min
    var text = "a b&c"
    var uint = UInt.max
    var uint8 = UInt8.max
    var url = URL(string: "http://example.test/?q")
    var uuid = UUID(uuidString: "00000000-0000-0000-0000-000000000001")

    static let form =
        "bool=1&decimal=1.5&double=1.5&float=0.1&int128=-170141183460469231731687303715884105728"
        + "&int16=-32768&int32=-2147483648&int64=-9223372036854775808&int8=-128&int=-1"
        + "&text=a%20b%26c&uint8=255&uint=18446744073709551615"
        + "&url=http%3A//example.test/?q&uuid=00000000-0000-0000-0000-000000000001"
}

private class Base: Encodable {
    let base = 1
}

private final class Derived: Base {
    let derived = 2

    private enum Keys: CodingKey { case derived }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(derived, forKey: .derived)
        try super.encode(to: container.superEncoder())
    }
}

private struct ByHand: Encodable {
    private enum Keys: CodingKey { case list, object, inner }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var list = container.nestedUnkeyedContainer(forKey: .list)
        try list.encode(1)
        try list.encode("x")
        try list.encodeNil()
        try list.encode(Int128(-7))
        var deep = list.nestedUnkeyedContainer()
        try deep.encode("deep")
        var object = container.nestedContainer(keyedBy: Keys.self, forKey: .object)
        try object.encode(true, forKey: .inner)
    }
}

private struct Twice: Encodable {
    private enum Keys: CodingKey { case key }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode("first", forKey: .key)
        try container.encode("second", forKey: .key)
    }
}

/// Encodes one key with each method of a keyed container.
private struct Layered: Encodable {
    private enum Keys: CodingKey { case four, five }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode([1, 2], forKey: .four)
        var upper = container.superEncoder().container(keyedBy: Keys.self)
        try upper.encode("one", forKey: .four)
        var first = container.superEncoder(forKey: .four).container(keyedBy: Keys.self)
        try first.encode(2, forKey: .five)
        var list = container.nestedUnkeyedContainer(forKey: .four)
        var second = list.superEncoder().container(keyedBy: Keys.self)
        try second.encode("one", forKey: .four)
    }
}
