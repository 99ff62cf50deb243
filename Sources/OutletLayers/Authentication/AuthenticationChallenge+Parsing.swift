package import FoundationEssentials
package import OutletHTTP
package import OutletTransport

extension AuthenticationChallenge {
    /// Returns the challenges of a response, in the order of their fields.
    ///
    /// - Parameters:
    ///   - response: The response, or its head.
    ///   - proxy: The URL of the proxy that sent a 407, if it is known.
    ///   - previousFailureCount: How many times the request was refused with credentials before.
    /// - Returns: The challenges; empty unless the status is 401 or 407.
    package static func challenges(
        in response: HTTPResponse, proxy: URL? = nil, previousFailureCount: Int = 0
    ) -> [AuthenticationChallenge] {
        let isProxy = response.statusCode == 407
        guard isProxy || response.statusCode == 401,
            let url = isProxy ? proxy ?? response.url : response.url,
            let place = isProxy && proxy != nil ? Place(ofProxy: url) : try? Place(Origin(url))
        else { return [] }
        let name = isProxy ? "Proxy-Authenticate" : "WWW-Authenticate"
        let fields = response.headers.filter { $0.name.equalsIgnoringCase(name) }
        return fields.flatMap { field in parse(field.value).map { ($0, field.isLatin1) } }.map {
            parsed, isLatin1 in
            var challenge = AuthenticationChallenge(
                protectionSpace: ProtectionSpace(
                    host: place.host, port: place.port,
                    protocol: place.scheme, realm: parsed.parameters["realm"],
                    authenticationMethod: parsed.scheme, isProxy: isProxy),
                previousFailureCount: previousFailureCount,
                parameters: parsed.parameters.filter { $0.key != "realm" })
            challenge.isLatin1 = isLatin1
            return challenge
        }
    }

    /// The server or proxy that sent a challenge.
    private struct Place {
        let scheme: String
        let host: String
        let port: Int

        init(_ origin: Origin) {
            (scheme, host, port) = (origin.scheme, origin.host, origin.port)
        }

        /// Uses the proxy's own scheme, and libcurl's default port (1080, for https 443) if the URL
        /// has none.
        init?(ofProxy url: URL) {
            guard let host = url.host(), let scheme = url.scheme?.lowercasedASCII else {
                return nil
            }
            self.scheme = scheme
            self.host = host
            port = url.port ?? (scheme == "https" ? 443 : 1080)
        }
    }

    /// Parses a field's value: a list of schemes and parameters, separated by commas (RFC 9110
    /// §11.6.1).
    ///
    /// - Parameter field: The value of a `WWW-Authenticate` or `Proxy-Authenticate` field.
    /// - Returns: The challenges; schemes and parameter names are in lower case.
    static func parse(_ field: String) -> [(scheme: String, parameters: [String: String])] {
        var challenges: [(scheme: String, parameters: [String: String])] = []
        for item in field.listItems() {
            var scanner = ByteScanner(item)
            var name = word(&scanner)
            scanner.skipBlanks()
            if scanner.peek != UInt8(ascii: "=") {
                // A word that is not followed by `=` is a scheme; its first parameter may follow.
                challenges.append((name.lowercasedASCII, [:]))
                name = word(&scanner)
                scanner.skipBlanks()
            }
            guard !challenges.isEmpty, scanner.skip("=") else { continue }
            scanner.skipBlanks()
            let quoted = scanner.readQuotedString()
            // The opening quotation mark of a string without an end is not part of the value.
            if quoted == nil { _ = scanner.skip("\"") }
            // If only `=` remains, the word was a token68, as with NTLM, not a parameter name.
            guard quoted != nil || scanner.rest.utf8.contains(where: { $0 != UInt8(ascii: "=") })
            else { continue }
            challenges[challenges.count - 1].parameters[name.lowercasedASCII] =
                quoted ?? String(scanner.rest)
        }
        return challenges
    }

    private static func word(_ scanner: inout ByteScanner) -> Substring {
        scanner.read { !$0.isBlank && $0 != UInt8(ascii: "=") }
    }
}
