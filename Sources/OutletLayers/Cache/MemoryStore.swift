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
        var newer = -1
        var older = -1
        /// The request that was answered last, and its answer.
        var lastRequest: CacheRequest?
        var lastEntry: CacheEntry?
    }

    /// How many of the most recently used nodes are searched for a request that was answered before.
    private static let recentLimit = 8

    private var nodes: [Node] = []
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

    /// Returns the stored response that may answer a request with this key; `nil` if there is none.
    mutating func entry(for request: CacheRequest, key: String) -> CacheEntry? {
        if let index = recentIndex(of: request) {
            use(index)
            return nodes[index].lastEntry
        }
        guard let index = indices[key] else { return nil }
        use(index)
        let entry = nodes[index].entries.first { $0.matches(request) }
        if entry != nil {
            nodes[index].lastRequest = request
            nodes[index].lastEntry = entry
        }
        return entry
    }

    /// Looks for a node that has answered the same request last.
    ///
    /// Cheaper than to hash the key and to compare what a response depends on.
    private func recentIndex(of request: CacheRequest) -> Int? {
        var index = newest
        for _ in 0..<Self.recentLimit where index >= 0 {
            if nodes[index].lastRequest === request { return index }
            index = nodes[index].older
        }
        return nil
    }

    private mutating func use(_ index: Int) {
        guard index != newest else { return }
        detach(index)
        attach(index)
    }

    /// Stores an entry, unless it is too large; removes the one for the same requests.
    mutating func store(_ entry: CacheEntry, for key: String) {
        var entries = nodes(for: key)
        let fits = entry.cost <= entryLimit
        // One that is stored comes before those that it replaces for some requests only.
        entries.removeAll { fits ? $0.selectors == entry.selectors : $0.isReplaced(by: entry) }
        if fits { entries.insert(entry, at: 0) }
        if entries.count > Self.variantLimit { entries.removeLast() }
        remove(key)
        guard !entries.isEmpty else { return }
        let cost = entries.reduce(0) { $0 + $1.cost }
        let node = Node(key: key, entries: entries, cost: cost)
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
        usage -= nodes[index].cost
        nodes[index] = Node(key: "", entries: [], cost: 0)
        free.append(index)
    }

    mutating func removeAll() {
        self = MemoryStore(capacity: capacity)
    }

    private func nodes(for key: String) -> [CacheEntry] {
        indices[key].map { nodes[$0].entries } ?? []
    }

    private mutating func shrink() {
        while usage > capacity, oldest >= 0 { remove(nodes[oldest].key) }
    }

    private mutating func attach(_ index: Int) {
        nodes[index].older = newest
        nodes[index].newer = -1
        if newest >= 0 { nodes[newest].newer = index }
        newest = index
        if oldest < 0 { oldest = index }
    }

    private mutating func detach(_ index: Int) {
        let (newer, older) = (nodes[index].newer, nodes[index].older)
        if newer >= 0 { nodes[newer].older = older } else { newest = older }
        if older >= 0 { nodes[older].newer = newer } else { oldest = newer }
    }
}
