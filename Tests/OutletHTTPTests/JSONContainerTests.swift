import FoundationEssentials
import OutletHTTP
import OutletTestSupport
import Testing

/// The containers of `JSONTextDecoder`, compared with those of Foundation's `JSONDecoder`.
@Suite struct `JSON containers` {
    private static let texts = [
        "null", "1", "true", #""text""#, "[]", "{}", "[null]", "[[]]", "[{}]",
        #"[1,"a",null,true,[2,null],{"a":1,"super":null}]"#, "[null,null,3]",
        "[[[1]],[{\"a\":[]}]]",
        #"{"a":1,"b":null,"super":{"a":[1],"b":"text"},"é":false}"#,
        #"{"super":[null,{"super":1}],"a":{"b":{"a":[]}},"b":[[],[1,2]]}"#,
        #"{"a":"1","b":1.5,"A":{},"\u0062":2}"#, #"{"super":null}"#, #"{"b":{},"a":[{"b":null}]}"#,
    ]

    @Test(arguments: texts)
    func `the same calls have the same results as with JSONDecoder`(text: String) throws {
        for seed in UInt64(0)..<200 {
            try Walk.$seed.withValue(seed) {
                let own = try JSONTextDecoder().decode(Walk.self, from: Data(text.utf8))
                let foundation = try JSONDecoder().decode(Walk.self, from: Data(text.utf8))
                let place = zip(own.trace, foundation.trace).prefix { $0 == $1 }.count
                #expect(
                    own.trace == foundation.trace,
                    "seed \(seed): \(own.trace.prefix(place + 1).suffix(4))")
            }
        }
    }

    @Test func `a missing super is decoded from null, at its path`() throws {
        struct Inherited: Decodable {
            let value: Int?
            let path: [String]
            let failure: [String]

            init(from decoder: any Decoder) throws {
                let inner = try decoder.container(keyedBy: Name.self)
                    .nestedContainer(keyedBy: Name.self, forKey: Name(stringValue: "a"))
                let missing = try inner.superDecoder()
                value = try Int?(from: missing)
                path = missing.codingPath.map(\.stringValue)
                do {
                    _ = try inner.superDecoder(forKey: Name(stringValue: "b"))
                        .container(keyedBy: Name.self)
                    failure = []
                } catch DecodingError.valueNotFound(_, let context) {
                    failure = context.codingPath.map(\.stringValue)
                }
            }
        }
        let inherited = try JSONTextDecoder().decode(Inherited.self, from: Data(#"{"a":{}}"#.utf8))
        #expect(inherited.value == nil)
        #expect(inherited.path == ["a", "super"])
        #expect(inherited.failure == ["a", "b"])
    }
}

private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// Calls functions of a decoder and its containers, which the seed selects, and records the results.
private struct Walk: Decodable {
    @TaskLocal static var seed: UInt64 = 0

    private(set) var trace: [String] = []
    private var steps = Steps(state: seed)

    init(from decoder: any Decoder) { visit(decoder, depth: 0) }

    private mutating func visit(_ decoder: any Decoder, depth: Int) {
        note("decoder", path(decoder.codingPath))
        guard depth < 6 else { return }
        for _ in 0..<2 {
            switch step(3) {
            case 0:
                if let keyed = attempt("keyed", { try decoder.container(keyedBy: Name.self) }) {
                    visit(keyed, depth: depth + 1)
                }
            case 1:
                if var unkeyed = attempt("unkeyed", { try decoder.unkeyedContainer() }) {
                    visit(&unkeyed, depth: depth + 1)
                }
            default:
                if let value = attempt("single", { try decoder.singleValueContainer() }) {
                    visit(value)
                }
            }
        }
    }

    private mutating func visit(_ value: any SingleValueDecodingContainer) {
        note("path", path(value.codingPath))
        note("nil", value.decodeNil())
        switch step(8) {
        case 0: record { try value.decode(Bool.self) }
        case 1: record { try value.decode(String.self) }
        case 2: record { try value.decode(Int.self) }
        case 3: record { try value.decode(Double.self) }
        case 4: record { try value.decode([Int?].self) }
        case 5: record { try value.decode(Int?.self) }
        case 6: record { try value.decode(UInt8.self) }
        default: record { try value.decode([[Int?]].self) }
        }
    }

    private mutating func visit(_ keyed: KeyedDecodingContainer<Name>, depth: Int) {
        note("path", path(keyed.codingPath))
        for _ in 0..<4 where depth < 6 {
            let name = ["a", "b", "super", "missing", "é", "A"].randomElement(using: &steps) ?? ""
            let key = Name(stringValue: name)
            trace.append(name)
            switch step(15) {
            case 0: note("keys", keyed.allKeys.map(\.stringValue).sorted())
            case 1: note("contains", keyed.contains(key))
            case 2: record { try keyed.decodeNil(forKey: key) }
            case 3: record { try keyed.decode(Int.self, forKey: key) }
            case 4: record { try keyed.decode(String.self, forKey: key) }
            case 5: record { try keyed.decode([Int?].self, forKey: key) }
            case 6: record { try keyed.decode(Int?.self, forKey: key) }
            case 7: record { try keyed.decodeIfPresent(Int.self, forKey: key) }
            case 8: record { try keyed.decodeIfPresent(Bool.self, forKey: key) }
            case 9: record { try keyed.decodeIfPresent(UInt16.self, forKey: key) }
            case 10: record { try keyed.decodeIfPresent([Int].self, forKey: key) }
            case 11:
                let inner = attempt("nested") {
                    try keyed.nestedContainer(keyedBy: Name.self, forKey: key)
                }
                if let inner { visit(inner, depth: depth + 1) }
            case 12:
                let inner = attempt("nested list") { try keyed.nestedUnkeyedContainer(forKey: key) }
                if var inner { visit(&inner, depth: depth + 1) }
            case 13:
                if let decoder = attempt("super", { try keyed.superDecoder() }) {
                    visit(decoder, depth: depth + 1)
                }
            default:
                if let decoder = attempt("super for", { try keyed.superDecoder(forKey: key) }) {
                    visit(decoder, depth: depth + 1)
                }
            }
        }
    }

    private mutating func visit(_ unkeyed: inout any UnkeyedDecodingContainer, depth: Int) {
        note("path", path(unkeyed.codingPath))
        note("count", unkeyed.count as Any)
        for _ in 0..<6 where depth < 6 {
            note("index", (unkeyed.currentIndex, unkeyed.isAtEnd))
            switch step(11) {
            case 0: record { try unkeyed.decodeNil() }
            case 1: record { try unkeyed.decode(Int.self) }
            case 2: record { try unkeyed.decode(String.self) }
            case 3: record { try unkeyed.decode(Bool?.self) }
            case 4: record { try unkeyed.decode([Int].self) }
            // At the end JSONDecoder's index exceeds the count.
            case 5 where !unkeyed.isAtEnd: record { try unkeyed.decodeIfPresent(Int.self) }
            case 6 where !unkeyed.isAtEnd: record { try unkeyed.decodeIfPresent(String.self) }
            case 7 where !unkeyed.isAtEnd: record { try unkeyed.decodeIfPresent([Int].self) }
            case 8:
                let inner = attempt("nested") { try unkeyed.nestedContainer(keyedBy: Name.self) }
                if let inner { visit(inner, depth: depth + 1) }
            case 9:
                let inner = attempt("nested list") { try unkeyed.nestedUnkeyedContainer() }
                if var inner { visit(&inner, depth: depth + 1) }
            default:
                if let decoder = attempt("super", { try unkeyed.superDecoder() }) {
                    visit(decoder, depth: depth + 1)
                }
            }
        }
        note("index", (unkeyed.currentIndex, unkeyed.isAtEnd))
    }

    // MARK: Recording

    private mutating func step(_ count: Int) -> Int { Int.random(in: 0..<count, using: &steps) }

    private mutating func note(_ name: String, _ value: Any) { trace.append("\(name): \(value)") }

    private mutating func record(_ body: () throws -> some Any) {
        if let value = attempt("value", body) { note("value", value) }
    }

    private mutating func attempt<Value>(_ name: String, _ body: () throws -> Value) -> Value? {
        do {
            let value = try body()
            trace.append(name)
            return value
        } catch let error as DecodingError {
            note(name, shown(error))
        } catch {
            // JSONDecoder's error for a fraction in place of an integer.
            note(name, "corrupted")
        }
        return nil
    }

    private func shown(_ error: DecodingError) -> String {
        switch error {
        case .typeMismatch(let type, let context):
            // JSONDecoder's error for `null` in place of a Bool.
            let isNull = type == Bool.self && "\(context)".contains("null")
            return "\(isNull ? "null" : "mismatch") at \(path(context.codingPath))"
        case .valueNotFound(_, let context): return "null at \(path(context.codingPath))"
        case .keyNotFound(let key, let context):
            return "no \(key.stringValue) at \(path(context.codingPath))"
        case .dataCorrupted: return "corrupted"
        @unknown default: return "unknown"
        }
    }

    private func path(_ keys: [any CodingKey]) -> String {
        keys.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }.joined(separator: "/")
    }
}
