/// Which addresses a session connects to: a defence against requests to one's own network (SSRF).
///
/// A host is judged by the address that a connection is made to, after its name was looked up: a
/// name that leads somewhere else the next time does not get around it. Each address that a name
/// has is judged by itself, and the first that is allowed and answers is used. It holds for every
/// hop of a redirect and for WebSockets; a connection that another session has made over the same
/// transport is used only if its address is allowed.
///
/// The configured proxy and the configured Unix socket themselves are exempt. Through a proxy only
/// addresses in the URL can be judged: names are refused, unless the policy is ``any`` or
/// ``isEnforcedByProxy`` is set.
///
/// ```swift
/// configuration.addressPolicy = .publicOnly
/// configuration.addressPolicy = try AddressPolicy(.publicOnly, allowing: ["10.1.2.0/24"])
/// ```
public struct AddressPolicy: Sendable, Hashable {
    /// What becomes of addresses that no network of the policy names.
    public enum Base: String, Sendable, Hashable, CaseIterable {
        /// They are allowed.
        case any
        /// They are allowed if they are addresses of the public internet.
        case publicOnly
        /// They are refused.
        case none
    }

    /// What becomes of addresses that no network names.
    public let base: Base
    /// Networks that are allowed whatever ``base`` says.
    private let allowed: [AddressNetwork]
    /// Networks that are refused in any case.
    private let denied: [AddressNetwork]
    /// Whether the proxy refuses such addresses by itself, so that names may be left to it; off by
    /// default.
    public var isEnforcedByProxy = false

    /// Allows every address.
    public static let any = AddressPolicy(base: .any)
    /// Allows addresses of the public internet only.
    ///
    /// Refused are loopback, private (RFC 1918, unique local, site-local), link-local, shared
    /// (100.64/10) and unspecified addresses, those of clouds' metadata services, multicast,
    /// broadcast, and what is reserved, for benchmarks or for documentation; and IPv6 addresses
    /// that have one of these inside (mapped, compatible, translated, 6to4, NAT64, ISATAP), or that
    /// belong to Teredo.
    public static let publicOnly = AddressPolicy(base: .publicOnly)

    /// Makes a policy of a base and exceptions from it.
    ///
    /// An address of IPv4 inside one of IPv6 counts for `denying`, but not for `allowing`; an
    /// IPv4-mapped address is the IPv4 address.
    ///
    /// - Parameters:
    ///   - base: What becomes of addresses that no network names.
    ///   - allowing: Addresses, or networks such as `10.1.2.0/24` and `fd12::/16`, that are allowed
    ///     whatever `base` says.
    ///   - denying: The same, refused in any case.
    /// - Throws: ``AddressPolicyError`` for a text that is neither an address nor a network.
    public init(
        _ base: Base, allowing: [String] = [], denying: [String] = []
    ) throws(AddressPolicyError) {
        self.base = base
        allowed = try Self.networks(allowing)
        denied = try Self.networks(denying)
    }

    private init(base: Base) {
        self.base = base
        allowed = []
        denied = []
    }

    private static func networks(_ texts: [String]) throws(AddressPolicyError) -> [AddressNetwork] {
        var networks: [AddressNetwork] = []
        for text in texts {
            guard let network = AddressNetwork(text) else {
                throw AddressPolicyError(network: text)
            }
            networks.append(network)
        }
        return networks
    }

    /// Whether an address may be connected to.
    ///
    /// - Parameter address: An IPv4 or IPv6 address, such as `127.0.0.1` or `::1`.
    /// - Returns: False for a text that is no address as well.
    public func allows(_ address: String) -> Bool {
        InternetAddress(address).map { allows($0) } ?? false
    }

    package func allows(_ address: InternetAddress) -> Bool {
        let forms = [address] + address.embedded
        if denied.contains(where: { network in forms.contains { network.contains($0) } }) {
            return false
        }
        if allowed.contains(where: { $0.contains(address) }) { return true }
        switch base {
        case .any: return true
        case .none: return false
        case .publicOnly: return forms.allSatisfy { $0.isPublic }
        }
    }

