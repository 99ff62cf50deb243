import FoundationEssentials

/// A setting of each kind.
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

    /// Holds itself.
    final class Tree: Decodable {
        var branches: [Tree]?
    }

    /// Takes nothing that a schema could be made of.
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
