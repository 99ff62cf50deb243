import Foundation
import OutletHTTP
import OutletSession
import Testing

/// Values of the classes of full Foundation, as programs that link it pass them.
@Suite struct `Values of full Foundation` {
    private let post = HTTPRequest(url: URL(string: "http://example.test/"), method: .post)

    private func json(_ value: Any) throws -> String {
        let request = try JSONEncoding(options: [.fragmentsAllowed, .withoutEscapingSlashes])
            .encode(post, withJSONObject: value)
        return String(decoding: request.httpBody ?? Data(), as: UTF8.self)
    }

    private func form(_ value: Any, _ encoding: URLEncoding = .default) -> String {
        encoding.queryComponents(fromKey: "k", value: value).map { "\($0)=\($1)" }
            .joined(separator: "&")
    }

    /// Numbers of each class, JSON, form.
    private static let numbers: [(NSNumber, String, String)] = [
        (NSNumber(value: true), "true", "k=1"),
        (NSNumber(value: false), "false", "k=0"),
        (NSNumber(value: 0), "0", "k=0"),
        (NSNumber(value: 1), "1", "k=1"),
        (NSNumber(value: 5), "5", "k=5"),
        (NSNumber(value: -1), "-1", "k=-1"),
        (NSNumber(value: Int8(1)), "1", "k=1"),
        (NSNumber(value: UInt8(0)), "0", "k=0"),
        (NSNumber(value: Int16(-300)), "-300", "k=-300"),
        (NSNumber(value: Int32.min), "-2147483648", "k=-2147483648"),
        (NSNumber(value: Int64.min), "-9223372036854775808", "k=-9223372036854775808"),
        (NSNumber(value: Int64.max), "9223372036854775807", "k=9223372036854775807"),
        (NSNumber(value: UInt64.max), "18446744073709551615", "k=18446744073709551615"),
        (NSNumber(value: 0.0), "0.0", "k=0.0"),
        (NSNumber(value: 1.0), "1.0", "k=1.0"),
        (NSNumber(value: 1.5), "1.5", "k=1.5"),
        (NSNumber(value: 0.1), "0.1", "k=0.1"),
        (NSNumber(value: Float(0.1)), "0.1", "k=0.1"),
        (NSNumber(value: -2.5e-8), "-2.5e-08", "k=-2.5e-08"),
        (NSNumber(value: 1e300), "1e+300", "k=1e%2B300"),
        (NSDecimalNumber(string: "1.10"), "1.1", "k=1.1"),
        (
            NSDecimalNumber(string: "12345678901234567890.123"), "12345678901234567890.123",
            "k=12345678901234567890.123"
        ),
        (NSDecimalNumber(value: 1), "1", "k=1"),
    ]

    @Test(arguments: numbers.indices)
    func `NSNumber is encoded as the number or Boolean that it contains`(index: Int) throws {
        let (number, text, pair) = Self.numbers[index]
        #expect(try json(number) == text)
        #expect(try json([number]) == "[\(text)]")
        #expect(try json(["a": ["b": number]]) == #"{"a":{"b":\#(text)}}"#)
        #expect(try json(NSArray(array: [number])) == "[\(text)]")
        #expect(try json(NSDictionary(dictionary: ["a": number])) == #"{"a":\#(text)}"#)
        #expect(try json([number as NSNumber?]) == "[\(text)]")
        #expect(form(number) == pair)
        #expect(form(number as NSNumber? as Any) == pair)
    }

    @Test(arguments: [
        "[1,0,5,-7]", "[true,false]", "[1.5,0.25,100.5]", "[null]", #"["s","é",""]"#, "[]", "{}",
        #"{"a":{"b":[1,null,{"c":true}]},"d":18446744073709551615}"#, "[12345678901234567890123]",
        #"[{"a":1},{"a":false},{"a":null}]"#,
    ])
    func `values that JSONSerialization reads are encoded unchanged`(text: String) throws {
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        #expect(try json(value) == text)
        #expect(try JSONValue(converting: value) == JSONValue(parsing: text))
    }

    @Test func `a request's parameters may be Foundation values`() throws {
        let parameters: Parameters = [
            "one": NSNumber(value: 1), "yes": NSNumber(value: true), "none": NSNull(),
            "name": "é",
        ]
        let encoded = try JSONEncoding.default.encode(post, with: parameters)
        #expect(
            encoded.httpBody.map { String(decoding: $0, as: UTF8.self) }
                == #"{"name":"é","none":null,"one":1,"yes":true}"#)
        let form = try URLEncoding(boolEncoding: .literal).encode(post, with: parameters)
        #expect(
            form.httpBody.map { String(decoding: $0, as: UTF8.self) }
                == "name=%C3%A9&one=1&yes=true")
    }

    @Test func `NSNull is null in JSON and is left out of a form`() throws {
        #expect(try json(NSNull()) == "null")
        #expect(try json(["a": NSNull(), "b": [NSNull()]]) == #"{"a":null,"b":[null]}"#)
        #expect(form(NSNull()) == "")
        #expect(try json([NSString("é")]) == #"["é"]"#)
        #expect(form(NSString("é")) == "k=%C3%A9")
        #expect(form(["a": NSNull(), "b": 1] as [String: Any]) == "k%5Bb%5D=1")
        #expect(
            form(["a": JSONValue.null, "b": ["c": true]] as [String: Any])
                == "k%5Bb%5D%5Bc%5D=1")
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `a number that JSON does not support is refused with its path`(value: Double) {
        let error = #expect(throws: JSONConversionError.self) {
            try JSONValue(converting: ["a": [NSNumber(value: value)]])
        }
        #expect(error?.path == "$.a[0]")
        #expect(error?.found.hasPrefix("the number") == true)
    }

    @Test func `other classes are refused with the name of the class`() {
        for value in [NSDate(), NSData(), NSUUID(), NSObject()] {
            let error = #expect(throws: JSONConversionError.self) {
                try JSONValue(converting: [value])
            }
            #expect(error == JSONConversionError(path: "$[0]", found: "\(type(of: value))"))
        }
    }

    @Test func `property lists distinguish Booleans and numbers`() throws {
        let parameters: Parameters = [
            "one": NSNumber(value: 1), "yes": NSNumber(value: true), "half": NSNumber(value: 0.5),
            "big": NSNumber(value: UInt64.max), "date": NSDate(timeIntervalSince1970: 0),
        ]
        let encoded = try PropertyListEncoding.xml.encode(post, with: parameters)
        let text = String(decoding: encoded.httpBody ?? Data(), as: UTF8.self)
            .filter { $0 != "\n" && $0 != "\t" }
        #expect(text.contains("<key>one</key><integer>1</integer>"))
        #expect(text.contains("<key>yes</key><true/>"))
        #expect(text.contains("<key>half</key><real>0.5</real>"))
        #expect(text.contains("<key>big</key><integer>18446744073709551615</integer>"))
        #expect(text.contains("<key>date</key><date>1970-01-01T00:00:00Z</date>"))
        let error = #expect(throws: SessionError.self) {
            try PropertyListEncoding.xml.encode(post, with: ["none": NSNull()])
        }
        #expect(
            error?.underlyingError as? PropertyListEncoding.Error
                == .unsupportedValue(path: "$.none", type: "NSNull"))
    }
}
