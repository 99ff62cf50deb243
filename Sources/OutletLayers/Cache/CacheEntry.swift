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

/// The values of a request that matter to a cache.
struct CacheRequest: Sendable {
    /// The cache key: the URL without its fragment, in canonical form (RFC 9111 §2), and the
    /// request's `Host` field if it differs.
    ///
    /// `nil` if the request cannot be cached.
    let key: String?
    let method: HTTPMethod
    let headers: HTTPHeaders
    /// Identifies the user of the request, by all its secrets; `nil` if it has none.
    let person: String?
    /// Identifies how the server is verified; see ``CacheLayer/verifier(of:)``.
    let verifier: String?
    /// Identifies where connections may lead; see ``CacheLayer/route``.
    let route: String?
    let policy: HTTPRequest.CachePolicy
    let directives: CacheControl

    /// The selector name for ``person``.
    ///
    /// HTTP assumes that a private cache has one user, but one session may send requests for
    /// several users. Therefore each response that is not public is selected by its user, as if
    /// `Vary` contained it.
    private static let personName = ":person"

    /// Whether a selector identifies a user.
    static func isPersonal(_ name: String) -> Bool {
        name == personName || Redaction.standard.hidesHeader(named: name)
    }

    /// The selector name for ``verifier``: a server that one session accepts may not be accepted by
    /// another one.
    static let verifier = ":verifier"
    /// The first character of a ``verifier`` that contains a policy's number.
    static let policyMark = UInt8(ascii: "#")

    /// The selector name for ``route``: a session must not receive responses, even stored ones,
    /// from places it may not connect to.
    static let route = ":route"

    /// Takes from a request what matters to a cache.
    ///
    /// - Parameters:
    ///   - request: The request, with its cookies.
    ///   - credential: The credential that answers challenges.
    ///   - session: Identifies a session with a client certificate.
    ///   - verifier: Identifies how the server is verified.
    ///   - route: Identifies where connections may lead.
    init(
        _ request: HTTPRequest, credential: Credential? = nil, session: String? = nil,
        verifier: String? = nil, route: String? = nil
    ) {
        key = RecentKeys.shared.key(of: request)
        method = request.method
        headers = request.headers
        person = Self.person(request, credential, session)
        self.verifier = verifier
        self.route = route
        policy = request.cachePolicy
        directives = CacheControl(request.headers)
    }

    static func key(of request: HTTPRequest) -> String? {
        let text = request.url?.withoutUserInfo.absoluteString
        guard let address = text.flatMap({ try? CanonicalAddress($0) }) else { return nil }
        // A URL contains no space, so no other request has the same text.
        guard let host = request.headers["Host"]?.lowercasedASCII,
            !host.hasSameBytes(as: address.hostField)
        else { return address.textWithoutFragment }
        return "\(address.textWithoutFragment) \(host)"
    }

    /// Joins secret fields, user name and password of the URL, credential and session.
    ///
    /// Each part is preceded by its length, so that different users never have the same text.
    private static func person(
        _ request: HTTPRequest, _ credential: Credential?, _ session: String?
    ) -> String? {
        var parts = request.headers.filter { SecretFields.contains($0.name) }
            .map { $0.name.lowercasedASCII + ":" + $0.value }
        if parts.count > 1 { parts.sort() }
        if let userInfo = request.url?.userInfo { parts.append(userInfo) }
        if let credential { parts += [credential.user, credential.password] }
        if let session { parts.append(session) }
        guard !parts.isEmpty else { return nil }
        return parts.reduce(into: "") { $0 += String($1.utf8.count) + ":" + $1 }
    }

    /// Returns a field's value in normal form: repeated fields joined, without blanks around
    /// commas.
    func value(of name: String) -> String? {
        if name == Self.personName { return person }
        if name == Self.verifier { return verifier }
        if name == Self.route { return route }
        let values = headers.values(for: name)
        guard let first = values.first else { return nil }
        if values.count == 1, !first.utf8.contains(where: { $0 == UInt8(ascii: ",") }) {
            return String(first.trimmingBlanks)
        }
        return values.joined(separator: ",").parts(separatedBy: ",")
            .map { String($0.trimmingBlanks) }.joined(separator: ",")
    }

    private static let vary: FieldNames = ["Vary"]

    /// Returns the values that later requests must have in common with this one to be answered by a
    /// response.
    ///
    /// `nil` if the response cannot be reused at all (`Vary: *`).
    func selectors(
        for response: HTTPResponse, isPublic: Bool
    ) -> [CacheEntry.Selector]? {
        let vary =
            response.headers.containsAny(of: Self.vary) ? response.headers.values(for: "Vary") : []
        var names = isPublic ? [Self.route] : [Self.personName, Self.route]
        if key?.startsWithBytes(of: "https:") == true { names.append(Self.verifier) }
        for value in vary {
            names += value.listItems().map(\.lowercasedASCII)
        }
        guard !names.contains(where: { $0.hasSameBytes(as: "*") }) else { return nil }
        return names.map { CacheEntry.Selector(name: $0, value: value(of: $0)) }
    }
}
