import FoundationEssentials
import OutletHTTP

/// What a cache has to know about the most recent requests.
///
/// Most requests of a session are for the same few URLs, and have the same fields as the one
/// before. Computing the values anew, and comparing them with those of stored responses, costs
/// 16,400 instructions (`Benchmarks/count stored`).
struct RecentRequests: Sendable {
    private struct Entry: Sendable {
        let request: HTTPRequest
        let values: CacheRequest
    }

    private static let limit = 8
    private var entries: [Entry] = []
    /// The index of the entry that is replaced next.
    private var oldest = 0
    /// The fields of the last request.
    private var lastFields: CacheFields?

    /// Returns the values of a request; `nil` if they are not known.
    ///
    /// Finds only copies; see ``HTTPRequest/isCopy(of:)``.
    func values(of request: HTTPRequest) -> CacheRequest? {
        entries.withUnsafeBufferPointer { entries in
            for index in entries.indices where entries[index].request.isCopy(of: request) {
                return entries[index].values
            }
            return nil
        }
    }

    /// Returns the values of a request's fields; `nil` if they are not known.
    func fields(_ headers: HTTPHeaders) -> CacheFields? {
        guard let lastFields, lastFields.headers.isSame(as: headers) else { return nil }
        return lastFields
    }

    /// Remembers the values of a request.
    ///
    /// - Parameters:
    ///   - values: The values.
    ///   - request: The request; `nil` if the values depend on more than it. A URL with a password
    ///     is not kept.
    mutating func keep(_ values: CacheRequest, of request: HTTPRequest?) {
        lastFields = values.fields
        guard let request, !request.hasBody, !request.hasContext, request.url?.userInfo == nil
        else { return }
        let entry = Entry(request: request, values: values)
        guard entries.count == Self.limit else { return entries.append(entry) }
        entries[oldest] = entry
        oldest = (oldest + 1) % Self.limit
    }
}
