package import FoundationEssentials
package import OutletHTTP
package import OutletTransport

extension AuthenticationChallenge {
    /// The challenges of a response, in the order of their fields; empty unless it is a 401 or 407.
    ///
    /// - Parameters:
    ///   - response: The response, or its head.
    ///   - proxy: Where a 407 comes from, if that is known.
    ///   - previousFailureCount: How often credentials were refused before.
    package static func challenges(
        in response: HTTPResponse, proxy: URL? = nil, previousFailureCount: Int = 0
    ) -> [AuthenticationChallenge] {
        let isProxy = response.statusCode == 407
        guard isProxy || response.statusCode == 401,
            let url = isProxy ? proxy ?? response.url : response.url,
            let place = isProxy && proxy != nil ? Place(ofProxy: url) : try? Place(Origin(url))
        else { return [] }
        let name = isProxy ? "Proxy-Authenticate" : "WWW-Authenticate"
        return response.headers.values(for: name).flatMap { parse($0) }.map { parsed in
            AuthenticationChallenge(
                protectionSpace: ProtectionSpace(
                    host: place.host, port: place.port,
                    protocol: place.scheme, realm: parsed.parameters["realm"],
                    authenticationMethod: parsed.scheme, isProxy: isProxy),
                previousFailureCount: previousFailureCount,
                parameters: parsed.parameters.filter { $0.key != "realm" })
        }
    }

    /// Where a challenge comes from.
    private struct Place {
        let scheme: String
        let host: String
        let port: Int

        init(_ origin: Origin) {
            (scheme, host, port) = (origin.scheme, origin.host, origin.port)
        }

        /// Proxies may have a scheme of their own, and where no port is written, libcurl's.
        init?(ofProxy url: URL) {
            guard let host = url.host(), let scheme = url.scheme?.lowercasedASCII else {
                return nil
            }
            self.scheme = scheme
            self.host = host
            port = url.port ?? (scheme == "https" ? 443 : 1080)
        }
    }

    /// A field's value: schemes, each with parameters, all parted by commas (RFC 9110 §11.6.1).
    static func parse(_ field: String) -> [(scheme: String, parameters: [String: String])] {
        var challenges: [(scheme: String, parameters: [String: String])] = []
        for item in field.listItems() {
            var scanner = ByteScanner(item)
            var name = word(&scanner)
            scanner.skipBlanks()
            if scanner.peek != UInt8(ascii: "=") {
                // A word that no `=` follows is a scheme; its first parameter may follow.
                challenges.append((name.lowercasedASCII, [:]))
                name = word(&scanner)
                scanner.skipBlanks()
            }
            guard !challenges.isEmpty, scanner.skip("=") else { continue }
            scanner.skipBlanks()
            let quoted = scanner.readQuotedString()
            // The quotation mark of a string that does not end is none of its value.
            if quoted == nil { _ = scanner.skip("\"") }
            // Nothing but padding: a single opaque token, as of NTLM, not a name.
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
