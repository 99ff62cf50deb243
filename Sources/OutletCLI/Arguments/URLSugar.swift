import FoundationEssentials
import Outlet

/// Makes a full address of what people type.
///
/// `:3000/x` is `http://localhost:3000/x`, `host/x` is `http://host/x`, `://host` is
/// `http://host`. A name and a password in the address are taken out, for the credential.
struct URLSugar: Sendable, Equatable {
    var url: URL
    /// `user:password` from the address, its escapes undone.
    var credential: String?

    /// - Parameter allowsFiles: Whether a `file:` address is one.
    init(
        _ text: String, query: [(name: String, value: String)] = [], allowsFiles: Bool = false
    ) throws(CommandError) {
        var address = URLSugar.withScheme(text)
        credential = URLSugar.takeCredential(from: &address)
        if let fragment = address.firstIndex(of: "#") { address = String(address[..<fragment]) }
        if !query.isEmpty {
            let pairs = query.map { pair in
                "\(percentEncoded(pair.name))=\(percentEncoded(pair.value))"
            }
            let joint = !address.contains("?") ? "?" : address.hasSuffix("?") ? "" : "&"
            address += joint + pairs.joined(separator: "&")
        }
        let shown = Redaction.standard.address(address)
        if let url = URL(string: address), url.isFileURL {
            guard allowsFiles else {
                throw .usage(
                    "\(shown): file: addresses are not read", advice: "--allow-file allows them")
            }
            self.url = url
            return
        }
        try URLSugar.checkAuthority(of: address, shown)
        guard let url = URL(string: address), let scheme = url.scheme else {
            throw .usage("\(shown): not a URL")
        }
        guard ["http", "https"].contains(scheme.lowercased()) else {
            throw .usage("\(shown): scheme '\(scheme)': only http and https are spoken")
        }
        guard url.host()?.isEmpty == false else { throw .usage("\(shown): has no host") }
        self.url = url
    }

    /// Refuses what no name service would find, before anybody asks one.
    private static func checkAuthority(of address: String, _ shown: String) throws(CommandError) {
        guard let scheme = address.firstRange(of: "://") else { return }
        let authority = address[scheme.upperBound...].prefix { !"/?#".contains($0) }
        // An address in brackets is left to the parser.
        guard !authority.hasPrefix("[") else { return }
        let host = authority.prefix { $0 != ":" }
        guard !host.isEmpty else { throw .usage("\(shown): has no host") }
        guard host.utf8.allSatisfy({ isHostByte($0) }) else {
            throw .usage(
                "\(shown): a host is made of ASCII letters, digits, '-' and '.'",
                advice: "names in other scripts have a form that begins with xn--")
        }
        let port = authority.dropFirst(host.utf8.count + 1)
        guard port.isEmpty || UInt16(port) != nil else {
            throw .usage("\(shown): port \(port): not a number from 0 to 65535")
        }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func withScheme(_ text: String) -> String {
        if text.hasPrefix("://") { return "http" + text }
        if text.hasPrefix("//") { return "http:" + text }
        if hasScheme(text) { return text }
        // ':3000/x' and ':/x' are on this machine; '::1' would be an address without its brackets.
        if text.hasPrefix(":"), !text.hasPrefix("::") {
            let port = text.dropFirst().prefix { $0.isASCII && $0.isNumber }
            let rest = text.dropFirst(port.count + 1)
            guard rest.first.map({ "/?#".contains($0) }) ?? true else { return "http://" + text }
            return "http://localhost" + (port.isEmpty ? "" : ":\(port)") + rest
        }
        return "http://" + text
    }

    /// Whether a text begins with a scheme and `://` (RFC 3986 §3.1).
    private static func hasScheme(_ text: String) -> Bool {
        guard let end = text.firstRange(of: "://")?.lowerBound, let first = text.first else {
            return false
        }
        return first.isASCII && first.isLetter
            && text[..<end].allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0))
            }
    }

    private static func takeCredential(from address: inout String) -> String? {
        guard let scheme = address.firstRange(of: "://") else { return nil }
        let authority = address[scheme.upperBound...].prefix { !"/?#".contains($0) }
        guard let at = authority.lastIndex(of: "@") else { return nil }
        let parsed = URL(string: "http://\(authority[...at])host")
        address.removeSubrange(scheme.upperBound...at)
        guard let user = parsed?.user(percentEncoded: false) else { return nil }
        return "\(user):\(parsed?.password(percentEncoded: false) ?? "")"
    }
}

/// A text for a query: all but unreserved characters escaped (RFC 3986 §2.3).
func percentEncoded(_ text: String) -> String {
    escaped(text) { byte in
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }
}

/// A text for a form: blanks are `+` (the URL standard's application/x-www-form-urlencoded).
func formEncoded(_ text: String) -> String {
    escaped(text) { byte in
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "*"),
            UInt8(ascii: " "):
            true
        default: false
        }
    }.replacing(" ", with: "+")
}

private func escaped(_ text: String, keeping isKept: (UInt8) -> Bool) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            bytes.append(byte)
        case _ where isKept(byte): bytes.append(byte)
        default:
            bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
