public import OutletTransport

/// Credentials by protection space, kept in memory only.
///
/// Thread: any.
public final class CredentialStorage: Sendable {
    /// A storage for the whole process, for sessions that share credentials.
    public static let shared = CredentialStorage()

    private struct Entry: Sendable {
        var byUser: [String: Credential] = [:]
        /// The user of the default credential.
        var first: String?
    }

    private struct State: Sendable {
        var entries: [ProtectionSpace: Entry] = [:]
        /// The number of changes after which another credential may be sent.
        var changes = 0

        /// Stores a credential; the first one of a protection space becomes its default.
        mutating func set(
            _ credential: Credential, for space: ProtectionSpace, asDefault: Bool
        ) {
            var entry = entries[space] ?? Entry()
            let former = entry.first.flatMap { entry.byUser[$0] }
            entry.byUser[credential.user] = credential
            if asDefault || entry.first == nil { entry.first = credential.user }
            entries[space] = entry
            if entry.first.flatMap({ entry.byUser[$0] }) != former { changes += 1 }
        }
    }
    private let state = Lock(State())

    /// Makes an empty storage.
    public init() {}

    /// All credentials, by protection space and user name.
    public var allCredentials: [ProtectionSpace: [String: Credential]] {
        state.withLock { $0.entries.mapValues(\.byUser) }
    }

    /// Returns the credentials of a protection space.
    ///
    /// - Parameter space: The protection space.
    /// - Returns: The credentials by user name; `nil` if there are none.
    public func credentials(for space: ProtectionSpace) -> [String: Credential]? {
        state.withLock { $0.entries[space]?.byUser }
    }

    /// Stores a credential; the first one of a protection space becomes its default.
    ///
    /// Replaces the credential of the same user.
    ///
    /// - Parameters:
    ///   - credential: The credential.
    ///   - space: The protection space.
    public func set(_ credential: Credential, for space: ProtectionSpace) {
        state.withLock { $0.set(credential, for: space, asDefault: false) }
    }

    /// Removes the credential of a user; no effect if none is stored.
    ///
    /// If it was the default, the first remaining user name in alphabetical order becomes the
    /// default.
    ///
    /// - Parameters:
    ///   - credential: Its user name selects the credential to remove.
    ///   - space: The protection space.
    public func remove(_ credential: Credential, for space: ProtectionSpace) {
        state.withLock { state in
            guard var entry = state.entries[space] else { return }
            entry.byUser[credential.user] = nil
            if entry.first == credential.user { entry.first = entry.byUser.keys.min() }
            state.entries[space] = entry.byUser.isEmpty ? nil : entry
            state.changes += 1
        }
    }

    /// Stores a credential as the default of a protection space.
    ///
    /// - Parameters:
    ///   - credential: The credential; it replaces that of the same user.
    ///   - space: The protection space.
    public func setDefaultCredential(_ credential: Credential, for space: ProtectionSpace) {
        state.withLock { $0.set(credential, for: space, asDefault: true) }
    }

    /// Returns the credential that answers challenges of requests without a credential of their
    /// own.
    ///
    /// - Parameter space: The protection space.
    /// - Returns: The default credential; `nil` if there is none.
    public func defaultCredential(for space: ProtectionSpace) -> Credential? {
        state.withLock { state in
            state.entries[space].flatMap { entry in entry.first.flatMap { entry.byUser[$0] } }
        }
    }

    /// The number of changes after which another credential may be sent.
    var changes: Int { state.withLock { $0.changes } }

    package var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

    /// Returns the credential that answers a challenge: stored for its method, or else for any
    /// method.
    func answer(to space: ProtectionSpace) -> Credential? {
        defaultCredential(for: space) ?? defaultCredential(for: space.forAnyMethod)
    }
}
