/// Which parts of requests and responses are secrets, and what is shown in their place.
///
/// One set of rules for logs, recordings, cURL commands, error texts and the wire log. Names are
/// compared without regard to case, with their percent-encoding undone. Texts are scanned as bytes:
/// what a peer sends cannot hide a delimiter behind a combining character.
///
/// Thread: any; a value.
public struct Redaction: Sendable, Equatable {
    /// What stands for a secret.
    public var mark = "•••"

    /// Header fields whose values are secrets, in lower case.
    public var headerNames: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key",
        "x-goog-api-key", "x-auth-token", "x-csrf-token", "x-xsrf-token", "x-amz-security-token",
        "dpop", "x-amzn-oidc-data",
    ]
    /// Header fields whose values are shown although a word of their names says otherwise, in lower
    /// case; ``headerNames`` goes before.
    public var openHeaderNames: Set<String> = [
        "access-control-allow-credentials", "cache-key", "idempotency-key", "public-key-pins",
        "public-key-pins-report-only", "sec-websocket-key", "signature-input", "surrogate-key",
        "x-cache-key", "x-idempotency-key",
    ]
    /// Parts of names, in lower case: a field, parameter or member with one of them is a secret.
    public var nameParts = [
        "token", "secret", "password", "passwd", "passw", "passphrase", "passcode", "pwd", "apikey",
        "api_key", "api-key", "accesskey", "privatekey", "signature", "credential", "authorization",
        "bearer", "cookie", "sessionid", "session-id", "session_id", "sessid", "samlresponse",
    ]
    /// Words of names, in lower case: a field, parameter or member with one of them is a secret.
    ///
    /// `accessKey`, `access_key` and `access-key` are two words each; digits are no part of a word.
    /// Of a field `code` and `session` alone say nothing.
    public var nameWords: Set<String> = [
        "key", "sig", "code", "auth", "oauth", "pass", "pw", "pin", "otp", "jwt", "sid", "session",
        "csrf", "xsrf", "hmac", "assertion", "ticket", "hdnts", "hdnea", "hdntl",
    ]
    /// Whether name and password of an address are secrets.
    public var hidesUserInfo = true

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

    /// Makes the usual rules.
    public init() {}

    /// Whether no rule is left.
    package var showsEverything: Bool {
        headerNames.isEmpty && nameParts.isEmpty && nameWords.isEmpty && !hidesUserInfo
    }

    // MARK: Names

    /// Whether the value of a header field is a secret.
    ///
    /// - Parameter name: The field's name, in any case.
    public func hidesHeader(named name: String) -> Bool {
        hidesHeader(Array(name.utf8)[...])
    }

    /// Whether the value of a query or form parameter or of a JSON member is a secret.
    ///
    /// - Parameter name: The name, percent-encoded or not.
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
        // Twice encoded, because an address within an address is.
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

    /// Whether a word of a name is one of ``nameWords``; words end at capitals and at what is no
    /// letter.
    ///
    /// - Parameters:
    ///   - lowercase: The same name in lower case.
    ///   - exceptions: Words that say nothing.
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

/// A text with its percent-encoding undone; what is broken stays as it is.
func percentDecoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
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
