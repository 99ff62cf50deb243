import FoundationEssentials
import OutletHTTP
import OutletTLS
import OutletTransport

/// The response to a Digest challenge (RFC 7616 §3.4).
struct DigestAnswer {
    /// The value of `Authorization`.
    let field: String

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
        func hash(_ parts: String...) -> String { digest.hash(parts.joined(separator: ":")).hex }

        let realm = challenge.protectionSpace.realm ?? ""
        var secret = hash(credential.user, realm, credential.password)
        if isSession { secret = hash(secret, nonce, clientNonce) }
        let request = hash(method, target)
        let digits = String(challenge.nonceCount, radix: 16)
        let count = String(repeating: "0", count: max(0, 8 - digits.utf8.count)) + digits
        let response =
            offered.isEmpty
            ? hash(secret, nonce, request)
            : hash(secret, nonce, count, clientNonce, "auth", request)
        var items = [
            "username=\(Self.quoted(credential.user))", "realm=\(Self.quoted(realm))",
            "nonce=\(Self.quoted(nonce))", "uri=\(Self.quoted(target))",
            "response=\"\(response)\"",
        ]
        if parameters["algorithm"] != nil { items.append("algorithm=\(name)") }
        if let opaque = parameters["opaque"] { items.append("opaque=\(Self.quoted(opaque))") }
        if !offered.isEmpty { items += ["qop=auth", "nc=\(count)"] }
        if !offered.isEmpty || isSession { items.append("cnonce=\(Self.quoted(clientNonce))") }
        let field = "Digest " + items.joined(separator: ", ")
        // Values that the server has chosen are sent back, so check them.
        guard isFieldValue(field) else { return nil }
        self.field = field
    }

    private static func randomNonce() -> String {
        Data((0..<16).map { _ in UInt8.random(in: 0 ... .max) }).hex
    }

    /// A quoted string (RFC 9110 §5.6.4).
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
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
