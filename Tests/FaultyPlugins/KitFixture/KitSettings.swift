import FoundationEssentials

/// A configuration with properties of every type that the kit derives a schema from.
struct KitSettings: Decodable {
    struct Greeting: Decodable {
        var text: String
    }

    enum Mode: String, CaseIterable, CodingKeyRepresentable, Decodable {
        case quick, thorough
    }

    enum Level: Int, CaseIterable, Decodable {
        case low = 1
        case high = 7
    }

    /// A type that contains itself.
    final class Tree: Decodable {
        var branches: [Tree]?
    }

    /// A type with its own `init(from:)`, for which the schema allows any value.
    struct Odd: Decodable {
        init(from decoder: any Decoder) throws {
            let text = try decoder.singleValueContainer().decode(String.self)
            guard text == "odd" else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "not odd"))
            }
        }
    }

    /// A type that contains itself in several places, as conditions do.
    struct Condition: Decodable {
        var all: [Condition]?
        var any: [Condition]?
        var named: [String: Condition]?
        var not: [Condition]?
        var header: String?
    }

    /// A type that is decoded with whatever keys it has.
    struct Bag: Decodable {
        private struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }

            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            for key in container.allKeys { _ = try container.decode(Int.self, forKey: key) }
        }
    }

    /// A type that looks whether its key is there.
    struct Sought: Decodable {
        private enum CodingKeys: String, CodingKey {
            case number
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            if container.contains(.number) { _ = try container.decode(Int.self, forKey: .number) }
        }
    }

    /// A type that asks about `null` itself.
    struct Asking: Decodable {
        private enum CodingKeys: String, CodingKey {
            case number, word
        }

        /// A text, or `null` for none.
        struct Word: Decodable {
            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if !container.decodeNil() { _ = try container.decode(String.self) }
            }
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            if try !container.decodeNil(forKey: .number) {
                _ = try container.decode(Int8.self, forKey: .number)
            }
            _ = try container.decode(Word.self, forKey: .word)
        }
    }

    /// Optional values that are no properties.
    struct Gaps: Decodable {
        /// A type that contains itself.
        final class Chain: Decodable {
            var links: [Chain?]?
        }

        var numbers: [UInt8?]?
        var words: [String: String?]?
        var modes: Set<Mode?>?
        var lists: [[Bool?]?]?
        var greetings: [String: Greeting?]?
        var deep: [Bool??]?
        var chain: Chain?
        var twice: Bool??
        var asking: Asking?
    }

    var greeting: Greeting?
    var limit: Double?
    var strict: Bool?
    var count: UInt8?
    var offset: Int?
    var words: [String]?
    var weights: [String: Double]?
    var mode: Mode?
    var level: Level?
    var place: URL?
    var tree: Tree?
    var odd: Odd?
    var condition: Condition?
    var codes: [Int: String]?
    var shares: [Mode: Double]?
    var pairs: [Level: String]?
    var bag: Bag?
    var sought: Sought?
    var gaps: Gaps?
}
