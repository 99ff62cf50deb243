import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// A private cache of responses (RFC 9111), in memory and optionally in a directory.
///
/// Sessions store responses that HTTP allows to be stored, and reuse them when HTTP allows it; see
/// `SessionConfiguration.urlCache`. Several sessions may share one cache, and several processes one
/// directory. The response to a request with credentials is reused only for the same credentials
/// and never written to disk, unless it is `public`.
///
/// Thread: any. Methods that read or remove files may wait for the disk; requests never do.
public final class ResponseCache: Sendable {
    fileprivate struct State: Sendable {
        var memory: MemoryStore
        /// The entries that wait to be written to disk; `nil` for entries to remove.
        var pending: [String: Pending] = [:]
        var pendingBytes = 0
        /// The number of changes of the memory's contents.
        var changes = 0
        var removals = Removals()
        var failure: CacheStorageError?
    }

    fileprivate struct Pending: Sendable {
        var entry: CacheEntry?
        /// Whether the files of other entries are still to be removed.
        var removesOthers: Bool
        var number: Int
    }

    /// The result of a lookup in memory.
    enum Lookup {
        case found(CacheEntry)
        case missing
        /// Nothing in memory; the disk may have an entry.
        case onDisk
    }

    /// The maximum number of bytes that wait to be written; beyond that, responses are kept in
    /// memory only.
    private static let pendingLimit = 16 << 20

    private let state: Lock<State>
    private let disk: DiskStore?
    private let writing = DispatchQueue(label: "outlet.cache.writing", qos: .utility)
    let rules: CacheRules

    /// Makes a cache.
    ///
    /// - Parameters:
    ///   - memoryCapacity: The maximum number of bytes in memory, 4 MiB by default. One response
    ///     may take at most an eighth of it.
    ///   - diskCapacity: The maximum number of bytes in `directory`; 0, the default, stores nothing
    ///     there.
    ///   - directory: The directory for files; created, for its owner only, if its parent exists.
    ///     Files of other users in it are not used. `nil`, the default, keeps responses in memory
    ///     only.
    ///   - usesHeuristics: Whether a response without an explicit lifetime is fresh for a tenth of
    ///     its age, at most a day (RFC 9111 §4.2.2); false by default.
    public init(
        memoryCapacity: Int = 4 << 20, diskCapacity: Int = 0, directory: URL? = nil,
        usesHeuristics: Bool = false
    ) {
        state = Lock(State(memory: MemoryStore(capacity: memoryCapacity)))
        disk = directory.map { DiskStore(directory: $0.path, capacity: diskCapacity) }
        rules = CacheRules(usesHeuristics: usesHeuristics)
    }

    // MARK: Capacity

    /// The maximum number of bytes in memory.
    public var memoryCapacity: Int {
        get { state.withLock { $0.memory.capacity } }
        set { state.withLock { $0.memory.capacity = newValue } }
    }

    /// The maximum number of bytes on disk; 0 without a directory.
    public var diskCapacity: Int {
        get { disk?.capacity ?? 0 }
        set { disk?.capacity = newValue }
    }

    /// The number of bytes used in memory.
    public var currentMemoryUsage: Int { state.withLock { $0.memory.usage } }

    /// The number of bytes used on disk, including those of other processes.
    ///
    /// Waits for pending writes, and reads the directory.
    public var currentDiskUsage: Int {
        flush()
        return disk?.usage ?? 0
    }

    /// The last error while writing a response to disk; `nil` if there was none.
    public var lastStorageError: CacheStorageError? { state.withLock { $0.failure } }

    // MARK: Responses

    /// Returns the stored response for a request, fresh or stale.
    ///
    /// May wait for the disk.
    ///
    /// - Parameter request: The request, with its cookies and credentials.
    /// - Returns: The stored response; `nil` if there is none.
    public func cachedResponse(for request: HTTPRequest) -> CachedResponse? {
        let request = CacheRequest(request)
        switch look(for: request) {
        case .found(let entry): return CachedResponse(entry)
        case .missing: return nil
        case .onDisk: return readDisk(for: request).map { CachedResponse($0) }
        }
    }

    /// Stores a response for a request, even if HTTP forbids it, as if it had just been received.
    ///
    /// Does nothing if the request's URL has no canonical form, if the response contains `Vary: *`,
    /// or if its storage policy is `notAllowed`. The disk is written later; see ``flush()``.
    ///
    /// - Parameters:
    ///   - cachedResponse: The response to store.
    ///   - request: The request, with its cookies and credentials.
    public func storeCachedResponse(_ cachedResponse: CachedResponse, for request: HTTPRequest) {
        let request = CacheRequest(request)
        let now = Date()
        let facts = CacheEntry.Facts(cachedResponse.response)
        guard let key = request.key,
            let selectors = request.selectors(
                for: cachedResponse.response, isPublic: facts.directives.isPublic)
        else { return }
        store(
            CacheEntry(
                response: cachedResponse.response, data: cachedResponse.data, requestTime: now,
                responseTime: now, selectors: selectors, userInfo: cachedResponse.userInfo,
                storagePolicy: cachedResponse.storagePolicy, facts: facts), for: key, since: nil)
    }

    /// Removes the stored responses for a request's URL, of all variants.
    ///
    /// - Parameter request: The request.
    public func removeCachedResponse(for request: HTTPRequest) {
        if let key = CacheRequest.key(of: request) { remove(key) }
    }

    /// Removes all responses, and waits until their files are removed.
    public func removeAllCachedResponses() {
        forgetAll()
        guard let disk else { return }
        writing.sync { disk.removeAll() }
        // A file may have been read in the meantime.
        forgetAll()
    }

