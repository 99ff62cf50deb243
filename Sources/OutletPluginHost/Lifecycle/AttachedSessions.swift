import OutletSession
import OutletTransport

/// The sessions that a plugin takes part in.
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

    /// The first that is still there.
    var first: Session? { entries.withLock { $0.lazy.compactMap(\.session).first } }
}
