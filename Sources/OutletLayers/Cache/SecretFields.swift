import OutletHTTP
import OutletTransport

/// Remembers which header fields of requests are secret.
///
/// Requests have the same few field names. Classifying five names takes 47,000 instructions, more
/// than the rest of a stored response (`Benchmarks/tricks secret-fields`).
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
