import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// The last request made of an endpoint, without what its task adds, because most endpoints of a
/// program have equal fields, and many the same URL.
///
/// Sorting and checking five fields takes 5 % of a request's instructions (`Benchmarks/count
/// provider`).
/// The session's own copy of the last fields is found faster, too, when their storage is the same.
final class RecentRequest: Sendable {
    /// Shared by all endpoints: the request depends on the arguments only.
    static let shared = RecentRequest()

    private struct Memory: Sendable {
        var dictionary: [String: String] = [:]
        var request = HTTPRequest(url: nil)

        func hasFields(of other: [String: String]) -> Bool {
            // A target often returns the same dictionary each time.
            if haveSameBits(dictionary, other) { return true }
            guard dictionary.count == other.count else { return false }
            return other.allSatisfy { name, value in
                guard let index = dictionary.index(forKey: name) else { return false }
                let own = dictionary[index]
                return own.key.hasSameBytes(as: name) && own.value.hasSameBytes(as: value)
            }
        }
    }

    private let last = Lock(Memory())

    /// Returns a request whose fields are those of a dictionary, sorted by name.
    func request(
        _ url: URL, _ method: HTTPMethod, _ dictionary: [String: String]
    ) -> HTTPRequest {
        last.withLock { last in
            let hasFields = last.hasFields(of: dictionary)
            if hasFields, haveSameBits(last.request.url, url),
                last.request.method.rawValue.hasSameBytes(as: method.rawValue)
            {
                return last.request
            }
            let fields = hasFields ? last.request.headers : HTTPHeaders(dictionary)
            let request = HTTPRequest(url: url, method: method, headers: fields)
            // Of repeated names one field is left, whose position depends on the others.
            if fields.count == dictionary.count {
                last = Memory(dictionary: dictionary, request: request)
                if !ParsedURLCache.isKept(url.absoluteString) { last.request.url = nil }
            }
            return request
        }
    }
}
