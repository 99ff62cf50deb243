import FoundationEssentials
import Outlet

/// Completes an abbreviated URL from the command line.
///
/// `:3000/x` means `http://localhost:3000/x`, `host/x` means `http://host/x`, `://host` means
/// `http://host`. A user name and password are removed from the URL and stored in ``credential``.
struct AddressShorthand: Sendable, Equatable {
    var url: URL
    /// `user:password` from the URL, percent-decoded; `nil` if there is none.
    var credential: String?

    /// Parses and completes a URL; its fragment is dropped.
    ///
    /// - Parameters:
    ///   - text: The URL as written.
    ///   - query: Fields to append to the query.
    ///   - allowsFiles: Whether a `file:` URL is accepted.
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if the URL is invalid.
    init(
        _ text: String, query: [(name: String, value: String)] = [], allowsFiles: Bool = false
    ) throws(CommandError) {
        if let (scheme, rest) = AddressShorthand.tornScheme(text) {
            let meant = Redaction.standard.address("\(scheme)://\(rest.isEmpty ? "host/" : rest)")
            throw .usage("'\(scheme)' needs '://' behind it, as in \(meant)")
        }
        guard !text.startsWithBytes(of: "::") else {
            throw .usage(
                "\(Redaction.standard.address(text)): an IPv6 address without brackets",
                advice: "such as [::1]:8080/get")
        }
        var address = AddressShorthand.withScheme(text)
        credential = try AddressShorthand.takeCredential(from: &address)
        // The whole text, because a password with '#' is recognized by what follows it.
        let whole = address
        if let (head, _) = address.cut(at: "#") { address = String(head) }
        if !query.isEmpty {
            let pairs = query.map { pair in
                "\(percentEncoded(pair.name))=\(percentEncoded(pair.value))"
            }
            let joint =
                !address.containsByte("?") ? "?" : address.endsWithBytes(of: "?") ? "" : "&"
            address += joint + pairs.joined(separator: "&")
        }
        let shown = Redaction.standard.address(whole)
        if let url = URL(escaping: address), url.isFileURL {
            guard allowsFiles else {
                throw .usage(
                    "\(shown): file: addresses are not read", advice: "--allow-file allows them")
            }
            self.url = url
            return
        }
        // Before `URL`, whose failure has no reason.
        do throws(OriginError) {
            let address = try CanonicalAddress(address)
            if address.scheme != address.origin.scheme { throw .unsupportedScheme(address.scheme) }
        } catch {
            if case .invalidPort(let port, let host) = error, !port.utf8.allSatisfy(\.isDigit),
                let scheme = address.cut(around: "://")?.head, !whole.containsByte("@")
            {
                throw .usage(
                    "\(scheme)://\(host):\(Redaction.standard.mark): its port is not a number from 1 "
                        + "to 65535",
                    advice: "if it is a password, '@' and the host are missing after it")
            }
            guard case .invalidHost(let host, let reason) = error else {
                throw .usage("\(shown): \(error)")
            }
            // What is no URL may be an item, and all of it a secret.
            guard AddressShorthand.hasScheme(text) else {
                throw .usage(
                    "the URL: \(reason)",
                    advice: "the URL stands before the items, such as :8080/get")
            }
            let hidden = OriginError.invalidHost(Redaction.standard.text(host), reason: reason)
            throw .usage("\(shown): \(hidden)")
        }
        guard let url = URL(escaping: address) else { throw .usage("\(shown): not a URL") }
        self.url = url
    }

    private static func isAuthorityByte(_ byte: UInt8) -> Bool { !"/?#".utf8.contains(byte) }

    private static func withScheme(_ text: String) -> String {
        if text.startsWithBytes(of: "://") { return "http" + text }
        if text.startsWithBytes(of: "//") { return "http:" + text }
        if hasScheme(text) { return text }
        // ':3000/x' and ':/x' mean localhost.
        if text.startsWithBytes(of: ":") {
            let port = text.droppingBytes(1).prefix(whileByte: \.isDigit)
            let rest = text.droppingBytes(port.utf8.count + 1)
            if let first = rest.utf8.first, isAuthorityByte(first) { return "http://" + text }
            return "http://localhost" + (port.isEmpty ? "" : ":\(port)") + rest
        }
        return "http://" + text
    }

    /// Whether a text begins with a scheme and `://` (RFC 3986 §3.1).
    private static func hasScheme(_ text: String) -> Bool {
        guard let (scheme, _) = text.cut(around: "://") else { return false }
        return scheme.utf8.first?.isAlpha == true
            && scheme.utf8.allSatisfy { $0.isAlpha || $0.isDigit || "+-.".utf8.contains($0) }
    }

    /// Returns the scheme and the rest of a URL whose `://` is incomplete, such as `https:host` or
    /// `https//host`.
    ///
    /// Otherwise `https` would be taken for a host name, and a password after it would not be
    /// recognized as a secret. A digit after the colon is a port, so the word is a host name.
    private static func tornScheme(_ text: String) -> (scheme: Substring, rest: Substring)? {
        let scheme = text.prefix(whileByte: \.isAlpha)
        let rest = text.droppingBytes(scheme.utf8.count)
        guard !hasScheme(text), schemes.contains(String(scheme).lowercasedASCII),
            rest.startsWithBytes(of: "//")
                || rest.startsWithBytes(of: ":") && rest.utf8.dropFirst().first?.isDigit != true
        else { return nil }
        return (scheme, Substring(rest.utf8.drop { ":/".utf8.contains($0) }))
    }

    private static let schemes: Set<String> = ["http", "https", "ws", "wss", "file"]

    private static func takeCredential(
        from address: inout String
    ) throws(CommandError) -> String? {
        guard let (scheme, rest) = address.cut(around: "://") else { return nil }
        let authority = rest.prefix(whileByte: isAuthorityByte)
        guard let (credential, _) = authority.cutAtLast("@") else { return nil }
        address = "\(scheme)://\(rest.droppingBytes(credential.utf8.count + 1))"
        let (encodedUser, encodedPassword) = credential.cut(at: ":") ?? (credential, "")
        func decoded(_ text: Substring) -> String? {
            String(validating: percentDecoded(Array(text.utf8)[...]), as: UTF8.self)
        }
        guard let user = decoded(encodedUser), let password = decoded(encodedPassword) else {
            throw .usage(
                "\(Redaction.standard.address(address)): its user name or password is not UTF-8")
        }
        guard !user.isEmpty || !password.isEmpty else { return nil }
        if let fault = Credential(user: user, password: password).fault {
            throw .usage("\(Redaction.standard.address(address)): \(fault)")
        }
        return "\(user):\(password)"
    }
}

/// Percent-encodes a text for a query: all but unreserved characters (RFC 3986 §2.3).
func percentEncoded(_ text: String) -> String {
    escaped(text) { "-._~".utf8.contains($0) }
}

/// Encodes a text for a form; spaces become `+` (`application/x-www-form-urlencoded` in the URL
/// standard).
func formEncoded(_ text: String) -> String {
    escaped(text) { "-._* ".utf8.contains($0) }.parts(separatedBy: " ").joined(separator: "+")
}

private func escaped(_ text: String, keeping isKept: (UInt8) -> Bool) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
        if byte.isAlpha || byte.isDigit || isKept(byte) {
            bytes.append(byte)
        } else {
            bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
