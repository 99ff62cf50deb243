import FoundationEssentials
import OutletHTTP
import OutletTransport

extension TransportSettings {
    /// Among how many loops the connections to an origin may be divided.
    fileprivate func shardCount(of origin: Origin) -> Int {
        LoopGroup.shardCount(limit: connectionLimit(of: origin))
    }
}

/// The loops of a transport, each made when a transfer first needs it.
///
/// Transfers without a file or a stream share one loop. libcurl searches all connections to a host
/// for an idle one, so beyond ``transfersPerShard`` transfers a second loop costs less than a
/// longer search. A transport gets more than one such loop ("shard") only if its settings allow
/// more than that many connections to a host. Origins that speak HTTP/2, or may, stay on the first
/// shard, because their streams share connections, and a connection belongs to one loop.
///
/// Transfers with a file or a stream at either end have a loop of their own, the bulk loop, so that
/// a slow disk does not delay the others.
struct LoopGroup {
    /// The number of transfers on a shard from which on the next shard is used.
    static let transfersPerShard = 512
    /// The maximum number of shards; more cost more than they save.
    static let maximumShards = 8

    private var settings: TransportSettings
    private let shardCount: Int
    private var shards: [EventLoop] = []
    private var bulk: EventLoop?
    private var shared: SharedState?
    private var isClosed = false
    /// The loops that take no new transfers; each lives until its last transfer has ended.
    private var retired: [Retired] = []

    private struct Retired {
        weak var loop: EventLoop?
    }

    init(_ settings: TransportSettings) {
        self.settings = settings
        shardCount = Self.shardCount(limit: settings.largestConnectionLimit)
    }

    /// The number of shards for a maximum number of connections.
    fileprivate static func shardCount(limit: Int) -> Int {
        min(maximumShards, max(1, (limit - 1) / transfersPerShard + 1))
    }

    /// The loops that take new transfers.
    var all: [EventLoop] { shards + (bulk.map { [$0] } ?? []) }

    /// All loops that still run, including those that take no new transfers.
    var living: [EventLoop] { all + retired.compactMap(\.loop) }

    /// Returns the loop for a transfer, and makes it if necessary.
    ///
    /// - Parameters:
    ///   - isBulk: Whether a body is read from, or written to, a file or a stream.
    ///   - request: The request; `nil` for the first shard, whatever its load.
    /// - Throws: `TransferError` with code `transportClosed` after ``close()``; another one if the
    ///   loop cannot be made.
    mutating func loop(
        isBulk: Bool, for request: HTTPRequest?
    ) throws(TransferError) -> EventLoop {
        guard !isClosed else { throw .transportClosed }
        if isBulk {
            if let bulk { return bulk }
            let loop = try make(share: 1, isBulk: true)
            bulk = loop
            return loop
        }
        // No share of an origin is smaller whose connections are divided.
        let smallestShare = Self.transfersPerShard / 2
        if shardCount == 1 || shards.first.map({ $0.load.value < smallestShare }) == true {
            return try shard(0)
        }
        // A URL without an origin fails on any loop.
        guard let origin = request?.url.flatMap({ try? Origin($0) }), mayShard(origin) else {
            return try shard(0)
        }
        let share = min(
            Self.transfersPerShard, Self.share(of: origin, settings, among: shardCount))
        // Lower shards first, because the idle connections are there.
        var least = try shard(0)
        for index in 0..<settings.shardCount(of: origin) {
            let candidate = try shard(index)
            if candidate.load.value < share { return candidate }
            if candidate.load.value < least.load.value { least = candidate }
        }
        return least
    }

    /// Whether transfers to an origin may run on several shards: each has a connection of its own
    /// (HTTP/1), and the origin's connection limit is above ``transfersPerShard``.
    private func mayShard(_ origin: Origin) -> Bool {
        guard settings.shardCount(of: origin) > 1 else { return false }
        switch settings.configuration.httpVersion {
        case .http1: return true
        case .http2PriorKnowledge: return false
        case .automatic: return !origin.isSecure || shared?.isKnownHTTP1(origin) == true
        }
    }

    /// Makes ``loop(isBulk:for:)`` throw from now on.
    ///
    /// - Returns: All loops, which the caller must close.
    mutating func close() -> [EventLoop] {
        defer { retire() }
        isClosed = true
        return living
    }

    /// Makes new loops for later transfers, which share nothing with the old ones.
    ///
    /// - Parameter settings: The settings of the new loops.
    /// - Returns: The old loops, which the caller must drain.
    mutating func renew(_ settings: TransportSettings) -> [EventLoop] {
        guard !isClosed else { return [] }
        self.settings = settings
        defer { retire() }
        return all
    }

    private mutating func retire() {
        retired.removeAll { $0.loop == nil }
        retired += all.map { Retired(loop: $0) }
        shards = []
        bulk = nil
        shared = nil
    }

    /// Returns the maximum number of connections to an origin for one of `loops` loops.
    static func share(of origin: Origin, _ settings: TransportSettings, among loops: Int) -> Int {
        settings.connectionLimit(of: origin) / min(loops, settings.shardCount(of: origin))
    }

    private mutating func shard(_ index: Int) throws(TransferError) -> EventLoop {
        if index < shards.count { return shards[index] }
        let loop = try make(share: shardCount, isBulk: false)
        shards.append(loop)
        return loop
    }

    private mutating func make(share: Int, isBulk: Bool) throws(TransferError) -> EventLoop {
        let shared: SharedState
        if let known = self.shared {
            shared = known
        } else {
            shared = try SharedState(settings.checked)
        }
        self.shared = shared
        return try EventLoop(settings, shared: shared, share: share, isBulk: isBulk)
    }
}
