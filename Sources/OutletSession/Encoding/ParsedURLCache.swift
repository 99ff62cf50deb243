package import FoundationEssentials
import OutletTransport

/// A cache of parsed URLs: parsing one costs as much as the rest of making a request.
package final class ParsedURLCache: Sendable {
    /// Shared by all sessions: the result of parsing depends on the text only.
    package static let shared = ParsedURLCache()

    private struct Entry: Sendable {
        let text: String
        let url: URL
    }

    private struct Memory: Sendable {
        /// The last URL returned: the same text again needs no hash.
        var last: Entry?
        /// Indexed by the texts' hashes; a new entry replaces the one with the same index.
        var entries = [Entry?](repeating: nil, count: 256)
    }

    private let memory = Lock(Memory())
    /// Longer texts are not cached, because entries are never freed.
    private static let maximumLength = 1024

    /// Whether a text may be cached; not if it may contain a password.
    private static func isKept(_ text: String) -> Bool {
        text.utf8.count <= maximumLength && !text.utf8.contains(UInt8(ascii: "@"))
    }

    /// Returns the URL of a text; `nil` if it is not a URL.
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

    /// FNV-1a of the last 24 bytes, where URLs differ most; a collision costs one parse.
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
