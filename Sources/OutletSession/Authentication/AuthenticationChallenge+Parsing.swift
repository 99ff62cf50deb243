import FoundationEssentials
import OutletHTTP

extension AuthenticationChallenge {
    /// The challenges of a response, in the order of their fields; empty unless it is a 401 or 407.
    ///
    /// - Parameters:
    ///   - response: The response, or its head.
    ///   - proxy: Where a 407 comes from, if that is known.
    ///   - previousFailureCount: How often credentials were refused before.
    static func challenges(
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
            guard let host = url.host(), let scheme = url.scheme?.lowercased() else { return nil }
            self.scheme = scheme
            self.host = host
            port = url.port ?? (scheme == "https" ? 443 : 1080)
        }
    }

    /// A field's value: schemes, each with parameters, all parted by commas (RFC 9110 §11.6.1).
    static func parse(_ field: String) -> [(scheme: String, parameters: [String: String])] {
        var challenges: [(scheme: String, parameters: [String: String])] = []
        for item in items(of: field) {
            let word = item.prefix { $0 != " " && $0 != "\t" && $0 != "=" }
            var rest = item[word.endIndex...].drop { $0 == " " || $0 == "\t" }
            if rest.first != "=" {
                // A word that no `=` follows is a scheme; its first parameter may follow.
                challenges.append((word.lowercased(), [:]))
                guard !rest.isEmpty else { continue }
                let name = rest.prefix { $0 != "=" && $0 != " " && $0 != "\t" }
                rest = rest[name.endIndex...].drop { $0 == " " || $0 == "\t" }
                add(name, rest, to: &challenges)
            } else {
                add(word, rest, to: &challenges)
            }
        }
        return challenges
    }

    private static func add(
        _ name: Substring, _ rest: Substring,
        to challenges: inout [(scheme: String, parameters: [String: String])]
    ) {
        guard !challenges.isEmpty, rest.first == "=" else { return }
        let value = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
        // Nothing but padding: a single opaque token, as of NTLM, not a name.
        guard value.contains(where: { $0 != "=" }) else { return }
        challenges[challenges.count - 1].parameters[name.lowercased()] = unquoted(value)
    }

    /// What stands between commas, those in quotes excepted, without blanks around it.
    private static func items(of field: String) -> [Substring] {
        var items: [Substring] = []
        var start = field.startIndex
        var isQuoted = false
        var isEscaped = false
        func close(at end: String.Index) {
            let item = field[start..<end].drop { $0 == " " || $0 == "\t" }
            if let last = item.lastIndex(where: { $0 != " " && $0 != "\t" }) {
                items.append(item[...last])
            }
        }
        for index in field.indices {
            switch field[index] {
            case _ where isEscaped: isEscaped = false
            case "\\" where isQuoted: isEscaped = true
            case "\"": isQuoted.toggle()
            case "," where !isQuoted:
                close(at: index)
                start = field.index(after: index)
            default: break
            }
        }
        close(at: field.endIndex)
        return items
    }

    private static func unquoted(_ value: Substring) -> String {
        guard value.first == "\"" else { return String(value) }
        var text = ""
        var isEscaped = false
        for character in value.dropFirst() {
            if isEscaped {
                text.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                break
            } else {
                text.append(character)
            }
        }
        return text
    }
}
