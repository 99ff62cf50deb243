import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The cache keys of the most recently requested URLs.
///
/// Converting a URL to canonical form costs 19,000 instructions, more than a whole stored response
/// whose request ``RecentRequests`` knows (`Benchmarks/tricks recent-keys`).
final class RecentKeys: Sendable {
    /// Shared by all caches, because a key depends only on the request.
    static let shared = RecentKeys()

    private struct Entry: Sendable {
        let address: String
        let key: String
    }

    private static let limit = 8
    /// The maximum length of a URL; longer ones are parsed each time, because entries are never
    /// released.
    private static let longest = 1024
    private let entries = Lock<(list: [Entry], oldest: Int)>(([], 0))

    /// Returns the cache key of a request without a `Host` field; `nil` if the request cannot be
    /// cached.
    func key(of request: HTTPRequest) -> String? {
        guard let address = request.url?.absoluteString else { return nil }
        let known = entries.withLock { entries in
            entries.list.first { $0.address.hasSameBytes(as: address) }?.key
        }
        if let known { return known }
        let key = CacheRequest.key(of: request)
        // A URL that may contain a password is not kept.
        guard let key, address.utf8.count <= Self.longest,
            !address.utf8.contains(UInt8(ascii: "@"))
        else { return key }
        let entry = Entry(address: address, key: key)
        entries.withLock { entries in
            guard entries.list.count == Self.limit else { return entries.list.append(entry) }
            entries.list[entries.oldest] = entry
            entries.oldest = (entries.oldest + 1) % Self.limit
        }
        return key
    }
}
