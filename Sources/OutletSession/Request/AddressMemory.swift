import FoundationEssentials

/// The addresses that texts spelt lately: parsing one costs as much as all else that is done to
/// make a request.
final class AddressMemory: Sendable {
    /// For all sessions, because what a text spells depends on nothing else.
    static let shared = AddressMemory()

    private struct Entry: Sendable {
        let text: String
        let url: URL
    }

    /// By the texts' hashes; a new one takes the place of the former.
    private let entries = Lock([Entry?](repeating: nil, count: 256))
    /// Longer texts are parsed each time: what lies here is never let go of.
    private static let maximumLength = 1024

    /// The address that a text spells, if it is one.
    func url(_ text: String) -> URL? {
        guard text.utf8.count <= Self.maximumLength else { return URL(string: text) }
        let index = Self.index(of: text)
        let known = entries.withLock { $0[index] }
        if let known, known.text == text { return known.url }
        guard let url = URL(string: text) else { return nil }
        entries.withLock { $0[index] = Entry(text: text, url: url) }
        return url
    }

    /// FNV-1a of the last bytes, where addresses differ most; a collision costs a parse.
    private static func index(of text: String) -> Int {
        var text = text
        return text.withUTF8 { bytes in
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325
            var index = max(0, bytes.count - 24)
            while index < bytes.count {
                hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3
                index &+= 1
            }
            return Int((hash ^ (hash >> 32)) & 255)
        }
    }
}
