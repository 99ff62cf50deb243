import FoundationEssentials
import OutletHTTP

/// A permission of a plugin: `net:HOST`, `net:HOST:PORT` or `env:NAME`.
///
/// A host is a name, an IP address (IPv6 in brackets), `*.` and a name for all names below it, or
/// `*` for all hosts. Without a port, all ports are included. Hosts are compared in normalized
/// form, as in `Origin`: letter case, trailing dots and non-ASCII spellings make no difference.
public struct Permission: Sendable, Hashable {
    private enum Scope: Sendable, Hashable {
        case network(Hosts, port: Int?)
        case variable(String)
    }

    private enum Hosts: Sendable, Hashable {
        case all
        case under(String)
        case one(String)
    }

    /// Why a text is not a permission.
    public enum Invalid: Error, Sendable, Equatable {
        /// The part before the colon is missing or not known to this host.
        case unknownKind(String)
        /// The kind is known, but the rest is malformed.
        case malformed(String, reason: String)
    }

    private let scope: Scope

    /// Parses a permission.
    ///
    /// - Parameter text: The text, such as `net:*.example.com:443`, `net:localhost` or `env:HOME`.
    /// - Throws: ``Invalid/unknownKind(_:)`` or ``Invalid/malformed(_:reason:)``.
    public init(_ text: String) throws(Invalid) {
        guard let (kind, rest) = text.cut(at: ":") else { throw .unknownKind(text) }
        switch kind {
        case "net": scope = try Permission.network(String(rest), text)
        case "env":
            guard !rest.isEmpty, !rest.utf8.contains(where: { $0 == UInt8(ascii: "=") || $0 == 0 })
            else { throw .malformed(text, reason: "no name of a variable") }
            scope = .variable(String(rest))
        default: throw .unknownKind(text)
        }
    }

    private static func network(_ text: String, _ whole: String) throws(Invalid) -> Scope {
        func malformed(_ reason: String) -> Invalid { .malformed(whole, reason: reason) }
        var host = text
        var hosts: (String) -> Hosts = { .one($0) }
        if text == "*" || text.startsWithBytes(of: "*:") {
            // A placeholder host, so that the port is parsed as part of a URL.
            host = "all" + text.droppingBytes(1)
            hosts = { _ in .all }
        } else if text.startsWithBytes(of: "*.") {
            host = String(text.droppingBytes(2))
            hosts = { .under($0) }
        }
        // Only a host and a port: other parts of a URL would be parsed as well.
        let others = Set("/?#@\\ \t\r\n%*".utf8)
        guard !host.isEmpty, !host.utf8.contains(where: others.contains) else {
            throw malformed("not of the form HOST or HOST:PORT")
        }
        let origins: [Origin]
        do {
            // Parsed with two schemes: an explicit port is the same with both.
            origins = try ["http", "https"].map { scheme in
                guard let url = URL(string: "\(scheme)://\(host)/") else {
                    throw OriginError.noHost
                }
                return try Origin(url)
            }
        } catch {
            throw malformed("\(error)")
        }
        guard let origin = origins.first, let other = origins.last else {
            throw malformed("no host")
        }
        let result = hosts(origin.host)
        if case .under = result, origin.isAddress {
            throw malformed("an IP address has no names below it")
        }
        return .network(result, port: origin.port == other.port ? origin.port : nil)
    }

    // MARK: What it allows

    /// Whether this permission includes another.
    ///
    /// - Parameter other: The permission that is asked for; of another kind, it is never included.
    public func covers(_ other: Permission) -> Bool {
        switch (scope, other.scope) {
        case (.variable(let name), .variable(let wanted)): name.hasSameBytes(as: wanted)
        case (.network(let hosts, let port), .network(let wanted, let wantedPort)):
            (port == nil || port == wantedPort) && Permission.covers(hosts, wanted)
        default: false
        }
    }

    private static func covers(_ hosts: Hosts, _ wanted: Hosts) -> Bool {
        switch (hosts, wanted) {
        case (.all, _): true
        case (.under(let domain), .under(let name)):
            domain == name || Origin.isName(name, under: domain)
        case (.under(let domain), .one(let host)): Origin.isName(host, under: domain)
        case (.one(let host), .one(let name)): host == name
        default: false
        }
    }

    /// Whether it allows sending requests to a server.
    func allowsNetwork(to origin: Origin) -> Bool {
        guard case .network(let hosts, let port) = scope else { return false }
        return (port == nil || port == origin.port) && Permission.covers(hosts, .one(origin.host))
    }

    /// Whether it allows reading an environment variable.
    func allowsVariable(_ name: String) -> Bool {
        guard case .variable(let own) = scope else { return false }
        return own.hasSameBytes(as: name)
    }

    /// Whether it is a network permission.
    var isOfNetwork: Bool {
        if case .network = scope { true } else { false }
    }
}

extension Permission: CustomStringConvertible {
    /// The permission in canonical form.
    public var description: String {
        switch scope {
        case .variable(let name): "env:\(name)"
        case .network(let hosts, let port):
            "net:" + Permission.text(hosts) + (port.map { ":\($0)" } ?? "")
        }
    }

    private static func text(_ hosts: Hosts) -> String {
        switch hosts {
        case .all: "*"
        case .under(let domain): "*.\(domain)"
        case .one(let host): host.containsByte(":") ? "[\(host)]" : host
        }
    }
}

extension Permission.Invalid: CustomStringConvertible {
    /// The text and what is wrong with it.
    public var description: String {
        switch self {
        case .unknownKind(let text):
            "'\(ConfigurationViolation.shortened(text))' is no permission that this host knows: "
                + "there are net:HOST, net:HOST:PORT and env:NAME"
        case .malformed(let text, let reason):
            "'\(ConfigurationViolation.shortened(text))' is no permission: \(reason)"
        }
    }
}
