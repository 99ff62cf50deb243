import FoundationEssentials
import OutletHTTP
import Testing

@Suite struct URLEncodedFormOptionsTests {
    private func form(_ value: any Encodable, _ encoder: URLEncodedFormEncoder) throws -> String {
        try encoder.encode(value)
    }

    @Test func `the array encoding decides the keys of elements`() throws {
        func spelt(_ encoding: URLEncodedFormEncoder.ArrayEncoding) throws -> String {
            try form(["k": [7, 8]], URLEncodedFormEncoder(arrayEncoding: encoding))
        }
        #expect(try spelt(.brackets) == "k%5B%5D=7&k%5B%5D=8")
        #expect(try spelt(.noBrackets) == "k=7&k=8")
        #expect(try spelt(.indexInBrackets) == "k%5B0%5D=7&k%5B1%5D=8")
        #expect(try spelt(.custom { key, index in "\(key)-\(index + 1)" }) == "k-1=7&k-2=8")
    }

    @Test func `the bool encoding decides the text of booleans`() throws {
        #expect(try form(["t": true], URLEncodedFormEncoder()) == "t=1")
        #expect(try form(["t": false], URLEncodedFormEncoder(boolEncoding: .literal)) == "t=false")
    }

    @Test func `the data encoding decides the text of data`() throws {
        func spelt(_ encoding: URLEncodedFormEncoder.DataEncoding) throws -> String {
            try form(["d": Data([1, 255])], URLEncodedFormEncoder(dataEncoding: encoding))
        }
        #expect(try spelt(.base64) == "d=Af8%3D")
        #expect(try spelt(.deferredToData) == "d%5B%5D=1&d%5B%5D=255")
        #expect(try spelt(.custom { "\($0.count)" }) == "d=2")
    }

