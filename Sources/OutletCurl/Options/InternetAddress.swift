import Glibc

/// The bytes of an IPv4 (4) or IPv6 (16) address, for comparing networks.
struct InternetAddress: Equatable {
    private let bytes: [UInt8]

    /// Reads an address as people write it; `nil` when the text is none.
    init?(_ text: String) {
        var buffer = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &buffer) == 1 {
            bytes = Array(buffer[..<4])
        } else if inet_pton(AF_INET6, text, &buffer) == 1 {
            bytes = buffer
        } else {
            return nil
        }
    }

    /// Whether the first `bits` bits are the network's.
    func isInside(_ network: InternetAddress, bits: Int) -> Bool {
        guard bytes.count == network.bytes.count, (0...bytes.count * 8).contains(bits) else {
            return false
        }
        let whole = bits / 8
        guard bytes[..<whole] == network.bytes[..<whole] else { return false }
        guard bits % 8 > 0 else { return true }
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> (bits % 8))
        return bytes[whole] & mask == network.bytes[whole] & mask
    }
}
