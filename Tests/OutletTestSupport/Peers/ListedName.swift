internal import CFaults
internal import Glibc
internal import OutletSession
internal import OutletTransport

/// A host name with the addresses that a test gives it, other ones at each look-up if need be.
public final class ListedName: Sendable {
    private static let lists = Lock<[String: [String]]>([:])
    private static let answer: Void = list_addresses { name in
        guard let name else { return nil }
        let addresses = lists.withLock { lists -> String? in
            let name = String(cString: name)
            guard let list = lists[name], let first = list.first else { return nil }
            if list.count > 1 { lists[name] = Array(list.dropFirst()) }
            return first
        }
        return addresses.flatMap { strdup($0) }
    }

    /// The name.
    public let hostName = "name\(UInt64.random(in: 0 ... .max)).listed.test"

    /// Makes a name.
    ///
    /// - Parameter lookups: What each look-up finds, addresses separated by blanks; the last one is found
    ///   by all that follow.
    public init(_ lookups: String...) {
        _ = Self.answer
        Self.lists.withLock { $0[hostName] = lookups }
    }

    deinit {
        _ = Self.lists.withLock { $0.removeValue(forKey: hostName) }
    }
}
