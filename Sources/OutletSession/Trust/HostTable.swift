/// Values by host: names, names with a port, and patterns.
///
/// `host:port` goes before `host`, that before `*.example.com`, which covers one label, and that
/// before `**.example.com`, which covers any number of them; of patterns the longest counts.
struct HostTable<Value: Sendable>: Sendable {
    private let values: [String: Value]

    init(_ values: [String: Value]) {
        self.values = .init(
            values.map { (Self.normalized($0.key), $0.value) },
            uniquingKeysWith: { first, _ in first })
    }

    var isEmpty: Bool { values.isEmpty }

    /// What belongs to a host at whatever port.
    func value(forHost host: String) -> Value? { find(Self.normalized(host), "") }

    /// What belongs to a host at just this port.
    func value(forHost host: String, exactPort port: Int) -> Value? {
        find(Self.normalized(host), ":\(port)")
    }

    private func find(_ host: String, _ suffix: String) -> Value? {
        let named = host.contains(":") && !suffix.isEmpty ? "[\(host)]" : host
        if let value = values[named + suffix] { return value }
        guard var dot = host.firstIndex(of: "."), !host.contains(":") else { return nil }
        if let value = values["*" + host[dot...] + suffix] { return value }
        while true {
            if let value = values["**" + host[dot...] + suffix] { return value }
            guard let next = host[host.index(after: dot)...].firstIndex(of: ".") else { return nil }
            dot = next
        }
    }

    /// Lower case, without a dot at the end or brackets around an address that has no port.
    private static func normalized(_ host: String) -> String {
        var name = host.lowercased()
        if name.hasSuffix("."), name.count > 1 { name.removeLast() }
        if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
        return name
    }
}
