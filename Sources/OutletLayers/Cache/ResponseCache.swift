import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport

/// A private cache of responses (RFC 9111), in memory and optionally in a directory.
///
/// Sessions keep in it what HTTP lets them keep, and answer from it when HTTP lets them; see
/// `SessionConfiguration.urlCache`. Several sessions may share one cache, several processes one
/// directory. A response that a request with credentials has brought answers the same credentials
/// only, unless it is `public`, and is never written to the disk.
///
/// Thread: any. What reads or removes files may wait for the disk; requests never do.
public final class ResponseCache: Sendable {
    fileprivate struct State: Sendable {
        var memory: MemoryStore
        /// The entries that wait to be written to the disk; `nil` for entries to remove.
        var pending: [String: Pending] = [:]
        var pendingBytes = 0
        /// How often something was stored or removed.
        var changes = 0
        var failure: CacheStorageError?
    }

    fileprivate struct Pending: Sendable {
        var entry: CacheEntry?
        var number: Int
    }

    /// What a look into memory has found.
    enum Lookup {
        case found(CacheEntry)
        case missing
        /// Nothing in memory; the disk may have an entry.
        case onDisk
    }

    /// Beyond so many bytes the disk does not keep up, and responses are kept in memory only.
    private static let pendingLimit = 16 << 20

    private let state: Lock<State>
    private let disk: DiskStore?
    private let writing = DispatchQueue(label: "outlet.cache.writing", qos: .utility)
    let rules: CacheRules

    /// Makes a cache.
    ///
    /// - Parameters:
    ///   - memoryCapacity: The most bytes kept in memory. A response takes at most an eighth of it.
    ///   - diskCapacity: The most bytes kept in `directory`; 0 for none.
    ///   - directory: Where files are kept; made (for its owner only) if its parent is there.
    ///     Memory only if `nil`.
    ///   - usesHeuristics: Whether a response that says nothing about its lifetime counts as fresh
    ///     for a tenth of its age, a day at most (RFC 9111 §4.2.2).
    public init(
        memoryCapacity: Int = 4 << 20, diskCapacity: Int = 0, directory: URL? = nil,
        usesHeuristics: Bool = false
    ) {
        state = Lock(State(memory: MemoryStore(capacity: memoryCapacity)))
        disk = directory.map { DiskStore(directory: $0.path, capacity: diskCapacity) }
        rules = CacheRules(usesHeuristics: usesHeuristics)
    }

    // MARK: Capacity

    /// The most bytes kept in memory.
    public var memoryCapacity: Int {
        get { state.withLock { $0.memory.capacity } }
        set { state.withLock { $0.memory.capacity = newValue } }
    }

    /// The most bytes kept on disk; 0 without a directory.
    public var diskCapacity: Int {
        get { disk?.capacity ?? 0 }
        set { disk?.capacity = newValue }
    }

    /// Bytes in use in memory.
    public var currentMemoryUsage: Int { state.withLock { $0.memory.usage } }

    /// Bytes in use on disk, those of other processes included; the directory is read for it.
    public var currentDiskUsage: Int {
        flush()
        return disk?.usage ?? 0
    }

    /// Why a response could not be written to the disk, last time that happened.
    public var lastStorageError: CacheStorageError? { state.withLock { $0.failure } }

    // MARK: Responses

    /// The stored response for a request, fresh or stale; `nil` if there is none.
    public func cachedResponse(for request: HTTPRequest) -> CachedResponse? {
        let request = CacheRequest(request)
        switch look(for: request) {
        case .found(let entry): return CachedResponse(entry)
        case .missing: return nil
        case .onDisk: return readDisk(for: request).map { CachedResponse($0) }
        }
    }

    /// Stores a response for a request, even if HTTP forbids it, as if it had just been received.
    public func storeCachedResponse(_ cachedResponse: CachedResponse, for request: HTTPRequest) {
        let request = CacheRequest(request)
        let now = Date()
        let directives = CacheControl(cachedResponse.response.headers)
        guard let key = request.key,
            let selectors = request.selectors(
                for: cachedResponse.response, isPublic: directives.isPublic)
        else { return }
        store(
            CacheEntry(
                response: cachedResponse.response, data: cachedResponse.data, requestTime: now,
                responseTime: now, selectors: selectors, userInfo: cachedResponse.userInfo,
                storagePolicy: cachedResponse.storagePolicy), for: key)
    }

