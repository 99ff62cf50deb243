import FoundationEssentials

/// A configuration with properties of every type that the kit derives a schema from.
struct KitSettings: Decodable {
    struct Greeting: Decodable {
        var text: String
    }

    enum Mode: String, CaseIterable, Decodable {
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
}
