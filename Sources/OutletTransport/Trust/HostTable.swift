import OutletHTTP

/// Values by host name, by name with port, and by pattern.
///
/// A name comes before `*.example.com`, which matches subdomains of one label, and that before
/// `**.example.com`, which matches all subdomains. A longer `**` pattern comes before a shorter
/// one. Entries with a port are looked up separately, with ``value(forHost:exactPort:)``.
package struct HostTable<Value: Sendable>: Sendable {
    private let values: [String: Value]

    package init(_ values: [String: Value]) {
        self.values = .init(
            values.map { (Self.normalized($0.key), $0.value) },
            uniquingKeysWith: { first, _ in first })
    }

    package var isEmpty: Bool { values.isEmpty }

    /// Returns the value of a host among the entries without a port.
    package func value(forHost host: String) -> Value? { find(Self.normalized(host), "") }

    /// Returns the value of a host among the entries with this port.
    package func value(forHost host: String, exactPort port: Int) -> Value? {
        find(Self.normalized(host), ":\(port)")
    }

    private func find(_ host: String, _ suffix: String) -> Value? {
        let named = host.containsByte(":") && !suffix.isEmpty ? "[\(host)]" : host
        if let value = values[named + suffix] { return value }
        guard var parent = host.cut(at: ".")?.tail, !host.containsByte(":") else { return nil }
        if let value = values["*.\(parent)\(suffix)"] { return value }
        while true {
            if let value = values["**.\(parent)\(suffix)"] { return value }
            guard let next = parent.cut(at: ".")?.tail else { return nil }
            parent = next
        }
    }

    /// Returns a key with its host in canonical form, keeping the pattern's stars and the port.
    ///
    /// An IPv6 address has brackets only if a port follows.
    private static func normalized(_ key: String) -> String {
        let bytes = key.utf8
        let stars = bytes.starts(with: "**.".utf8) ? 3 : bytes.starts(with: "*.".utf8) ? 2 : 0
        let host = key[bytes.index(key.startIndex, offsetBy: stars)...]
        guard let colon = host.utf8.lastIndex(of: UInt8(ascii: ":")),
            case let name = host[..<colon], case let port = host[colon...],
            name.utf8.last == UInt8(ascii: "]") || !name.utf8.contains(UInt8(ascii: ":")),
            Int(port.dropFirst()) != nil
        else { return key[..<host.startIndex] + Origin.hostForComparison(String(host)) }
        let canonical = Origin.hostForComparison(String(name))
        let isIPv6 = canonical.utf8.contains(UInt8(ascii: ":"))
        return key[..<host.startIndex] + (isIPv6 ? "[\(canonical)]" : canonical) + port
    }
}
