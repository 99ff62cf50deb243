import FoundationEssentials
import OutletHTTP

/// Keeps the heads and bodies of the last small results, so that the thread that allocated their
/// memory also frees it.
///
/// Other threads that freed it would contend with this one for the lock of the allocator's arena:
/// 1.5 % of a response's CPU time at 64 in flight, if other threads run the handlers
/// (`Benchmarks/tricks recent-results`).
struct RecentResults {
    private struct Entry {
        let response: HTTPResponse?
        let body: Data?
        let size: Int
    }

    /// More than usually run at a time, so that the receivers have released a result before.
    private static let maximumCount = 256
    /// The maximum size of a result, in bytes.
    private static let maximumOfOne = 16 * 1024
    /// The maximum size of all results together, in bytes.
    private static let maximumSize = 512 * 1024

    /// A ring, whose oldest entry is at `oldest` once there are ``maximumCount`` entries.
    private var entries: [Entry] = []
    private var oldest = 0
    private var size = 0

    /// The number of results.
    var count: Int { entries.count }

    /// Adds a result.
    ///
    /// Releases the oldest result if there are too many, and all of them if they are too large
    /// together. Ignores a result of more than ``maximumOfOne``, whose memory would be kept
    /// for nothing: the next one is allocated anew.
    mutating func add(_ result: borrowing TransferResult) {
        let body = result.body
        let added = (body?.count ?? 0) + (result.response?.headers.weight ?? 0)
        guard added <= Self.maximumOfOne else { return }
        if size + added > Self.maximumSize { removeAll() }
        size += added
        let entry = Entry(response: result.response, body: body, size: added)
        guard entries.count == Self.maximumCount else { return entries.append(entry) }
        size -= entries[oldest].size
        entries[oldest] = entry
        oldest = (oldest + 1) % Self.maximumCount
    }

    /// Releases all results.
    mutating func removeAll() {
        guard !entries.isEmpty else { return }
        entries.removeAll(keepingCapacity: true)
        oldest = 0
        size = 0
    }
}
