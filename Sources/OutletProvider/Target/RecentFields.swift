import OutletHTTP
import OutletTransport

/// The header fields of the last endpoint, because most endpoints of a program have equal ones.
///
/// Sorting and checking five fields takes 4 % of a request's time (`Benchmarks/count provider`).
/// The session's own copy of the last fields is found faster, too, when their storage is the same.
final class RecentFields: Sendable {
    /// Shared by all endpoints: the fields depend on the dictionary only.
    static let shared = RecentFields()

    private struct Memory: Sendable {
        /// The entries of the dictionary, in its order: equal dictionaries usually have the same.
        var entries: [(name: String, value: String)] = []
        var fields = HTTPHeaders()

        func isOf(_ dictionary: [String: String]) -> Bool {
            guard entries.count == dictionary.count else { return false }
            var index = 0
            for (name, value) in dictionary {
                guard entries[index].name.hasSameBytes(as: name),
                    entries[index].value.hasSameBytes(as: value)
                else { return false }
                index += 1
            }
            return true
        }
    }

    private let last = Lock(Memory())

    /// Returns the fields of a dictionary, sorted by name.
    func fields(_ dictionary: [String: String]) -> HTTPHeaders {
        last.withLock { last in
            if last.isOf(dictionary) { return last.fields }
            let fields = HTTPHeaders(dictionary)
            // Of repeated names one field is left, whose position depends on the others.
            if fields.count == dictionary.count {
                last = Memory(entries: dictionary.map { ($0, $1) }, fields: fields)
            }
            return fields
        }
    }
}
