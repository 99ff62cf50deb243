/// The rules by which secrets in requests and responses are replaced before they are shown.
///
/// Logs, recordings, cURL commands, error texts and the wire log use the same rules. Names are
/// compared case-insensitively, after percent-decoding. Texts are scanned as bytes, so that a
/// server cannot hide a delimiter by a combining character after it.
///
/// Thread: any; a value.
public struct Redaction: Sendable, Equatable {
    /// The text that replaces a secret.
    public var mark = "•••"

    /// The header fields whose values are secrets; names in lower case.
    public var headerNames: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key",
        "x-goog-api-key", "x-auth-token", "x-csrf-token", "x-xsrf-token", "x-amz-security-token",
        "dpop", "x-amzn-oidc-data", "session", "x-session", "x-ms-client-principal",
    ]
    /// The header fields whose values are shown although ``nameParts`` or ``nameWords`` match;
    /// names in lower case.
    ///
    /// A field that is also in ``headerNames`` is a secret.
    public var openHeaderNames: Set<String> = [
        "access-control-allow-credentials", "authentication-info", "cache-key", "idempotency-key",
        "proxy-authentication-info", "public-key-pins", "public-key-pins-report-only",
        "sec-websocket-key", "signature-input", "surrogate-key", "x-cache-key",
        "x-idempotency-key",
    ]
    /// The substrings, in lower case, that make a field, parameter or JSON member a secret if its
    /// name contains one of them.
    public var nameParts = [
        "token", "secret", "password", "passwd", "passw", "passphrase", "passcode", "pwd", "apikey",
        "api_key", "api-key", "accesskey", "privatekey", "signature", "credential", "authorization",
        "bearer", "cookie", "sessionid", "session-id", "session_id", "sessid", "samlresponse",
        "authkey", "appkey", "passkey", "privkey", "subscriptionkey", "userpass", "authcode",
        "otpcode", "totp", "pswd",
    ]
    /// The words, in lower case, that make a field, parameter or JSON member a secret if one of
    /// them is a whole word of its name.
    ///
    /// `accessKey`, `access_key` and `access-key` have two words each; digits also end a word. The
    /// words `code` and `session` have no effect on header fields.
    public var nameWords: Set<String> = [
        "key", "sig", "sign", "code", "auth", "authz", "oauth", "pass", "pw", "pin", "otp", "jwt",
        "sid", "session",
        "authentication", "csrf", "xsrf", "hmac", "assertion", "ticket", "hdnts", "hdnea", "hdntl",
    ]
    /// Whether the user name and password of a URL are secrets.
    public var hidesUserInfo = true

    /// The default rules.
    public static let standard = Redaction()
    /// Rules without secrets: everything is shown.
    public static let none: Redaction = {
        var none = Redaction()
        none.headerNames = []
        none.nameParts = []
        none.nameWords = []
        none.hidesUserInfo = false
        return none
    }()

    /// Makes the default rules.
    public init() {}

    /// Whether there is no rule, so that nothing is replaced.
    package var showsEverything: Bool {
        headerNames.isEmpty && nameParts.isEmpty && nameWords.isEmpty && !hidesUserInfo
    }

    // MARK: Names

    /// Whether the value of a header field is a secret.
    ///
    /// - Parameter name: The field's name; compared case-insensitively.
    public func hidesHeader(named name: String) -> Bool {
        hidesHeader(Array(name.utf8)[...])
    }

    /// Whether the value of a query or form parameter or of a JSON member is a secret.
    ///
    /// - Parameter name: The name, percent-encoded or not; compared case-insensitively.
    public func hidesParameter(named name: String) -> Bool {
        hidesParameter(Array(name.utf8)[...])
    }

    func hidesHeader(_ name: ArraySlice<UInt8>) -> Bool {
        let lowercase = name.map(\.lowercased)
        let text = String(decoding: lowercase, as: UTF8.self)
        if headerNames.contains(text) { return true }
        return !openHeaderNames.contains(text)
            && (hasSecretPart(lowercase)
                || hasSecretWord(name, lowercase, but: ["code", "session"]))
    }

    func hidesParameter(_ name: ArraySlice<UInt8>) -> Bool {
        var name = name
        // Decoded up to three times: a URL inside the query of a URL is encoded twice.
        for _ in 0..<3 where name.contains(UInt8(ascii: "%")) {
            name = percentDecoded(name)[...]
        }
        let lowercase = name.map(\.lowercased)
        return hasSecretPart(lowercase) || hasSecretWord(name, lowercase)
    }

    private func hasSecretPart(_ lowercase: [UInt8]) -> Bool {
        nameParts.contains { part in
            guard let first = part.utf8.first else { return false }
            return lowercase.indices.contains { start in
                lowercase[start] == first && lowercase[start...].starts(with: part.utf8)
            }
        }
    }

    /// Whether a word of a name is one of ``nameWords``.
    ///
    /// A word ends before a capital that follows a lower-case letter, and at any byte that is not a
    /// letter.
    ///
    /// - Parameters:
    ///   - name: The name as written.
    ///   - lowercase: The same name in lower case.
    ///   - exceptions: Words to ignore.
    private func hasSecretWord(
        _ name: ArraySlice<UInt8>, _ lowercase: [UInt8], but exceptions: [String] = []
    ) -> Bool {
        func isSecret(_ word: Range<Int>) -> Bool {
            guard !word.isEmpty else { return false }
            let text = String(decoding: lowercase[word], as: UTF8.self)
            return nameWords.contains(text) && !exceptions.contains(text)
        }
        var start = 0
        var wasLower = false
        for (index, byte) in name.enumerated() {
            let isCapital = lowercase[index] != byte
            let isLetter = byte.isAlpha || byte > 0x7F
            if !isLetter || (wasLower && isCapital) {
                if isSecret(start..<index) { return true }
                start = isLetter ? index : index + 1
            }
            wasLower = isLetter && !isCapital
        }
        return isSecret(start..<lowercase.count)
    }
}

/// Returns a percent-decoded text; a `%` without two hexadecimal digits stays as it is.
package func percentDecoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var decoded: [UInt8] = []
    var index = text.startIndex
    while index < text.endIndex {
        if text[index] == UInt8(ascii: "%"), index + 2 < text.endIndex,
            let high = text[index + 1].hexValue, let low = text[index + 2].hexValue
        {
            decoded.append(high << 4 | low)
            index += 3
        } else {
            decoded.append(text[index])
            index += 1
        }
    }
    return decoded
}
