import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A stored response, with the values that decide about its reuse.
///
/// All properties share one copy-on-write storage: each request that it answers copies it several
/// times.
struct CacheEntry: Sendable, Equatable {
    private struct Parts: Sendable, Equatable {
        var response: HTTPResponse {
            didSet {
                facts = Facts(response)
                lastAnswer = LastAnswer()
            }
        }
        var data: Data {
            didSet { lastAnswer = LastAnswer() }
        }
        var requestTime: Date
        var responseTime: Date
        var selectors: [Selector]
        var userInfo: [String: String]?
        var storagePolicy: CachedResponse.StoragePolicy
        private(set) var facts: Facts
        /// Belongs to `response` and `data`, and so is replaced with them.
        private(set) var lastAnswer = LastAnswer()
    }

    private var parts: Boxed<Parts>

    var response: HTTPResponse {
        get { parts.value.response }
        _modify { yield &parts.value.response }
    }
    var data: Data {
        get { parts.value.data }
        set { parts.value.data = newValue }
    }
    /// The time when its request was started.
    var requestTime: Date {
        get { parts.value.requestTime }
        set { parts.value.requestTime = newValue }
    }
    /// The time when it was received or last revalidated.
    var responseTime: Date {
        get { parts.value.responseTime }
        set { parts.value.responseTime = newValue }
    }
    /// The values that a request must have in common with the original one (RFC 9111 §4.1).
    var selectors: [Selector] {
        get { parts.value.selectors }
        set { parts.value.selectors = newValue }
    }
    var userInfo: [String: String]? {
        get { parts.value.userInfo }
        set { parts.value.userInfo = newValue }
    }
    var storagePolicy: CachedResponse.StoragePolicy {
        get { parts.value.storagePolicy }
        set { parts.value.storagePolicy = newValue }
    }

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
        /// What the metrics of an answer contain about its connection: the protocol version.
        let connection: Boxed<TransferMetrics.Connection>

        init(_ response: HTTPResponse) {
            let headers = response.headers
            hasCacheFields = CacheEntry.hasCacheFields(response)
            directives = hasCacheFields ? CacheControl(headers) : CacheControl()
            date = headers.value(for: "Date").flatMap(HTTPDate.parse)
            // Of a list, the first value counts (RFC 9111 §5.1); larger ones as 2³¹ (§1.2.2).
            let text = headers.values(for: "Age").first?.listItems().first
            age = min(text?.clampedDecimal() ?? 0, 1 << 31)
            var connection = TransferMetrics.Connection()
            connection.httpVersion = response.httpVersion
            self.connection = Boxed(connection)
        }
    }

    // Read without a copy of the other facts, which would retain their objects.
    var hasCacheFields: Bool { parts.value.facts.hasCacheFields }
    var directives: CacheControl { parts.value.facts.directives }
    /// The value of `Age`, in seconds.
    var receivedAge: Int { parts.value.facts.age }
    /// The time when the response was generated (RFC 9110 §6.6.1).
    var date: Date { parts.value.facts.date ?? responseTime }

    init(
        response: HTTPResponse, data: Data, requestTime: Date, responseTime: Date,
        selectors: [Selector], userInfo: [String: String]?,
        storagePolicy: CachedResponse.StoragePolicy, facts: Facts? = nil
    ) {
        parts = Boxed(
            Parts(
                response: response, data: data, requestTime: requestTime,
                responseTime: responseTime, selectors: selectors, userInfo: userInfo,
                storagePolicy: storagePolicy, facts: facts ?? Facts(response)))
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

    /// The last answer; does not count when entries are compared.
    ///
    /// Answers within the same second are the same; making one for each request costs 4,100
    /// instructions (`Benchmarks/count stored`).
    private final class LastAnswer: Sendable, Equatable {
        private struct Answer {
            let age: Int
            let hasBody: Bool
            let result: KnownResult
        }
        private let last = Lock<Answer?>(nil)

        func result(aged age: Int, withBody: Bool) -> KnownResult? {
            last.withLock { last in
                guard let last, last.age == age, last.hasBody == withBody else { return nil }
                return last.result
            }
        }

        func keep(_ result: KnownResult, aged age: Int, withBody: Bool) {
            let answer = Answer(age: age, hasBody: withBody, result: result)
            last.withLock { $0 = answer }
        }

        static func == (a: LastAnswer, b: LastAnswer) -> Bool { true }
    }

    /// Returns the result of a request that is answered with the response: with an `Age` field,
    /// because it was not revalidated (RFC 9111 §5.1).
    ///
    /// - Parameters:
    ///   - age: The age in seconds.
    ///   - withBody: Whether the request receives the body.
    func answer(aged age: Int, withBody: Bool = true) -> KnownResult {
        if let known = parts.value.lastAnswer.result(aged: age, withBody: withBody) {
            return known
        }
        var head = response
        head.headers.update(name: "Age", value: "\(age)")
        var metrics = TransferMetrics(connection: parts.value.facts.connection)
        metrics.resourceFetchType = .localCache
        let result = KnownResult(
            TransferResult(
                response: head, body: withBody && !data.isEmpty ? data : nil, metrics: metrics))
        parts.value.lastAnswer.keep(result, aged: age, withBody: withBody)
        return result
    }

    /// The body that a request receives; `nil` without one.
    func body(for request: CacheRequest) -> Data? {
        request.method == .head || data.isEmpty ? nil : data
    }

    /// The approximate size in memory, in bytes, with the last answer.
    var cost: Int { data.count + 512 + 2 * response.headers.weight }

    /// Whether the response may answer a request.
    func matches(_ request: CacheRequest) -> Bool {
        selectors.allSatisfy { selector in
            let value = request.value(of: selector.name)
            guard let value, let own = selector.value else {
                return value == nil && selector.value == nil
            }
            return value.hasSameBytes(as: own)
        }
    }

    /// Whether a newer entry for the same key is for the same requests, or may be for some of them.
    func isReplaced(by newer: CacheEntry) -> Bool {
        selectors.allSatisfy { own in
            guard let other = newer.selectors.first(where: { $0.name == own.name }) else {
                return true
            }
            return own == other
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
