public import FoundationEssentials
public import OutletHTTP

/// Which parts of requests and responses are secrets, and what is shown in their place.
///
/// One set of rules for logs, recordings, cURL commands and the wire log. Names are compared
/// without regard to case.
///
/// Thread: any; a value.
public struct Redaction: Sendable, Equatable {
    /// What stands for a secret.
    public var mark = "•••"

    /// Header fields whose values are secrets, in lower case.
    public var headerNames: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key",
        "x-goog-api-key", "x-auth-token", "x-csrf-token", "x-xsrf-token", "x-amz-security-token",
    ]
    /// Parts of names, in lower case: a field, parameter or member with one of them is a secret.
    public var nameParts = [
        "token", "secret", "password", "passwd", "apikey", "api_key", "api-key", "signature",
        "credential",
    ]
    /// Words of names, in lower case: a parameter or JSON member with one of them is a secret.
    ///
    /// `accessKey`, `access_key` and `access-key` are two words each.
    public var nameWords: Set<String> = [
        "key", "sig", "code", "auth", "pass", "pwd", "pin", "otp", "jwt", "sid", "session",
    ]

    /// The usual rules.
    public static let standard = Redaction()
    /// Shows everything.
    public static let none: Redaction = {
        var none = Redaction()
        none.headerNames = []
        none.nameParts = []
        none.nameWords = []
        none.hidesUserInfo = false
        return none
    }()

    /// Whether name and password of an address are secrets.
    public var hidesUserInfo = true

    /// Makes the usual rules.
    public init() {}

    // MARK: Names

    /// Whether the value of a header field is a secret.
    public func hidesHeader(named name: String) -> Bool {
        let name = name.lowercased()
        return headerNames.contains(name) || nameParts.contains { name.contains($0) }
    }

    /// Whether the value of a query or form parameter or of a JSON member is a secret.
    public func hidesParameter(named name: String) -> Bool {
        let lowercase = name.lowercased()
        return nameParts.contains { lowercase.contains($0) }
            || !nameWords.isDisjoint(with: Self.words(of: name))
    }

    /// The words of a name, in lower case: parted by punctuation, and before capitals.
    private static func words(of name: String) -> Set<String> {
        var words: Set<String> = []
        var word = ""
        var wasLower = false
        for character in name {
            let isPart = character.isLetter || character.isNumber
            if !isPart || (wasLower && character.isUppercase) {
                words.insert(word)
                word = ""
            }
            if isPart { word += character.lowercased() }
            wasLower = isPart && !character.isUppercase
        }
        words.insert(word)
        return words
    }

    // MARK: Header fields

    /// What may be shown of a field's value: of a credential its scheme, of cookies their names,
    /// of addresses all but their secrets.
    public func value(of header: HTTPHeader) -> String {
        let name = header.name.lowercased()
        if name == "location" || name == "content-location" || name == "referer" {
            return address(header.value)
        }
        guard hidesHeader(named: name) else { return header.value }
        switch name {
        case "authorization", "proxy-authorization":
            let scheme = header.value.prefix { $0 != " " }
            return scheme.endIndex < header.value.endIndex ? "\(scheme) \(mark)" : mark
        case "set-cookie":
            return cookie(header.value.prefix { $0 != ";" })
                + header.value.drop { $0 != ";" }
        case "cookie":
            return header.value.split(separator: ";", omittingEmptySubsequences: false)
                .map { cookie($0) }.joined(separator: ";")
        default: return mark
        }
    }

    private func cookie(_ pair: Substring) -> String {
        guard let equals = pair.firstIndex(of: "=") else { return mark }
        return "\(pair[...equals])\(mark)"
    }

    /// The fields with secrets replaced, order and repeats kept.
    public func headers(_ headers: HTTPHeaders) -> HTTPHeaders {
        var shown = HTTPHeaders()
        for header in headers { shown.append(name: header.name, value: value(of: header)) }
        return shown
    }

    // MARK: Addresses

    /// An address without name, password and the values of secret query parameters.
    public func url(_ url: URL) -> String { address(url.absoluteString) }

    /// As ``url(_:)``, for a text that may be no valid address.
    public func address(_ text: String) -> String {
        var shown = text
        if hidesUserInfo, let scheme = shown.firstRange(of: "://") {
            let authority = shown[scheme.upperBound...].prefix { !"/?#".contains($0) }
            if let at = authority.lastIndex(of: "@") {
                shown.replaceSubrange(scheme.upperBound..<at, with: mark)
            }
        }
        guard let question = shown.firstIndex(of: "?") else { return shown }
        let query = shown[shown.index(after: question)...].prefix { $0 != "#" }
        return shown[...question] + parameters(query) + shown[query.endIndex...]
    }

    /// Parameters as in a query or a form, the values of secret ones replaced.
    public func parameters(_ text: some StringProtocol) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false)
            .map { pair -> String in
                guard let equals = pair.firstIndex(of: "=") else { return String(pair) }
                let name = String(pair[..<equals])
                return hidesParameter(named: Self.decoded(name))
                    ? "\(name)=\(mark)" : String(pair)
            }.joined(separator: "&")
    }

    /// A name with its percent-encoding undone; what is broken stays as it is.
    private static func decoded(_ name: String) -> String {
        guard name.contains("%") else { return name }
        var bytes: [UInt8] = []
        var rest = name.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(String(rest.prefix(2)) ?? "", radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
