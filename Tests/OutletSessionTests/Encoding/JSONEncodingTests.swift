import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport
import Testing

@Suite struct JSONEncodingTests {
    let post = HTTPRequest(url: URL(string: "http://example.test/"), method: .post)

    private func text(_ parameters: Parameters?, _ encoding: JSONEncoding = .default) throws
        -> String?
    {
        try encoding.encode(post, with: parameters).httpBody.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test(arguments: [511, 512])
    func `parameters of too many levels are refused`(levels: Int) throws {
        let list = (0..<levels).reduce("x" as any Sendable) { value, _ in [value] }
        guard levels > 511 else {
            #expect(try text(["deep": list])?.hasPrefix(#"{"deep":[[["#) == true)
            return
        }
        let error = #expect(throws: SessionError.self) { try text(["deep": list]) }
        #expect(
            error?.description.contains("more than 512 levels of arrays and dictionaries") == true)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `numbers that JSON cannot represent are refused with their path`(number: Double) {
        let error = #expect(throws: SessionError.self) {
            try JSONEncoding.default.encode(post, with: ["a": ["b": [1, number]]])
        }
        guard case .parameterEncodingFailed(reason: .jsonEncodingFailed(let cause))? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause as? JSONEncoding.Error == .invalidJSONObject)
        #expect("\(cause)".hasPrefix("$.a.b[1]: not JSON: the number \(number)"))
        #expect(error?.isParameterEncodingError == true)
    }

    @Test func `types that JSON cannot represent are refused with their path`() {
        let values: Parameters = ["date": Date(), "data": Data(), "set": Set([1]), "keys": [1: 2]]
        for (name, value) in values {
            let error = #expect(throws: SessionError.self) {
                try JSONEncoding.default.encode(post, with: [name: value])
            }
            #expect(error?.description.contains("$.\(name): not JSON: ") == true)
        }
    }

    @Test func `a root that is not an object or array needs fragmentsAllowed`() throws {
        #expect(throws: SessionError.self) {
            try JSONEncoding.default.encode(post, withJSONObject: "text")
        }
        let encoded = try JSONEncoding(options: .fragmentsAllowed)
            .encode(post, withJSONObject: "text")
        #expect(encoded.httpBody == Data("\"text\"".utf8))
    }

    @Test func `without parameters the request is unchanged`() throws {
        #expect(try JSONEncoding.default.encode(post, with: nil) == post)
        #expect(try JSONEncoding.default.encode(post) == post)
    }

    @Test func `nested values, booleans and nil are encoded as JSON`() throws {
        let parameters: Parameters = [
            "z": ["text", 1, 2.5, true, false] as [any Any & Sendable],
            "a": ["n": nil, "s": "é\"\n"] as [String: String?],
            "numbers": ["u": UInt64.max, "i": Int8.min] as [String: any Any & Sendable],
            "float": Float(0.1), "one": 1, "yes": true, "big": 1e20,
            "decimal": Decimal(string: "12345678901234567890.5"),
            "json": ["keep": "order", "as": "is"] as JSONValue,
        ]
        #expect(
            try text(parameters)
                == #"{"a":{"n":null,"s":"é\"\n"},"big":1e+20,"decimal":12345678901234567890.5,"#
                + #""float":0.1,"json":{"keep":"order","as":"is"},"#
                + #""numbers":{"i":-128,"u":18446744073709551615},"one":1,"yes":true,"#
                + #""z":["text",1,2.5,true,false]}"#)
    }

    @Test func `the root can be an array`() throws {
        let encoded = try JSONEncoding.default.encode(post, withJSONObject: ["a", "b"])
        #expect(encoded.httpBody == Data(#"["a","b"]"#.utf8))
        #expect(encoded.headers["Content-Type"] == "application/json")
    }

    @Test func `an existing Content-Type is kept`() throws {
        var request = post
        request.headers = ["Content-Type": "application/vnd.api+json"]
        let encoded = try JSONEncoding.default.encode(request, with: ["a": 1])
        #expect(encoded.headers["Content-Type"] == "application/vnd.api+json")
    }

    @Test func `options change the layout`() throws {
        let parameters: Parameters = ["u": "a/b", "j": ["z": 1, "a": 2] as JSONValue]
        #expect(try text(parameters) == #"{"j":{"z":1,"a":2},"u":"a\/b"}"#)
        #expect(
            try text(parameters, JSONEncoding(options: [.sortedKeys, .withoutEscapingSlashes]))
                == #"{"j":{"a":2,"z":1},"u":"a/b"}"#)
        #expect(try text(["a": [1]], .prettyPrinted) == "{\n  \"a\": [\n    1\n  ]\n}")
    }

    @Test func `equal parameters give equal bytes`() throws {
        let pairs: [(String, any Any & Sendable)] = (0..<50).map { ("k\($0)", $0) }
        let forward = Parameters(uniqueKeysWithValues: pairs)
        let backward = Parameters(uniqueKeysWithValues: pairs.reversed())
        #expect(try text(forward) == text(backward))
    }
}

