import FoundationEssentials
import OutletHTTP
import OutletTLS
import OutletTransport

/// The response to a Digest challenge (RFC 7616 §3.4).
///
/// Realm, nonce and opaque are hashed and sent back with the bytes received, which need not be UTF-8.
struct DigestAnswer {
    /// The field `Authorization`.
    let field: HTTPHeader

    /// The supported algorithms by their names in lower case.
    private static let algorithms: [String: MessageDigest] = [
        "md5": .md5, "sha-256": .sha256, "sha-512-256": .sha512t256,
    ]

    /// Computes the response.
    ///
    /// `nil` if the challenge needs an unsupported algorithm or `qop`, or a value contains
    /// characters that cannot be sent in a field.
    ///
    /// - Parameters:
    ///   - challenge: The server's challenge.
    ///   - credential: The user name and the password.
    ///   - method: The request's method.
    ///   - target: The path and the query of the request, as sent.
    ///   - clientNonce: An unpredictable value.
    init?(
        to challenge: AuthenticationChallenge, credential: Credential, method: String,
        target: String, clientNonce: String = randomNonce()
    ) {
        let parameters = challenge.parameters
        let name = parameters["algorithm"] ?? "MD5"
        let isSession = name.lowercasedASCII.endsWithBytes(of: "-sess")
        guard let nonce = parameters["nonce"],
            let digest = Self.algorithms[String(name.lowercasedASCII.dropLast(isSession ? 5 : 0))],
            !credential.user.utf8.contains(where: \.isControl)
        else { return nil }
        let offered = (parameters["qop"] ?? "").lowercasedASCII.listItems()
        // `auth-int` alone, which includes a hash of the body, is not supported.
        guard offered.isEmpty || offered.contains(where: { $0.hasSameBytes(as: "auth") }) else {
            return nil
        }
        func received(_ text: String) -> [UInt8] {
            challenge.isLatin1 ? text.latin1Bytes : Array(text.utf8)
        }
        func hash(_ parts: [UInt8]...) -> [UInt8] {
            Array(digest.hash(Array(parts.joined(separator: [UInt8(ascii: ":")]))).hex.utf8)
        }

        let user = Array(credential.user.utf8)
        let realm = received(challenge.protectionSpace.realm ?? "")
        let nonceBytes = received(nonce)
        let clientBytes = Array(clientNonce.utf8)
        var secret = hash(user, realm, Array(credential.password.utf8))
        if isSession { secret = hash(secret, nonceBytes, clientBytes) }
        let request = hash(Array(method.utf8), Array(target.utf8))
        let digits = String(challenge.nonceCount, radix: 16)
        let count = String(repeating: "0", count: max(0, 8 - digits.utf8.count)) + digits
        let response =
            offered.isEmpty
            ? hash(secret, nonceBytes, request)
            : hash(
                secret, nonceBytes, Array(count.utf8), clientBytes, Array("auth".utf8), request)
        var value = Array("Digest ".utf8)
        func add(_ name: String, _ text: [UInt8]) {
            if value.last != UInt8(ascii: " ") { value += Array(", ".utf8) }
            value += Array("\(name)=".utf8) + text
        }
        add("username", Self.quoted(user))
        add("realm", Self.quoted(realm))
        add("nonce", Self.quoted(nonceBytes))
        add("uri", Self.quoted(Array(target.utf8)))
        add("response", Self.quoted(response))
        if parameters["algorithm"] != nil { add("algorithm", received(name)) }
        if let opaque = parameters["opaque"] { add("opaque", Self.quoted(received(opaque))) }
        if !offered.isEmpty {
            add("qop", Array("auth".utf8))
            add("nc", Array(count.utf8))
        }
        if !offered.isEmpty || isSession { add("cnonce", Self.quoted(clientBytes)) }
        // Values that the server has chosen are sent back, so check them.
        guard value.withUnsafeBufferPointer({ isFieldValue($0) }) else { return nil }
        field = HTTPHeader(name: "Authorization", valueBytes: value)
    }

    private static func randomNonce() -> String {
        Data((0..<16).map { _ in UInt8.random(in: 0 ... .max) }).hex
    }

    /// A quoted string (RFC 9110 §5.6.4).
    private static func quoted(_ text: [UInt8]) -> [UInt8] {
        let (mark, escape) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
        return [mark] + text.flatMap { $0 == mark || $0 == escape ? [escape, $0] : [$0] } + [mark]
    }
}

extension Data {
    /// Two hexadecimal digits for each byte, in lower case.
    fileprivate var hex: String {
        var text = ""
        for byte in self {
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16)
        }
        return text
    }
}
