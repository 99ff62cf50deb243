import FoundationEssentials
import OutletHTTP
import OutletTransport

/// A stored response with the data that decide about its reuse.
struct CacheEntry: Sendable, Equatable {
    var response: HTTPResponse {
        didSet { facts = Facts(response) }
    }
    var data: Data
    /// When the request that brought it was begun.
    var requestTime: Date
    /// When it came, or was found to hold still.
    var responseTime: Date
    /// What a request must have in common with that one to be answered by it (RFC 9111 §4.1).
    var selectors: [Selector]
    var userInfo: [String: String]?
    var storagePolicy: CachedResponse.StoragePolicy

    /// What the response says that requests are weighed by, read once.
    struct Facts: Sendable, Equatable {
        /// Whether it says anything that lets it answer again: of most answers of servers' programs
        /// nothing of the kind is true, and nothing need be weighed.
        let saysSomething: Bool
        let directives: CacheControl
        /// Its `Date`, if it has one that is one.
        let date: Date?
        /// Its `Age`, in seconds.
        let age: Int

        init(_ response: HTTPResponse) {
            let headers = response.headers
            saysSomething = CacheEntry.saysSomething(response)
            directives = saysSomething ? CacheControl(headers) : CacheControl()
            date = headers.value(for: "Date").flatMap(HTTPDate.parse)
            age = max(0, headers.values(for: "Age").first.flatMap { Int($0) } ?? 0)
        }
    }

    private(set) var facts: Facts
    var saysSomething: Bool { facts.saysSomething }
    var directives: CacheControl { facts.directives }
    /// When the response was made (RFC 9110 §6.6.1).
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

    static func saysSomething(_ response: HTTPResponse) -> Bool {
        response.headers.containsAny(of: rules)
    }

    private static let rules: FieldNames = [
        "Cache-Control", "Expires", "ETag", "Last-Modified", "Pragma", "Vary",
    ]

    /// A field of the request, and its value then; `nil` if it was not there.
    struct Selector: Sendable, Equatable, Codable {
        let name: String
        let value: String?
    }

    /// About how many bytes of memory it takes.
    var cost: Int { data.count + 512 + response.headers.weight }

    /// Whether it may answer such a request.
    func matches(_ request: CacheRequest) -> Bool {
        selectors.allSatisfy { selector in
            guard let value = request.value(of: selector.name), let own = selector.value else {
                return request.value(of: selector.name) == nil && selector.value == nil
            }
            return value.hasSameBytes(as: own)
        }
    }

    /// Whether somebody's credentials led to it, which do not belong on a disk, or a policy of this
    /// process, which means nothing to another one.
    var isPersonal: Bool {
        selectors.contains { selector in
            selector.value != nil && CacheRequest.isPersonal(selector.name)
                || selector.name == CacheRequest.verifier
                    && selector.value?.utf8.first == CacheRequest.policyMark
        }
    }
}

/// The parts of a request that matter to a cache.
struct CacheRequest: Sendable {
    /// The address without its fragment, its host in canonical form (§2: the cache key), and the
    /// request's own `Host` where that is another; `nil` when no cache can help.
    let key: String?
    let method: HTTPMethod
    let headers: HTTPHeaders
    /// Who asks: everything in the request that names a person; `nil` if nothing does.
    let person: String?
    /// Who checks the server, by ``Caching/verifier(of:)``.
    let verifier: String?
    /// What decides where connections lead, by ``Caching/route``.
    let route: String?
    let policy: HTTPRequest.CachePolicy
    let directives: CacheControl

    /// Stands for ``person`` among the names of fields.
    ///
    /// One session may act for several persons, which no server expects of a private cache; so who
    /// asks selects a response as if its `Vary` named it, unless it is public.
    private static let personName = ":person"

    /// Whether a selecting header identifies a user.
    static func isPersonal(_ name: String) -> Bool {
        name == personName || Redaction.standard.hidesHeader(named: name)
    }

    /// Selects a response by who has verified the server that it came from: what one session takes
    /// from a server, another one may not.
    static let verifier = ":verifier"
    /// What stands before the number of a policy.
    static let policyMark = UInt8(ascii: "#")

    /// Selects a response by where its session may connect to: what one session may ask, another
    /// one may not even get from memory.
    static let route = ":route"

    /// - Parameters:
    ///   - request: The request, with its cookies.
    ///   - credential: What answers challenges.
    ///   - session: Names a session that shows certificates of its own.
    ///   - verifier: Who checks the server.
    ///   - route: What decides where connections lead.
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

    /// Fields that are secret, user name and password of the address, credential and session; each
    /// with its length before it, so that no two persons come to the same text.
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

    /// A field's value as it is compared: repeated fields joined, blanks around commas left out.
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

    /// What a later request must have in common with this one to be answered by that response;
    /// `nil` when none can (`Vary: *`).
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
