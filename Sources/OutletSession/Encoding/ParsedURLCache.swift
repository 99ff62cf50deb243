package import FoundationEssentials
import OutletTransport

/// The addresses that texts spelt lately: parsing one costs as much as all else that is done to
/// make a request.
package final class ParsedURLCache: Sendable {
    /// For all sessions, because what a text spells depends on nothing else.
    package static let shared = ParsedURLCache()

    private struct Entry: Sendable {
        let text: String
        let url: URL
    }

    private struct Memory: Sendable {
        /// Programs that ask for one address again and again need no hash.
        var last: Entry?
        /// By the texts' hashes; a new one takes the place of the former.
        var entries = [Entry?](repeating: nil, count: 256)
    }

    private let memory = Lock(Memory())
    /// Longer texts are parsed each time: what lies here is never let go of.
    private static let maximumLength = 1024

    /// Whether a text may lie here: those that may carry a password may not.
    private static func isKept(_ text: String) -> Bool {
        text.utf8.count <= maximumLength && !text.utf8.contains(UInt8(ascii: "@"))
    }

    /// The address that a text spells, if it is one.
    package func url(_ text: String) -> URL? {
        let known = memory.withLock { memory -> URL? in
            if let last = memory.last, last.text == text { return last.url }
            guard let entry = memory.entries[Self.index(of: text)], entry.text == text else {
                return nil
            }
            memory.last = entry
            return entry.url
        }
        if let known { return known }
        guard let url = URL(string: text) else { return nil }
        guard Self.isKept(text) else { return url }
        memory.withLock { memory in
            memory.last = Entry(text: text, url: url)
            memory.entries[Self.index(of: text)] = memory.last
        }
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
