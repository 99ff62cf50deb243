import FoundationEssentials
import OutletHTTP
import OutletTransport

extension TransportSettings {
    /// Whether the connections to an origin may be divided among several loops.
    fileprivate func isSharded(_ origin: Origin) -> Bool {
        connectionLimit(of: origin) > LoopGroup.transfersPerShard
    }
}

/// The loops of a transport: made when they are needed, told apart by what they carry.
///
/// Transfers without files share one loop. libcurl walks along all connections to a host to find an
/// idle one, so beyond ``transfersPerShard`` transfers a second loop costs less than a longer walk;
/// a session gets more than one only if its settings allow that many connections to a host. Origins
/// that speak HTTP/2, or may, stay on the first one: their streams share connections, and a
/// connection belongs to one loop.
///
/// Transfers with a file or a stream at either end have a loop of their own, so that a slow disk
/// holds up nobody.
struct LoopGroup {
    /// Above so many transfers on a loop the next one goes to another.
    static let transfersPerShard = 512
    /// More loops than this cost more than they save.
    static let maximumShards = 8

    private var settings: TransportSettings
    private let shardCount: Int
    private var shards: [EventLoop] = []
    private var bulk: EventLoop?
    private var shared: SharedState?
    private var isClosed = false
    /// Those that take no more transfers, as long as they have some.
    private var retired: [Retired] = []

    private struct Retired {
        weak var loop: EventLoop?
    }

    init(_ settings: TransportSettings) {
        self.settings = settings
        let limit = settings.largestConnectionLimit
        shardCount = min(
            Self.maximumShards, max(1, (limit - 1) / Self.transfersPerShard + 1))
    }

    /// The loops that take transfers.
    var all: [EventLoop] { shards + (bulk.map { [$0] } ?? []) }

    /// All loops that there are, those with old transfers among them.
    var living: [EventLoop] { all + retired.compactMap(\.loop) }

    /// The loop for a transfer.
    ///
    /// - Parameter request: What it asks for; `nil` for the loop that is never full.
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
        if shardCount == 1
            || shards.first.map({ $0.load.value < Self.transfersPerShard }) == true
        {
            return try shard(0)
        }
        guard let url = request?.url, mayShard(url) else { return try shard(0) }
        // The first ones are filled up first: that is where the idle connections are.
        var least = try shard(0)
        for index in 0..<shardCount {
            let candidate = try shard(index)
            if candidate.load.value < Self.transfersPerShard { return candidate }
            if candidate.load.value < least.load.value { least = candidate }
        }
        return least
    }

    /// Whether each transfer to an origin has a connection of its own, and it may have many.
    private func mayShard(_ url: URL) -> Bool {
        // An address without an origin fails on whichever loop gets it.
        guard let origin = try? Origin(url), settings.isSharded(origin) else { return false }
        switch settings.configuration.httpVersion {
        case .http1: return true
        case .http2PriorKnowledge: return false
        case .automatic: return !origin.isSecure || shared?.isKnownHTTP1(origin) == true
        }
    }

    /// Refuses transfers from here on.
    ///
    /// - Returns: The loops, to be closed.
    mutating func close() -> [EventLoop] {
        defer { retire() }
        isClosed = true
        return living
    }

    /// Makes new loops, with nothing of the old ones, for the transfers from here on.
    ///
    /// - Returns: The old loops, to be drained.
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

    /// How many connections to an origin one of so many loops may have.
    static func share(of origin: Origin, _ settings: TransportSettings, among loops: Int) -> Int {
        let limit = settings.connectionLimit(of: origin)
        return settings.isSharded(origin) ? limit / loops : limit
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
