public import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport
public import OutletSession

/// Keeps what a session's requests do as an HTTP archive: one entry for each attempt and redirect.
///
/// Give it to a session among its event monitors, or to a single request. Secrets are left out unless
/// told otherwise. The oldest entries make room for new ones, and the archive says how many.
///
/// Bodies of streams are kept only where the recorder watches the whole session; those of downloads
/// never.
///
/// Thread: any but ``queue``.
public final class HARRecorder: EventMonitor {
    /// How much is kept.
    public struct Limits: Sendable, Equatable {
        /// Entries.
        public var entries = 1000
        /// The largest body that is kept, in bytes; 0 keeps none.
        public var body = 0
        /// All bodies and fields together, in bytes, about.
        public var total = 64 << 20

        /// A thousand entries without bodies.
        public init() {}

        /// A thousand entries, with bodies up to so many bytes.
        public static func bodies(upTo bytes: Int) -> Limits {
            var limits = Limits()
            limits.body = bytes
            return limits
        }
    }

    private struct State {
        var entries: [(entry: HAR.Entry, size: Int)] = []
        var size = 0
        var dropped = 0
        /// The bodies of streams under way, by their transfers.
        var streams: [UInt64: Data] = [:]
    }
    private let state = Lock(State())
    private let limits: Limits
    private let redaction: Redaction

    /// Where events are taken.
    public let queue: DispatchQueue = DispatchQueue(label: "outlet.har")

    /// Makes a recorder without entries.
    ///
    /// - Parameters:
    ///   - limits: How much is kept.
    ///   - redaction: What is left out.
    public init(limits: Limits = Limits(), redaction: Redaction = .standard) {
        self.limits = limits
        self.redaction = redaction
    }

    /// The archive of all requests that were over before this call.
    ///
    /// Waits for events that are on their way: not from ``queue``, nor from another monitor on it.
    public var archive: HAR {
        queue.sync {}
        let (entries, dropped) = state.withLock { ($0.entries.map(\.entry), $0.dropped) }
        var log = HAR.Log(entries: entries)
        if dropped > 0 {
            log.droppedEntries = dropped
            log.comment =
                "the oldest \(dropped) entries were left out: the limits are "
                + "\(limits.entries) entries and \(limits.total) bytes"
        }
        return HAR(log: log)
    }

    /// How many entries were left out for the sake of memory.
    public var droppedEntries: Int { archive.log.droppedEntries ?? 0 }

    /// Writes the archive; the file is there whole or not at all.
    ///
    /// - Throws: ``HARError/unwritable(path:reason:)``.
    public func write(to url: URL) throws(HARError) {
        try archive.write(to: url)
    }

    /// Forgets all entries.
    public func removeAll() {
        queue.sync {}
        state.withLock { state in
            state.entries = []
            state.size = 0
            state.dropped = 0
        }
    }

    // MARK: Events

    /// Keeps the bytes of a stream, up to the limit and one more.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive data: Data
    ) {
        guard limits.body > 0 else { return }
        state.withLock { state in
            let kept = state.streams[dataTask.identifier, default: Data()]
            let room = limits.body + 1 - kept.count
            if room > 0 { state.streams[dataTask.identifier] = kept + data.prefix(room) }
        }
    }

    /// Keeps the exchange.
    public func request(
        _ request: Request, didComplete exchange: TransferExchange, of task: any TransferTask
    ) {
        var exchange = exchange
        let streamed = state.withLock { $0.streams.removeValue(forKey: task.identifier) }
        if exchange.body == nil, let streamed { exchange.body = streamed }
        let entry = HAR.Entry(exchange, redaction: redaction, bodyLimit: limits.body)
        let size = entry.approximateSize
        state.withLock { state in
            state.entries.append((entry, size))
            state.size += size
            while state.entries.count > max(1, limits.entries)
                || (state.size > limits.total && state.entries.count > 1)
            {
                state.size -= state.entries.removeFirst().size
                state.dropped += 1
            }
        }
    }
}

extension HAR.Entry {
    /// About how many bytes the entry takes.
    fileprivate var approximateSize: Int {
        func size(_ pairs: [HAR.Pair]) -> Int {
            pairs.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
        }
        return 512 + request.url.utf8.count * 2 + size(request.headers) + size(response.headers)
            + (request.postData?.text.utf8.count ?? 0) + (response.content.text?.utf8.count ?? 0)
    }
}