    private func forgetAll() {
        state.withLock { state in
            state.memory.removeAll()
            state.changes += 1
            state.removals.addAll()
        }
    }

    /// Waits until all pending writes to disk have succeeded or failed.
    public func flush() {
        writing.sync {}
    }

    // MARK: For sessions

    /// Looks for an entry in memory; never waits.
    func look(for request: CacheRequest) -> Lookup {
        guard let key = request.key else { return .missing }
        let found = state.withLock { state -> Lookup in
            if let entry = state.memory.entry(for: request, key: key) { return .found(entry) }
            if let pending = state.pending[key] {
                if let entry = pending.entry, entry.matches(request) { return .found(entry) }
                if pending.removesOthers { return .missing }
            }
            return .onDisk
        }
        if case .onDisk = found, (disk?.capacity ?? 0) <= 0 { return .missing }
        return found
    }

    /// Looks for an entry on disk, and stores it in memory; may wait for the disk.
    func readDisk(for request: CacheRequest) -> CacheEntry? {
        let before = state.withLock { $0.changes }
        guard let key = request.key, let entry = disk?.entry(for: request) else { return nil }
        state.withLock { state in
            // An entry that was stored or removed in the meantime is newer.
            if state.changes == before { state.memory.store(entry, for: key) }
        }
        return entry
    }

    /// The number of removals so far, for ``store(_:for:since:)``.
    var removals: Int { state.withLock { $0.removals.count } }

    /// Stores an entry.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: Its cache key.
    ///   - removals: The number of ``removals`` when the request began; if the key was removed
    ///     since, the entry may be outdated, and is not stored. `nil` stores it always.
    func store(_ entry: CacheEntry, for key: String, since removals: Int?) {
        guard entry.storagePolicy != .notAllowed else { return }
        let hasDisk = disk != nil && diskCapacity > 0
        let mayGoToDisk = entry.storagePolicy == .allowed && !entry.isPersonal
        let stored = state.withLock { state -> (number: Int, isWritten: Bool)? in
            if let removals, state.removals.has(key, since: removals) { return nil }
            state.memory.store(entry, for: key)
            state.changes += 1
            guard hasDisk else { return (0, false) }
            let isWritten = mayGoToDisk && state.pendingBytes + entry.cost <= Self.pendingLimit
            if isWritten { state.pendingBytes += entry.cost }
            return (state.note(isWritten ? entry : nil, for: key), isWritten)
        }
        guard hasDisk, let disk, let (number, isWritten) = stored else { return }
        writing.async { [self] in
            var failure: CacheStorageError?
            do throws(CacheStorageError) {
                if isWritten {
                    try disk.write(entry, key: key)
                } else {
                    disk.removeReplaced(by: entry, key: key)
                }
            } catch {
                failure = error
            }
            state.withLock { state in
                if isWritten { state.pendingBytes -= entry.cost }
                state.settle(key, number)
                state.failure = failure ?? state.failure
            }
        }
    }

    /// Replaces a stored response with one that the server has revalidated, or removes it.
    ///
    /// It is removed if the server now forbids storing it, and replaced if it now applies to
    /// other requests.
    ///
    /// - Parameters:
    ///   - old: The stored entry.
    ///   - fresh: The entry, updated with `answer`.
    ///   - answer: The server's response to `request`.
    ///   - request: The request that revalidated the entry.
    ///   - removals: The number of ``removals`` when that request began; if the entry may have been
    ///     removed since, it is not stored again.
    func renew(
        _ old: CacheEntry, as fresh: CacheEntry, by answer: HTTPResponse, to request: CacheRequest,
        since removals: Int
    ) {
        guard let key = request.key else { return }
        let selectors = request.selectors(
            for: fresh.response, isPublic: fresh.directives.isPublic)
        guard let selectors, !CacheControl(answer.headers).noStore else {
            remove(key)
            return
        }
        var fresh = fresh
        fresh.selectors = selectors
        if selectors != old.selectors {
            let isCurrent = state.withLock { !$0.removals.has(key, since: removals) }
            let own = remove(key)
            guard isCurrent else { return }
            return store(fresh, for: key, since: own)
        }
        store(fresh, for: key, since: removals)
    }

    /// Removes the responses of a key.
    ///
    /// - Returns: The number of ``removals`` with this one.
    @discardableResult
    func remove(_ key: String) -> Int {
        let (count, number) = state.withLock { state -> (Int, Int?) in
            state.memory.remove(key)
            state.changes += 1
            state.removals.add(key)
            return (state.removals.count, disk == nil ? nil : state.note(nil, for: key))
        }
        guard let number, let disk else { return count }
        writing.async { [self] in
            disk.remove(key)
            state.withLock { $0.settle(key, number) }
        }
        return count
    }

    /// The maximum size of a body that can be stored, in bytes.
    var bodyLimit: Int { max(memoryCapacity / 8, min(diskCapacity / 8, Self.pendingLimit)) }
}

extension ResponseCache.State {
    fileprivate mutating func note(_ entry: CacheEntry?, for key: String) -> Int {
        let former = pending[key]
        let number = (former?.number ?? 0) + 1
        pending[key] = ResponseCache.Pending(
            entry: entry, removesOthers: entry == nil || former?.removesOthers == true,
            number: number)
        return number
    }

    /// Records that a write to disk is done, unless a later one for the same key is pending.
    fileprivate mutating func settle(_ key: String, _ number: Int) {
        if pending[key]?.number == number { pending[key] = nil }
    }
}

extension CachedResponse {
    init(_ entry: CacheEntry) {
        self.init(
            response: entry.response, data: entry.data, userInfo: entry.userInfo,
            storagePolicy: entry.storagePolicy)
    }
}
