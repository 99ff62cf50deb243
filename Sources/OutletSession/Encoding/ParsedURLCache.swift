package import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A cache of parsed URLs.
///
/// Parsing one costs 6 % of a request's instructions (`Benchmarks/count session-callback-inline`). A
/// stored response costs nearly twice as many without the cache, because its request is not
/// recognised as a copy of one before.
package final class ParsedURLCache: Sendable {
    /// Shared by all sessions: the result of parsing depends on the text only.
    package static let shared = ParsedURLCache()

    private struct Entry: Sendable {
        let text: String
        let url: URL
    }

    private struct Memory: Sendable {
        // The last URL returned: the same text again needs no hash. Two properties instead of an
        // optional `Entry`, which would be copied for the comparison.
        var lastText = ""
        var lastURL: URL?
        /// Indexed by the texts' hashes; a new entry replaces the one with the same index.
        var entries = [Entry?](repeating: nil, count: 256)

        mutating func setLast(_ entry: Entry) {
            lastText = entry.text
            lastURL = entry.url
        }
    }

    private let memory = Lock(Memory())
    /// Longer texts are not cached, because entries are never freed.
    private static let maximumLength = 1024

    /// Whether a text may be cached; not if it may contain a password.
    package static func isKept(_ text: String) -> Bool {
        text.utf8.count <= maximumLength && !text.utf8.contains(UInt8(ascii: "@"))
    }

    /// Returns the URL of a text; `nil` if it is not a URL.
    package func url(_ text: String) -> URL? {
        var copy = text
        return find({ $0.hasSameBytes(as: text) }, index: { copy.withUTF8(Self.index) })
            ?? parse(text)
    }

    /// Returns the URL of a text in UTF-8; `nil` if it is not a URL.
    package func url(_ text: UnsafeBufferPointer<UInt8>) -> URL? {
        find({ $0.hasSameBytes(as: text) }, index: { Self.index(of: text) })
            ?? parse(String(decoding: text, as: UTF8.self))
    }

    private func find(_ isWanted: (String) -> Bool, index: () -> Int) -> URL? {
        memory.withLock { memory in
            if isWanted(memory.lastText) { return memory.lastURL }
            guard let entry = memory.entries[index()], isWanted(entry.text) else { return nil }
            memory.setLast(entry)
            return entry.url
        }
    }

    private func parse(_ text: String) -> URL? {
        guard let url = URL(escaping: text) else { return nil }
        guard Self.isKept(text) else { return url }
        memory.withLock { memory in
            let entry = Entry(text: text, url: url)
            memory.setLast(entry)
            var text = text
            memory.entries[text.withUTF8(Self.index)] = entry
        }
        return url
    }

    /// FNV-1a of the last 24 bytes, where URLs differ most; a collision costs one parse.
    private static func index(of bytes: UnsafeBufferPointer<UInt8>) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        var index = max(0, bytes.count - 24)
        while index < bytes.count {
            hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3
            index &+= 1
        }
        return Int((hash ^ (hash >> 32)) & 255)
    }
}
