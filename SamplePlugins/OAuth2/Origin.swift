/// The origin of a URL: scheme, host and port.
///
/// An origin in an unusual notation equals no other, so that its requests get no token.
struct Origin: Hashable {
    /// `http` or `https`; also for `ws` and `wss`.
    let scheme: String
    private let host: String
    private let port: Int

    /// Parses `scheme://host[:port]`, optionally followed by a slash.
    init?(_ text: String) {
        guard let origin = Origin(ofAddress: text), text.hasPrefix("\(origin.scheme)://") else {
            return nil
        }
        let rest = text.utf8.dropFirst(origin.scheme.utf8.count + 3)
        let tail = rest.drop { $0 != UInt8(ascii: "/") }
        guard tail.count <= 1, !rest.contains(UInt8(ascii: "@")),
            !rest.contains(UInt8(ascii: "?")), !rest.contains(UInt8(ascii: "#"))
        else { return nil }
        self = origin
    }

    /// Makes the origin of a URL.
    init?(ofAddress text: String) {
        let bytes = Array(text.utf8)
        let colon = bytes.prefix { $0 != UInt8(ascii: ":") }
        guard bytes.dropFirst(colon.count).starts(with: "://".utf8) else { return nil }
        switch String(decoding: colon, as: UTF8.self).lowercased() {
        case "http", "ws": scheme = "http"
        case "https", "wss": scheme = "https"
        default: return nil
        }
        var server = bytes.dropFirst(colon.count + 3).prefix { byte in
            !"/?#".utf8.contains(byte)
        }
        guard !server.contains(UInt8(ascii: "\\")) else { return nil }
        if let at = server.lastIndex(of: UInt8(ascii: "@")) { server = server[(at + 1)...] }
        var name = server.prefix { $0 != UInt8(ascii: ":") }
        if server.first == UInt8(ascii: "["), let end = server.firstIndex(of: UInt8(ascii: "]")) {
            name = server[...end]
        }
        let digits = server[name.endIndex...]
        host = String(decoding: name, as: UTF8.self).lowercased()
        let isPlain = name.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-._[]:".utf8.contains(byte)
            }
        }
        guard isPlain, !name.isEmpty else { return nil }
        guard !digits.isEmpty else {
            port = scheme == "https" ? 443 : 80
            return
        }
        let number = digits.dropFirst()
        guard digits.first == UInt8(ascii: ":"), number.count <= 5,
            let port = Int(String(decoding: number, as: UTF8.self)), (1...65_535).contains(port),
            number.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        self.port = port
    }

    /// Whether others cannot read what is sent there: it is sent over TLS, or stays on this
    /// machine.
    var isPrivate: Bool {
        scheme == "https" || ["localhost", "127.0.0.1", "[::1]"].contains(host)
    }
}
