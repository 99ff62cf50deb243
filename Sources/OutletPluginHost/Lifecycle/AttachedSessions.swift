import OutletSession
import OutletTransport

/// The sessions that use a plugin, held weakly.
///
/// Thread: any.
final class AttachedSessions: Sendable {
    private struct Entry: Sendable { weak var session: Session? }

    private let entries = Lock([Entry]())

    func add(_ session: Session) {
        entries.withLock { entries in
            entries.removeAll { $0.session == nil }
            entries.append(Entry(session: session))
        }
    }

    /// The session attached first of those that still exist; `nil` if there is none.
    var first: Session? { entries.withLock { $0.lazy.compactMap(\.session).first } }

    /// The session with an identity; `nil` if it no longer exists.
    func session(_ identity: ObjectIdentifier) -> Session? {
        entries.withLock { entries in
            entries.lazy.compactMap(\.session).first { ObjectIdentifier($0) == identity }
        }
    }
}
