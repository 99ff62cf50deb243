public import FoundationEssentials

/// The IP addresses that a session may connect to; prevents requests to internal networks (SSRF).
///
/// The policy is applied to the address of each connection, after the host name was resolved, so a
/// name that resolves differently the next time (DNS rebinding) cannot bypass it. If a name has
/// several addresses, those that are not allowed are skipped. The policy also applies to redirects,
/// to WebSockets, and to open connections that another session made on the same transport.
///
/// The configured proxy and the configured Unix socket are exempt. Through a proxy, only IP
/// addresses in URLs can be checked. Host names are refused, unless the policy is ``any`` or
/// ``isEnforcedByProxy`` is set.
///
/// ```swift
/// configuration.addressPolicy = .publicOnly
/// configuration.addressPolicy = try AddressPolicy(.publicOnly, allowing: ["10.1.2.0/24"])
/// ```
public struct AddressPolicy: Sendable, Hashable {
    /// The rule for addresses that are in no network of the policy.
    public enum Base: String, Sendable, Hashable, CaseIterable {
        /// They are allowed.
        case any
        /// Only addresses of the public internet are allowed.
        case publicOnly
        /// They are refused.
        case none
    }

    /// The rule for addresses that are in no network of the policy.
    public let base: Base
    /// Networks that are allowed regardless of ``base``, unless they are denied.
    private let allowed: [AddressNetwork]
    /// Networks that are always refused.
    private let denied: [AddressNetwork]
    /// Whether the proxy itself refuses addresses that this policy does not allow; false by
    /// default.
    ///
    /// If true, host names are sent through a proxy without a check.
    public var isEnforcedByProxy = false

    /// Allows every address.
    public static let any = AddressPolicy(base: .any)
    /// Allows addresses of the public internet only.
    ///
    /// Refuses loopback, private (RFC 1918, unique local, site-local), link-local, shared
    /// (100.64.0.0/10), unspecified, multicast and broadcast addresses, those of cloud metadata
    /// services, and ranges reserved for documentation, benchmarks or other purposes. Also refuses
    /// IPv6 addresses that contain such an IPv4 address (mapped, compatible, translated, 6to4,
    /// NAT64, ISATAP), and all Teredo addresses.
    public static let publicOnly = AddressPolicy(base: .publicOnly)

    /// Makes a policy from a base rule and exceptions.
    ///
    /// An IPv4 address contained in an IPv6 address (such as 6to4) is compared with `denying`, but
    /// not with `allowing`. An IPv4-mapped address is treated as the IPv4 address.
    ///
    /// - Parameters:
    ///   - base: The rule for addresses that are in neither list.
    ///   - allowing: Addresses, or networks such as `10.1.2.0/24` and `fd12::/16`, that are allowed
    ///     regardless of `base`.
    ///   - denying: Addresses or networks that are always refused, even if `allowing` has them.
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

    /// Whether connections to an address are allowed.
    ///
    /// - Parameter address: An IPv4 or IPv6 address, such as `127.0.0.1` or `::1`.
    /// - Returns: False if the address is not allowed, or if the text is no address.
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

    /// Whether the policy allows every address.
    package var isUnrestricted: Bool { base == .any && denied.isEmpty }
}

extension AddressPolicy: CustomStringConvertible {
    /// The base and the networks, such as `publicOnly, allowing 10.1.2.0/24`.
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

/// The error of a text in an ``AddressPolicy`` that is neither an address nor a network.
public struct AddressPolicyError: Error, Sendable, Equatable, CustomStringConvertible,
    LocalizedError
{
    /// The invalid text.
    public let network: String

    /// What is wrong.
    public var description: String {
        "address policy: \(network): neither an address nor a network such as 10.0.0.0/8 or fd00::/8"
    }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}

/// A network: the addresses that start with the same bits.
private struct AddressNetwork: Sendable, Hashable, CustomStringConvertible {
    private let address: InternetAddress
    private let bits: Int

    /// Parses an address, or a network in the form `address/bits`.
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
        // In the notation of an IPv4-mapped network, the bits include the prefix of 96 bits.
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
    /// Whether the address belongs to the public internet, according to IANA's registries of
    /// special-purpose addresses.
    ///
    /// The caller has to check the IPv4 addresses in ``embedded`` too.
    fileprivate var isPublic: Bool {
        if isIPv4 { return !Self.special.contains { $0.contains(self) } }
        return Self.global.contains { $0.contains(self) }
            && !Self.special.contains { $0.contains(self) }
    }

    /// The global unicast addresses of IPv6, and the prefix of NAT64.
    private static let global = ["2000::/3", "64:ff9b::/96"].compactMap { AddressNetwork($0) }

    /// The networks of IPv4, and of the global part of IPv6, that are not public.
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
