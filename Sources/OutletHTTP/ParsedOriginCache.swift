import Glibc
import Synchronization

/// The origins of the addresses that were looked at last, by scheme and server as they are written.
///
/// Every layer asks for the origin of the same few addresses: parsed each time, they cost a request
/// with a cookie a fifth of its instructions (`Benchmarks/count cookie`). Nothing is kept of an address
/// with user info, nor anything that stands behind the server.
final class ParsedOriginCache: Sendable {
    static let shared = ParsedOriginCache()

    private struct Entry {
        let server: [UInt8]
        let origin: Origin
    }

    private static let limit = 4
    /// The last one found is the first.
    private let entries = Mutex<[Entry]>([])

    /// The origin of an address, if it is known.
    func origin(of address: String) -> Origin? {
        withServer(of: address) { server in
            entries.withLock { entries in
                guard let index = entries.firstIndex(where: { $0.server.equals(server) }) else {
                    return nil
                }
                if index > 0 { entries.swapAt(0, index) }
                return entries[0].origin
            }
        }
    }

    /// Keeps the origin of an address in place of the one that was looked at least.
    func keep(_ origin: Origin, of address: String) {
        _ = withServer(of: address) { server -> Origin? in
            let entry = Entry(server: Array(server), origin: origin)
            entries.withLock { entries in
                if entries.count == Self.limit { entries.removeLast() }
                entries.insert(entry, at: 0)
            }
            return nil
        }
    }

    /// Calls with scheme and server of an address, unless they are written in an unusual way.
    private func withServer(
        of address: String, _ body: (UnsafeBufferPointer<UInt8>) -> Origin?
    ) -> Origin? {
        let found = address.utf8.withContiguousStorageIfAvailable { bytes -> Origin? in
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes.count > colon + 3,
                bytes[colon + 1] == UInt8(ascii: "/"), bytes[colon + 2] == UInt8(ascii: "/")
            else { return nil }
            var end = colon + 3
            scan: while end < bytes.count {
                switch bytes[end] {
                case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): break scan
                case UInt8(ascii: "@"), UInt8(ascii: "\\"): return nil
                default: end += 1
                }
            }
            return body(UnsafeBufferPointer(rebasing: bytes[..<end]))
        }
        return found ?? nil
    }
}

extension [UInt8] {
    fileprivate func equals(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count, let theirs = other.baseAddress else { return false }
        return withUnsafeBytes { own in
            own.baseAddress.map { memcmp($0, theirs, other.count) == 0 } ?? true
        }
    }
}
