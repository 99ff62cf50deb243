import CCurl
import OutletHTTP
import OutletTransport

/// The queues of the origins that a loop knows; those without transfers, sockets and cached URLs are
/// removed now and then.
struct OriginTable {
    private var queues: [Origin: OriginQueue<CurlTransfer>] = [:]
    private var sweepAt = 512
    private let settings: TransportSettings
    private let loops: Int
    private let registry: OriginRegistry

    /// Makes an empty table.
    ///
    /// - Parameters:
    ///   - settings: The connection limits.
    ///   - loops: The number of loops that an origin's connection limit may be divided among.
    ///   - registry: Shows the origins' numbers to other threads.
    init(
        _ settings: TransportSettings, amongLoops loops: Int, _ registry: OriginRegistry
    ) {
        self.settings = settings
        self.loops = loops
        self.registry = registry
    }

    /// Returns the queue of an origin, and makes it if necessary.
    mutating func queue(_ origin: Origin) -> OriginQueue<CurlTransfer> {
        if let known = queues[origin] { return known }
        if queues.count >= sweepAt { sweep() }
        let queue = OriginQueue<CurlTransfer>(
            origin, limit: LoopGroup.share(of: origin, settings, among: loops),
            isNegotiated: origin.isSecure && settings.configuration.httpVersion == .automatic,
            usesConnectionsOnce: settings.usesConnectionsOnce(to: origin), registry: registry)
        queues[origin] = queue
        return queue
    }

    /// Removes the queues that are not used.
    private mutating func sweep() {
        struct Reference { weak var queue: OriginQueue<CurlTransfer>? }
        let others = queues.compactMap { origin, queue in
            queue.hasSockets ? nil : (origin, Reference(queue: queue))
        }
        queues = queues.filter { $0.value.hasSockets }
        for (origin, other) in others { queues[origin] = other.queue }
        sweepAt = max(512, queues.count * 2)
    }

    /// Removes all queues.
    mutating func removeAll() { queues = [:] }
}

/// Parsed URLs by their text; parsing takes a seventh of the time libcurl spends on a small
/// request.
///
/// Two generations approximate LRU order: when the young one is full it becomes the old one, and
/// the URLs of the old one that were not used meanwhile are dropped.
struct AddressCache {
    /// The maximum number of URLs in one generation.
    static let generation = 512

    private var young: [String: Address] = [:]
    private var old: [String: Address] = [:]
    // The last URL; two properties instead of an optional tuple, which would be copied for the
    // comparison.
    private var lastText = ""
    private var lastAddress: Address?
    private var queues: OriginTable

    init(_ queues: OriginTable) {
        self.queues = queues
    }

    /// Removes all URLs and queues.
    mutating func removeAll() {
        queues.removeAll()
        young = [:]
        old = [:]
        lastText = ""
        lastAddress = nil
    }

    /// Returns the parsed form of a URL.
    ///
    /// - Throws: `TransferError` if it is not a URL, or its scheme is not supported.
    mutating func address(_ text: String) throws(TransferError) -> Address {
        if lastText == text, let lastAddress { return lastAddress }
        let address: Address
        if let known = young[text] {
            address = known
        } else {
            if let known = old[text] {
                address = known
            } else {
                address = try Address(text) { queues.queue($0) }
            }
            if young.count >= Self.generation {
                old = young
                young.removeAll(keepingCapacity: true)
            }
            young[text] = address
        }
        lastText = text
        lastAddress = address
        return address
    }
}
