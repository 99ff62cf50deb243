import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The values of a request that matter to a cache.
///
/// A class, because most requests have the values of a recent one; see ``RecentRequests``.
final class CacheRequest: Sendable {
    /// The cache key: the URL without its fragment, in canonical form (RFC 9111 §2), and the
    /// request's `Host` field if it differs.
    ///
    /// `nil` if the request cannot be cached: without a valid URL, or a `GET` or `HEAD` with a body,
    /// whose response may depend on it.
    let key: String?
    let method: HTTPMethod
    /// Whether the method is `GET` or `HEAD`, so that a stored response may answer the request.
    let isRead: Bool
    let fields: CacheFields
    /// Identifies the user of the request, by all its secrets; `nil` if it has none.
    let person: String?
    /// Identifies how the server is verified; see ``CacheLayer/verifier(of:)``.
    let verifier: String?
    /// Identifies where connections may lead; see ``CacheLayer/route``.
    let route: String?
    let policy: HTTPRequest.CachePolicy

    var headers: HTTPHeaders { fields.headers }
    var directives: CacheControl { fields.directives }

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

    /// The selector name for whether the body of a response with content codings is decoded.
    private static let decoding = ":decoding"

    /// Takes from a request what matters to a cache.
    ///
    /// - Parameters:
    ///   - request: The request, with its cookies.
    ///   - credential: The credential that answers challenges.
    ///   - session: Identifies a session with a client certificate.
    ///   - verifier: Identifies how the server is verified.
    ///   - route: Identifies where connections may lead.
    ///   - fields: What is known of the request's fields; `nil` if nothing is.
    init(
        _ request: HTTPRequest, credential: Credential? = nil, session: String? = nil,
        verifier: String? = nil, route: String? = nil, fields: CacheFields? = nil
    ) {
        let fields = fields ?? CacheFields(request.headers)
        self.fields = fields
        method = request.method
        isRead = method == .get || method == .head
        key =
            isRead && request.hasBody
            ? nil : fields.hasHost ? Self.key(of: request) : RecentKeys.shared.key(of: request)
        person = Self.person(fields, request.url?.userInfo, credential, session)
        self.verifier = verifier
        self.route = route
        policy = request.cachePolicy
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
        _ fields: CacheFields, _ userInfo: String?, _ credential: Credential?, _ session: String?
    ) -> String? {
        var parts: [String] = []
        if let userInfo { parts.append(userInfo) }
        if let credential { parts += [credential.user, credential.password] }
        if let session { parts.append(session) }
        guard !parts.isEmpty else { return fields.secrets }
        return parts.reduce(into: fields.secrets ?? "") { $0 += $1.afterItsLength }
    }

    /// Returns a field's value in normal form: repeated fields joined, without blanks around
    /// commas.
    func value(of name: String) -> String? {
        if name == Self.personName { return person }
        if name == Self.verifier { return verifier }
        if name == Self.route { return route }
        if name == Self.decoding { return fields.decodes ? "yes" : nil }
        return Self.value(of: name, in: headers)
    }

    private static func value(of name: String, in headers: HTTPHeaders) -> String? {
        let values = headers.values(for: name)
        guard let first = values.first else { return nil }
        if values.count == 1, !first.utf8.contains(where: { $0 == UInt8(ascii: ",") }) {
            return String(first.trimmingBlanks)
        }
        return values.joined(separator: ",").parts(separatedBy: ",")
            .map { String($0.trimmingBlanks) }.joined(separator: ",")
    }

    private static let vary: FieldNames = ["Vary"]

    /// The most names in `Vary` fields; a server could send 100,000, to be compared each time.
    private static let mostVaried = 64

    /// Returns the names in a response's `Vary` fields, in lower case; `*` if they are too many.
    private static func variedNames(_ response: HTTPResponse) -> [String] {
        guard response.headers.containsAny(of: vary) else { return [] }
        let names = response.headers.values(for: "Vary").flatMap { $0.listItems() }
        return names.count <= mostVaried ? names.map(\.lowercasedASCII) : ["*"]
    }

    /// Whether a response is stored for the same requests if these fields were sent instead.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - sent: The fields that were sent.
    func selectsEqually(_ response: HTTPResponse, as sent: HTTPHeaders) -> Bool {
        guard !sent.isSame(as: headers) else { return true }
        let others = CacheFields(sent)
        let isForUser = !CacheControl(response.headers).isPublic
        return (!isForUser || others.secrets == fields.secrets)
            && Self.value(of: "Host", in: sent) == Self.value(of: "Host", in: headers)
            && Self.variedNames(response).allSatisfy {
                Self.value(of: $0, in: sent) == Self.value(of: $0, in: headers)
            }
    }

    /// Returns the values that later requests must have in common with this one to be answered by a
    /// response.
    ///
    /// `nil` if the response cannot be reused at all (`Vary: *`).
    func selectors(
        for response: HTTPResponse, isPublic: Bool
    ) -> [CacheEntry.Selector]? {
        var names = isPublic ? [Self.route] : [Self.personName, Self.route]
        if key?.startsWithBytes(of: "https:") == true { names.append(Self.verifier) }
        if response.headers["Content-Encoding"] != nil { names.append(Self.decoding) }
        names += Self.variedNames(response)
        guard !names.contains(where: { $0.hasSameBytes(as: "*") }) else { return nil }
        return names.map { CacheEntry.Selector(name: $0, value: value(of: $0)) }
    }
}

/// What a cache has to know about the fields of a request.
///
/// Most requests of a session have the same fields as the one before, so it is computed once for
/// all of them.
final class CacheFields: Sendable {
    let headers: HTTPHeaders
    let directives: CacheControl
    /// The secret fields with their values, sorted, each preceded by its length; `nil` without any.
    let secrets: String?
    let hasHost: Bool
    let hasRange: Bool
    /// Whether there is a field that makes the request conditional.
    let hasConditions: Bool
    /// Whether the transport decodes content codings: if the request accepts any.
    let decodes: Bool

    init(_ headers: HTTPHeaders) {
        self.headers = headers
        directives = CacheControl(headers)
        var parts = headers.filter { SecretFields.contains($0.name) }
            .map { $0.name.lowercasedASCII + ":" + $0.distinctValue }
        if parts.count > 1 { parts.sort() }
        secrets = parts.isEmpty ? nil : parts.reduce(into: "") { $0 += $1.afterItsLength }
        hasHost = headers.containsAny(of: ["Host"])
        decodes =
            headers.values(for: "Accept-Encoding").last.map {
                !$0.isEmpty && !$0.equalsIgnoringCase("identity")
            } ?? false
        hasRange = headers.containsAny(of: ["Range"])
        hasConditions = headers.containsAny(of: [
            "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range",
        ])
    }
}

extension HTTPHeader {
    /// The value as ASCII, which is equal only for equal bytes: equal texts may have different ones.
    fileprivate var distinctValue: String {
        guard isLatin1 || !value.utf8.allSatisfy({ $0 < 0x80 }) else { return value }
        // No other value has a control character.
        return valueBytes.reduce(into: "\u{1}") { $0 += String($1, radix: 16) + "." }
    }
}

extension String {
    fileprivate var afterItsLength: String { "\(utf8.count):\(self)" }
}