    /// Removes the stored responses for a request's URL, of all variants.
    public func removeCachedResponse(for request: HTTPRequest) {
        if let key = CacheRequest.key(of: request) { remove(key) }
    }

    /// Forgets everything.
    public func removeAllCachedResponses() {
        state.withLock { state in
            state.memory.removeAll()
            state.changes += 1
        }
        guard let disk else { return }
        writing.sync { disk.removeAll() }
    }

    /// Waits until all that is to be kept on disk is there, or has failed to be.
    public func flush() {
        writing.sync {}
    }

    // MARK: For sessions

    /// Looks into memory; never waits.
    func look(for request: CacheRequest) -> Lookup {
        guard let key = request.key else { return .missing }
        let hasDisk = (disk?.capacity ?? 0) > 0
        return state.withLock { state in
            if let entry = state.memory.entries(for: key).first(where: { $0.matches(request) }) {
                return .found(entry)
            }
            if let pending = state.pending[key] {
                guard let entry = pending.entry else { return .missing }
                if entry.matches(request) { return .found(entry) }
            }
            return hasDisk ? .onDisk : .missing
        }
    }

    /// Looks on the disk, and keeps what it finds in memory.
    func readDisk(for request: CacheRequest) -> CacheEntry? {
        let before = state.withLock { $0.changes }
        guard let key = request.key, let entry = disk?.entry(for: request) else { return nil }
        state.withLock { state in
            // An entry that was stored or removed in the meantime is newer.
            if state.changes == before { state.memory.store(entry, for: key) }
        }
        return entry
    }

    func store(_ entry: CacheEntry, for key: String) {
        guard entry.storagePolicy != .notAllowed else { return }
        let goesToDisk =
            disk != nil && diskCapacity > 0 && entry.storagePolicy == .allowed && !entry.isPersonal
        let number = state.withLock { state -> Int? in
            state.memory.store(entry, for: key)
            state.changes += 1
            guard goesToDisk, state.pendingBytes + entry.cost <= Self.pendingLimit else {
                return nil
            }
            state.pendingBytes += entry.cost
            return state.note(entry, for: key)
        }
        guard let number, let disk else { return }
        writing.async { [self] in
            var failure: CacheStorageError?
            do throws(CacheStorageError) {
                try disk.write(entry, key: key)
            } catch {
                failure = error
            }
            state.withLock { state in
                state.pendingBytes -= entry.cost
                state.settle(key, number)
                state.failure = failure ?? state.failure
            }
        }
    }

    /// Puts a response that a server has renewed in the place of what was stored, or forgets it:
    /// the server may have said by now that it is not to be kept, or whom else it answers.
    ///
    /// - Parameters:
    ///   - old: What was stored.
    ///   - fresh: The same, brought up to date by `answer`.
    ///   - answer: What the server has said to `request`.
    func renew(
        _ old: CacheEntry, as fresh: CacheEntry, by answer: HTTPResponse, to request: CacheRequest
    ) {
        guard let key = request.key else { return }
        let selectors = request.selectors(
            for: fresh.response, isPublic: fresh.directives.isPublic)
        guard let selectors, !CacheControl(answer.headers).noStore else { return remove(key) }
        if selectors != old.selectors { remove(key) }
        var fresh = fresh
        fresh.selectors = selectors
        store(fresh, for: key)
    }

    func remove(_ key: String) {
        let number = state.withLock { state -> Int? in
            state.memory.remove(key)
            state.changes += 1
            return disk == nil ? nil : state.note(nil, for: key)
        }
        guard let number, let disk else { return }
        writing.async { [self] in
            disk.remove(key)
            state.withLock { $0.settle(key, number) }
        }
    }

    /// The largest body that can be kept, in bytes.
    var bodyLimit: Int { max(memoryCapacity / 8, min(diskCapacity / 8, Self.pendingLimit)) }
}

extension ResponseCache.State {
    fileprivate mutating func note(_ entry: CacheEntry?, for key: String) -> Int {
        let number = (pending[key]?.number ?? 0) + 1
        pending[key] = ResponseCache.Pending(entry: entry, number: number)
        return number
    }

    /// The disk is done with one order; later ones for the same key count on.
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
