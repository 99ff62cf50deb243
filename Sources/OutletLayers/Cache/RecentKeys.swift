import FoundationEssentials
import OutletHTTP
import Synchronization

/// The cache keys of the URLs requested most recently.
///
/// To bring an address into canonical form costs as much as all else that a stored response costs
/// (`Benchmarks/count stored`).
final class RecentKeys: Sendable {
    /// For all caches, because a key depends on the request alone.
    static let shared = RecentKeys()

    private struct Entry: Sendable {
        let address: String
        let key: String
    }

    private static let limit = 8
    /// Longer URLs are parsed each time, because the entries here are never released.
    private static let longest = 1024
    private let entries = Mutex<(list: [Entry], oldest: Int)>(([], 0))

    /// The key of a request; `nil` when no cache can help.
    func key(of request: HTTPRequest) -> String? {
        guard let url = request.url, request.headers["Host"] == nil else {
            return CacheRequest.key(of: request)
        }
        let address = url.absoluteString
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
