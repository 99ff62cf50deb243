/// The removals of stored responses, for requests that are under way.
///
/// The response to a request that began before a removal may be older than what the removal was for,
/// such as a successful `PUT`, and must not be stored after it.
///
/// Not synchronized: the owner holds a lock.
struct Removals: Sendable {
    /// The maximum number of keys.
    ///
    /// Beyond it all responses under way count as outdated.
    private static let limit = 10_000

    /// The number of removals so far; a request remembers it when it begins.
    private(set) var count = 0
    /// The number of the last removal of each key, by its hash: servers name keys of any length in
    /// `Location`, and a key with the same hash only counts as removed, too.
    private var numbers: [Int: Int] = [:]
    /// The number of the last removal of all keys.
    private var ofAll = 0

    mutating func add(_ key: String) {
        let hash = key.hashValue
        guard numbers.count < Self.limit || numbers[hash] != nil else { return addAll() }
        count += 1
        numbers[hash] = count
    }

    mutating func addAll() {
        count += 1
        ofAll = count
        numbers.removeAll(keepingCapacity: true)
    }

    /// Whether a key was removed after so many removals.
    func has(_ key: String, since count: Int) -> Bool {
        ofAll > count || numbers[key.hashValue].map { $0 > count } == true
    }
}
