import OutletHTTP
import OutletTransport

/// The header fields of the last endpoint, because most endpoints of a program have equal ones.
///
/// Sorting and checking five fields takes 4 % of a request's time (`Benchmarks/count provider`).
/// The session's own copy of the last fields is found faster, too, when their storage is the same.
final class RecentFields: Sendable {
    /// Shared by all endpoints: the fields depend on the dictionary only.
    static let shared = RecentFields()

    private let last = Lock(HTTPHeaders())

    /// Returns the fields of a dictionary, sorted by name.
    func fields(_ dictionary: [String: String]) -> HTTPHeaders {
        let last = last.withLock { $0 }
        if last.haveSameBytes(as: dictionary) { return last }
        let fields = HTTPHeaders(dictionary)
        // Of repeated names one field is left, whose position depends on the others.
        if fields.count == dictionary.count { self.last.withLock { $0 = fields } }
        return fields
    }
}