@Suite struct PropertyListEncodingTests {
    let post = HTTPRequest(url: URL(string: "http://example.test/"), method: .post)

    private struct Value: Codable, Equatable {
        var text: String
        var flag: Bool
        var numbers: [Double]
        var date: Date
        var data: Data
        var nested: [String: Int]
    }

    @Test(arguments: [PropertyListEncoding.xml, .binary])
    func `values can be decoded unchanged`(encoding: PropertyListEncoding) throws {
        let date = Date(timeIntervalSinceReferenceDate: 1000)
        let parameters: Parameters = [
            "text": "é", "flag": true, "numbers": [1, 2.5], "date": date,
            "data": Data([1, 2, 3]), "nested": ["a": 1],
        ]
        let encoded = try encoding.encode(post, with: parameters)
        #expect(encoded.headers["Content-Type"] == "application/x-plist")
        let body = try #require(encoded.httpBody)
        #expect(
            try PropertyListDecoder().decode(Value.self, from: body)
                == Value(
                    text: "é", flag: true, numbers: [1, 2.5], date: date, data: Data([1, 2, 3]),
                    nested: ["a": 1]))
    }

    @Test func `integers of any width are encoded if they fit into 64 bits`() throws {
        let parameters: Parameters = ["a": Int128(3), "b": UInt128(UInt64.max), "c": Int8(-1)]
        let body = try #require(
            try PropertyListEncoding.xml.encode(post, with: parameters).httpBody)
        let text = String(decoding: body, as: UTF8.self)
        for number in ["3", "18446744073709551615", "-1"] {
            #expect(text.contains("<integer>\(number)</integer>"), "\(text)")
        }
    }

    @Test(arguments: ["\0", "\u{1}", "\u{B}", "\u{1F}", "\u{FFFE}", "\u{FFFF}"])
    func `characters that XML does not have are refused, and binary lists have them`(
        text: String
    ) throws {
        for parameters in [["k": ["a" + text]], [text: 1]] as [Parameters] {
            let error = #expect(throws: SessionError.self) {
                try PropertyListEncoding.xml.encode(post, with: parameters)
            }
            guard case .parameterEncodingFailed(reason: .customEncodingFailed(let cause))? = error,
                case .unsupportedCharacter(let path, let code)? = cause
                    as? PropertyListEncoding.Error
            else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(path == (parameters["k"] == nil ? "$" : "$.k[0]"))
            #expect(code == text.unicodeScalars.first?.value)
            #expect("\(cause)".contains("U+"))
        }
        let body = try #require(
            try PropertyListEncoding.binary.encode(post, with: ["k": text]).httpBody)
        #expect(try PropertyListDecoder().decode([String: String].self, from: body) == ["k": text])
    }

    @Test(arguments: ["a\rb", "\r\n", "\r", "a\tb\n", "<&>\u{85}\u{2028}\u{1FFFE}"])
    func `other characters are kept, also carriage returns`(text: String) throws {
        let body = try #require(
            try PropertyListEncoding.xml.encode(post, with: ["k": text, text: "v"]).httpBody)
        // A parser reads a carriage return as a line feed, a reference to it as the character.
        #expect(!body.contains(0x0D))
        #expect(
            try PropertyListDecoder().decode([String: String].self, from: body)
                == ["k": text, text: "v"])
    }

    @Test func `nil and unsupported types are refused with their path`() {
        for value: any Any & Sendable in [Int?.none, Set([1]), Int128.max] {
            let error = #expect(throws: SessionError.self) {
                try PropertyListEncoding.default.encode(post, with: ["k": [value]])
            }
            guard case .parameterEncodingFailed(reason: .customEncodingFailed(let cause))? = error
            else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect("\(cause)".hasPrefix("$.k[0]: not a property list: "))
        }
    }

    @Test func `without parameters the request is unchanged`() throws {
        #expect(try PropertyListEncoding.default.encode(post, with: nil) == post)
    }
}
