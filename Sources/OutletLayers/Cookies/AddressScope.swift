import Glibc
import OutletHTTP

/// The URLs to which a remembered value applies: one URL, or all URLs of a server.
struct AddressScope: Sendable {
    /// The maximum length of a URL in bytes; longer ones are not remembered.
    private static let longest = 2048

    /// The whole URL, or scheme and authority, as written.
    private let text: [UInt8]
    /// Whether the path does not matter.
    private let isServer: Bool

    /// Makes the scope of a value.
    ///
    /// - Parameters:
    ///   - address: The URL for which the value was computed.
    ///   - dependsOnPath: Whether the value is different for other paths of the server.
    /// - Returns: `nil` if the URL is too long, or may contain a password.
    init?(_ address: String, dependsOnPath: Bool) {
        guard address.utf8.count <= Self.longest, let server = address.server else { return nil }
        isServer = !dependsOnPath
        text = Array(isServer ? server.utf8 : address[...].utf8)
    }

    /// Whether the value applies to a URL.
    func contains(_ address: String) -> Bool {
        address.utf8.withContiguousStorageIfAvailable { address in
            guard address.count >= text.count, let start = address.baseAddress,
                memcmp(start, text, text.count) == 0
            else { return false }
            guard isServer, address.count > text.count else { return address.count == text.count }
            switch address[text.count] {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return true
            default: return false
            }
        } ?? false
    }
}
