public import OutletTransport

/// Credentials by the places they belong to; in memory only, gone with the storage.
///
/// Thread: any.
public final class CredentialStorage: Sendable {
    /// One for the whole process, for those who want sessions to share credentials.
    public static let shared = CredentialStorage()

    private struct Entry: Sendable {
        var byUser: [String: Credential] = [:]
        /// The user of the default credential.
        var first: String?
    }

    private let entries = Lock<[ProtectionSpace: Entry]>([:])

    /// An empty storage.
    public init() {}

    /// All credentials, by place and by user.
    public var allCredentials: [ProtectionSpace: [String: Credential]] {
        entries.withLock { $0.mapValues(\.byUser) }
    }

    /// The credentials of a protection space, by user name; `nil` if there is none.
    public func credentials(for space: ProtectionSpace) -> [String: Credential]? {
        entries.withLock { $0[space]?.byUser }
    }

    /// Stores a credential; the first one of a protection space becomes its default.
    public func set(_ credential: Credential, for space: ProtectionSpace) {
        entries.withLock { entries in
            entries[space, default: Entry()].byUser[credential.user] = credential
            if entries[space]?.first == nil { entries[space]?.first = credential.user }
        }
    }

    /// Removes a credential; no effect if it is not stored.
    public func remove(_ credential: Credential, for space: ProtectionSpace) {
        entries.withLock { entries in
            guard var entry = entries[space] else { return }
            entry.byUser[credential.user] = nil
            if entry.first == credential.user { entry.first = entry.byUser.keys.min() }
            entries[space] = entry.byUser.isEmpty ? nil : entry
        }
    }

    /// Stores a credential as the default of a protection space.
    public func setDefaultCredential(_ credential: Credential, for space: ProtectionSpace) {
        entries.withLock { entries in
            entries[space, default: Entry()].byUser[credential.user] = credential
            entries[space]?.first = credential.user
        }
    }

    /// The credential that answers challenges of requests without one of their own; `nil` if there
    /// is none.
    public func defaultCredential(for space: ProtectionSpace) -> Credential? {
        entries.withLock { entries in
            entries[space].flatMap { entry in entry.first.flatMap { entry.byUser[$0] } }
        }
    }

    package var isEmpty: Bool { entries.withLock { $0.isEmpty } }

    /// What answers a challenge: kept for its method, or for any.
    func answer(to space: ProtectionSpace) -> Credential? {
        defaultCredential(for: space) ?? defaultCredential(for: space.forAnyMethod)
    }
}