    /// Whether nothing is refused.
    package var isUnrestricted: Bool { base == .any && denied.isEmpty }
}

extension AddressPolicy: CustomStringConvertible {
    /// The base, and the networks: `publicOnly, allowing 10.1.2.0/24`.
    public var description: String {
        var text = base.rawValue
        if !allowed.isEmpty {
            text += ", allowing " + allowed.map(\.description).joined(separator: " ")
        }
        if !denied.isEmpty {
            text += ", denying " + denied.map(\.description).joined(separator: " ")
        }
        return text
    }
}

/// A text in an ``AddressPolicy`` is neither an address nor a network.
public struct AddressPolicyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text.
    public let network: String

    /// What is wrong.
    public var description: String {
        "address policy: \(network): neither an address nor a network such as 10.0.0.0/8 or fd00::/8"
    }
}

/// The addresses that begin with the same bits.
private struct AddressNetwork: Sendable, Hashable, CustomStringConvertible {
    private let address: InternetAddress
    private let bits: Int

    /// Reads an address, or a network as `address/bits`.
    init?(_ text: String) {
        let bytes = text.utf8
        let slash = bytes.firstIndex(of: UInt8(ascii: "/"))
        let prefix = String(Substring(bytes[..<(slash ?? bytes.endIndex)]))
        guard let address = InternetAddress(prefix) else { return nil }
        self.address = address
        let whole = address.isIPv4 ? 32 : 128
        guard let slash else {
            bits = whole
            return
        }
        let digits = bytes[bytes.index(after: slash)...]
        let areDigits = digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard areDigits, var bits = Int(Substring(digits)) else { return nil }
        // The network of a mapped address counts its first 96 bits as well.
        if address.isIPv4, prefix.utf8.contains(UInt8(ascii: ":")) { bits -= 96 }
        guard (0...whole).contains(bits) else { return nil }
        self.bits = bits
    }

    func contains(_ address: InternetAddress) -> Bool {
        address.isInside(self.address, bits: bits)
    }

    var description: String {
        bits == (address.isIPv4 ? 32 : 128) ? "\(address)" : "\(address)/\(bits)"
    }
}

extension InternetAddress {
    /// Whether an address belongs to the public internet (IANA's registries of special-purpose
    /// addresses); the IPv4 addresses inside an IPv6 one are to be asked for themselves.
    fileprivate var isPublic: Bool {
        if isIPv4 { return !Self.special.contains { $0.contains(self) } }
        return Self.global.contains { $0.contains(self) }
            && !Self.special.contains { $0.contains(self) }
    }

    /// What is handed out of IPv6, and the prefix of NAT64.
    private static let global = ["2000::/3", "64:ff9b::/96"].compactMap { AddressNetwork($0) }

    /// What is not for everybody, of IPv4 and of the global part of IPv6.
    private static let special = [
        "0.0.0.0/8",  // this network
        "10.0.0.0/8",  // private
        "100.64.0.0/10",  // shared
        "127.0.0.0/8",  // loopback
        "168.63.129.16",  // Azure's metadata
        "169.254.0.0/16",  // link-local, metadata
        "172.16.0.0/12",  // private
        "192.0.0.0/24",  // protocols, metadata
        "192.0.2.0/24",  // documentation
        "192.88.99.0/24",  // relays of 6to4
        "192.168.0.0/16",  // private
        "198.18.0.0/15",  // benchmarks
        "198.51.100.0/24",  // documentation
        "203.0.113.0/24",  // documentation
        "224.0.0.0/4",  // multicast
        "240.0.0.0/4",  // reserved, broadcast
        "2001::/23",  // protocols: Teredo, ORCHID, benchmarks
        "2001:db8::/32",  // documentation
        "3fff::/20",  // documentation
    ].compactMap { AddressNetwork($0) }
}