    @Test func `the date encoding decides the text of dates`() throws {
        let date = Date(timeIntervalSinceReferenceDate: 123)
        func spelt(_ encoding: URLEncodedFormEncoder.DateEncoding) throws -> String {
            try form(["d": date], URLEncodedFormEncoder(dateEncoding: encoding))
        }
        #expect(try spelt(.deferredToDate) == "d=123.0")
        #expect(try spelt(.secondsSince1970) == "d=978307323.0")
        #expect(try spelt(.millisecondsSince1970) == "d=978307323000.0")
        #expect(try spelt(.iso8601) == "d=2001-01-01T00%3A02%3A03Z")
        #expect(
            try spelt(.formatted(Date.ISO8601FormatStyle().year().month().day())) == "d=2001-01-01")
        #expect(try spelt(.custom { "\(Int($0.timeIntervalSinceReferenceDate))" }) == "d=123")
    }

    @Test(arguments: [
        ("oneTwoThree", "one_two_three", "one-two-three"),
        ("oneTwoURLThree", "one_two_url_three", "one-two-url-three"),
        ("URL", "url", "url"), ("myURL", "my_url", "my-url"), ("URLMine", "url_mine", "url-mine"),
        ("one2Two", "one2_two", "one2-two"), ("", "", ""),
    ])
    func `camel case is converted to snake case and kebab case`(
        key: String, snake: String, kebab: String
    ) throws {
        #expect(
            try form([key: 1], URLEncodedFormEncoder(keyEncoding: .convertToSnakeCase))
                == "\(snake)=1")
        #expect(
            try form([key: 1], URLEncodedFormEncoder(keyEncoding: .convertToKebabCase))
                == "\(kebab)=1")
    }

    @Test func `the key encoding applies to keys at every level`() throws {
        func spelt(_ encoding: URLEncodedFormEncoder.KeyEncoding) throws -> String {
            try form(
                ["oneTwo": ["threeFour": "valueOf"]],
                URLEncodedFormEncoder(keyEncoding: encoding, keyPathEncoding: .dots))
        }
        #expect(try spelt(.useDefaultKeys) == "oneTwo.threeFour=valueOf")
        #expect(try spelt(.capitalized) == "OneTwo.ThreeFour=valueOf")
        #expect(try spelt(.uppercased) == "ONETWO.THREEFOUR=valueOf")
        #expect(try spelt(.lowercased) == "onetwo.threefour=valueOf")
        #expect(try spelt(.convertToSnakeCase) == "one_two.three_four=valueOf")
        #expect(try spelt(.custom { "x" + $0 }) == "xoneTwo.xthreeFour=valueOf")
    }

    @Test func `the key path encoding decides how keys are joined`() throws {
        func spelt(_ encoding: URLEncodedFormEncoder.KeyPathEncoding) throws -> String {
            try form(["a": ["b": ["c": 1]]], URLEncodedFormEncoder(keyPathEncoding: encoding))
        }
        #expect(try spelt(.brackets) == "a%5Bb%5D%5Bc%5D=1")
        #expect(try spelt(.dots) == "a.b.c=1")
        #expect(try spelt(.init { "-\($0)" }) == "a-b-c=1")
    }

    @Test func `the nil encoding applies to members of every type`() throws {
        func spelt(_ encoding: URLEncodedFormEncoder.NilEncoding) throws -> String {
            try form(Optionals(), URLEncodedFormEncoder(nilEncoding: encoding))
        }
        #expect(try spelt(.dropKey) == "z=1")
        #expect(try spelt(.dropValue) == Optionals.form(nil: ""))
        #expect(try spelt(.null) == Optionals.form(nil: "null"))
        #expect(try spelt(.init { "-" }) == Optionals.form(nil: "-"))
        #expect(
            try form(["k": [1, nil, 2]], URLEncodedFormEncoder(nilEncoding: .null))
                == "k%5B%5D=1&k%5B%5D=null&k%5B%5D=2")
        #expect(try form(["k": [1, nil, 2]], URLEncodedFormEncoder()) == "k%5B%5D=1&k%5B%5D=2")
    }

    @Test func `an explicit nil is distinguished from a missing value`() throws {
        struct Meant: Encodable {
            enum CodingKeys: String, CodingKey { case absent, list, meant }

            func encode(to encoder: any Encoder) throws {
                var members = encoder.container(keyedBy: CodingKeys.self)
                try members.encode(nil as Int?, forKey: .meant)
                try members.encodeIfPresent(nil as Int?, forKey: .absent)
                try members.encode([1, nil], forKey: .list)
            }
        }
        func spelt(_ encoding: URLEncodedFormEncoder.NilEncoding) throws -> String {
            try form(Meant(), URLEncodedFormEncoder(nilEncoding: encoding))
        }
        #expect(try spelt(.intentionalOnly) == "list%5B%5D=1&list%5B%5D=null&meant=null")
        #expect(
            try spelt(.init(encode: { "-" }, encodeIfPresent: { "+" }))
                == "absent=%2B&list%5B%5D=1&list%5B%5D=-&meant=-")
        #expect(try spelt(.null) == "absent=null&list%5B%5D=1&list%5B%5D=null&meant=null")
        #expect(
            try form(Optionals(), URLEncodedFormEncoder(nilEncoding: .intentionalOnly)) == "z=1")
    }

    @Test func `an omitted element has no index`() throws {
        let encoder = URLEncodedFormEncoder(arrayEncoding: .indexInBrackets)
        #expect(try form(["k": [nil, 5]], encoder) == "k%5B0%5D=5")
    }

    @Test func `the space encoding decides the text of spaces, and a plus is escaped`() throws {
        #expect(try form(["a b": "c +d"], URLEncodedFormEncoder()) == "a%20b=c%20%2Bd")
        #expect(
            try form(["a b": "c +d"], URLEncodedFormEncoder(spaceEncoding: .plusReplaced))
                == "a+b=c+%2Bd")
    }

    @Test func `the set of allowed characters can be changed`() throws {
        var allowed = AllowedCharacters.urlQueryComponentAllowed
        allowed.insert(charactersIn: "[]é")
        allowed.remove(charactersIn: "/")
        let encoder = URLEncodedFormEncoder(allowedCharacters: allowed)
        #expect(try form(["a": ["/?é"]], encoder) == "a[]=%2F?%C3%A9")
        #expect(!allowed.contains(0xC3))
        #expect(AllowedCharacters.urlQueryAllowed.contains(UInt8(ascii: "&")))
    }
}

private struct Optionals: Encodable {
    var bool: Bool?
    var double: Double?
    var float: Float?
    var int: Int?
    var int128: Int128?
    var int16: Int16?
    var int32: Int32?
    var int64: Int64?
    var int8: Int8?
    var list: [Int]?
    var text: String?
    var uint: UInt?
    var uint128: UInt128?
    var uint16: UInt16?
    var uint32: UInt32?
    var uint64: UInt64?
    var uint8: UInt8?
    var z = 1

    static func form(nil text: String) -> String {
        let keys = [
            "bool", "double", "float", "int", "int128", "int16", "int32", "int64", "int8", "list",
            "text", "uint", "uint128", "uint16", "uint32", "uint64", "uint8",
        ]
        return (keys.map { "\($0)=\(text)" } + ["z=1"]).sorted().joined(separator: "&")
    }
}
