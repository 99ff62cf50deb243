internal import CFaults
internal import Glibc
internal import OutletSession
internal import OutletTransport

/// A host name that resolves to the addresses a test lists, which may differ for each look-up.
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

    /// The host name, unique in this process.
    public let hostName = "name\(UInt64.random(in: 0 ... .max)).listed.test"

    /// Makes a name that resolves until this object is released.
    ///
    /// - Parameter lookups: The result of each look-up in order, addresses separated by blanks. All
    ///   further look-ups return the last one.
    public init(_ lookups: String...) {
        _ = Self.answer
        Self.lists.withLock { $0[hostName] = lookups }
    }

    deinit {
        _ = Self.lists.withLock { $0.removeValue(forKey: hostName) }
    }
}
