import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A stored response, with the values that decide about its reuse.
struct CacheEntry: Sendable, Equatable {
    var response: HTTPResponse {
        didSet { facts = Facts(response) }
    }
    var data: Data
    /// The time when its request was started.
    var requestTime: Date
    /// The time when it was received or last revalidated.
    var responseTime: Date
    /// The values that a request must have in common with the original one (RFC 9111 §4.1).
    var selectors: [Selector]
    var userInfo: [String: String]?
    var storagePolicy: CachedResponse.StoragePolicy

    /// Values parsed from the response that decide about its reuse.
    struct Facts: Sendable, Equatable {
        /// Whether the response has any field that allows reuse.
        ///
        /// Most dynamically generated responses have none, and need no further checks.
        let hasCacheFields: Bool
        let directives: CacheControl
        /// The value of `Date`; `nil` if it is missing or invalid.
        let date: Date?
        /// The value of `Age`, in seconds.
        let age: Int

        init(_ response: HTTPResponse) {
            let headers = response.headers
            hasCacheFields = CacheEntry.hasCacheFields(response)
            directives = hasCacheFields ? CacheControl(headers) : CacheControl()
            date = headers.value(for: "Date").flatMap(HTTPDate.parse)
            age = max(0, headers.values(for: "Age").first.flatMap { Int($0) } ?? 0)
        }
    }

    private(set) var facts: Facts
    var hasCacheFields: Bool { facts.hasCacheFields }
    var directives: CacheControl { facts.directives }
    /// The time when the response was generated (RFC 9110 §6.6.1).
    var date: Date { facts.date ?? responseTime }

    init(
        response: HTTPResponse, data: Data, requestTime: Date, responseTime: Date,
        selectors: [Selector], userInfo: [String: String]?,
        storagePolicy: CachedResponse.StoragePolicy
    ) {
        self.response = response
        self.data = data
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.selectors = selectors
        self.userInfo = userInfo
        self.storagePolicy = storagePolicy
        facts = Facts(response)
    }

    static func hasCacheFields(_ response: HTTPResponse) -> Bool {
        response.headers.containsAny(of: rules)
    }

    private static let rules: FieldNames = [
        "Cache-Control", "Expires", "ETag", "Last-Modified", "Pragma", "Vary",
    ]

    /// A field of the request with its value; `nil` if the request did not have it.
    struct Selector: Sendable, Equatable, Codable {
        let name: String
        let value: String?
    }

    /// The body that a request receives; `nil` without one.
    func body(for request: CacheRequest) -> Data? {
        request.method == .head || data.isEmpty ? nil : data
    }

    /// The approximate size in memory, in bytes.
    var cost: Int { data.count + 512 + response.headers.weight }

    /// Whether the response may answer a request.
    func matches(_ request: CacheRequest) -> Bool {
        selectors.allSatisfy { selector in
            guard let value = request.value(of: selector.name), let own = selector.value else {
                return request.value(of: selector.name) == nil && selector.value == nil
            }
            return value.hasSameBytes(as: own)
        }
    }

    /// Whether the entry must not be written to disk.
    ///
    /// True if it depends on a user's credentials, or on a trust policy, whose number means nothing
    /// in another process.
    var isPersonal: Bool {
        selectors.contains { selector in
            selector.value != nil && CacheRequest.isPersonal(selector.name)
                || selector.name == CacheRequest.verifier
                    && selector.value?.utf8.first == CacheRequest.policyMark
        }
    }
}
