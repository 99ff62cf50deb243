/// Stored responses in memory; the least recently used are removed when the capacity is exceeded.
///
/// Not synchronized: the owner holds a lock.
struct MemoryStore: Sendable {
    /// The maximum number of responses for one URL, for different values of the fields in `Vary`.
    private static let variantLimit = 8

    private struct Node: Sendable {
        let key: String
        var entries: [CacheEntry]
        var cost: Int
        /// The neighbours in order of use; -1 for none.
        var newer: Int
        var older: Int
    }

    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var indices: [String: Int] = [:]
    private var newest = -1
    private var oldest = -1
    /// The number of bytes used.
    private(set) var usage = 0
    var capacity: Int {
        didSet { shrink() }
    }

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// The maximum size of an entry; larger ones would remove too many others.
    var entryLimit: Int { capacity / 8 }

    mutating func entries(for key: String) -> [CacheEntry] {
        guard let index = indices[key] else { return [] }
        if index != newest {
            detach(index)
            attach(index)
        }
        return nodes[index]?.entries ?? []
    }

    /// Stores an entry; replaces the one for the same requests.
    mutating func store(_ entry: CacheEntry, for key: String) {
        var entries = nodes(for: key)
        entries.removeAll { $0.selectors == entry.selectors }
        entries.insert(entry, at: 0)
        if entries.count > Self.variantLimit { entries.removeLast() }
        remove(key)
        guard entry.cost <= entryLimit else { return }
        let cost = entries.reduce(0) { $0 + $1.cost }
        let node = Node(key: key, entries: entries, cost: cost, newer: -1, older: -1)
        let index = free.popLast() ?? nodes.count
        if index == nodes.count { nodes.append(node) } else { nodes[index] = node }
        indices[key] = index
        usage += cost
        attach(index)
        shrink()
    }

    mutating func remove(_ key: String) {
        guard let index = indices.removeValue(forKey: key) else { return }
        detach(index)
        usage -= nodes[index]?.cost ?? 0
        nodes[index] = nil
        free.append(index)
    }

    mutating func removeAll() {
        self = MemoryStore(capacity: capacity)
    }

    private func nodes(for key: String) -> [CacheEntry] {
        indices[key].flatMap { nodes[$0]?.entries } ?? []
    }

    private mutating func shrink() {
        while usage > capacity, oldest >= 0, let key = nodes[oldest]?.key { remove(key) }
    }

    private mutating func attach(_ index: Int) {
        nodes[index]?.older = newest
        nodes[index]?.newer = -1
        if newest >= 0 { nodes[newest]?.newer = index }
        newest = index
        if oldest < 0 { oldest = index }
    }

    private mutating func detach(_ index: Int) {
        guard let node = nodes[index] else { return }
        if node.newer >= 0 { nodes[node.newer]?.older = node.older } else { newest = node.older }
        if node.older >= 0 { nodes[node.older]?.newer = node.newer } else { oldest = node.newer }
    }
}
