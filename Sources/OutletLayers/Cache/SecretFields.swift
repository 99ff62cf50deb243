import OutletHTTP
import Synchronization

/// Which names of a request's fields say that their values are secrets.
///
/// Requests have the same few names, and judging a name takes as long as looking a response up.
enum SecretFields {
    private static let limit = 128
    private static let known = Mutex<[String: Bool]>([:])

    /// Whether the value of a field is a secret (``Redaction/hidesHeader(named:)``).
    static func contains(_ name: String) -> Bool {
        known.withLock { known in
            if let isSecret = known[name] { return isSecret }
            if known.count == limit { known.removeAll(keepingCapacity: true) }
            let isSecret = Redaction.standard.hidesHeader(named: name)
            known[name] = isSecret
            return isSecret
        }
    }
}
