import OutletHTTP
import OutletTransport

/// Remembers which header fields of requests are secret.
///
/// Requests have the same few field names, and classifying a name takes as long as a cache lookup.
enum SecretFields {
    private static let limit = 128
    private static let known = Lock<[String: Bool]>([:])

    /// Whether the value of a field is secret (``Redaction/hidesHeader(named:)``).
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
