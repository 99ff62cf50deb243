public import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletTransport
public import OutletSession

/// Records the transfers of a session as an HTTP archive: one entry per attempt and per redirect.
///
/// Pass it to a session among its event monitors, or to a single request. Secrets are redacted.
/// When a limit is exceeded, the oldest entries are dropped and counted in
/// ``HAR/Log/droppedEntries``.
///
/// Bodies of streams are recorded only if the recorder monitors the whole session; bodies of
/// downloads are never recorded.
///
/// Thread: any except ``queue``, because ``archive`` and the methods that use it wait for that
/// queue.
public final class HARRecorder: EventMonitor {
    /// The limits of what is recorded.
    public struct Limits: Sendable, Equatable {
        /// The maximum number of entries; the last entry is always kept.
        public var entries = 1000
        /// The largest body that is recorded, in bytes; 0 records none.
        ///
        /// For a larger body only the length is recorded.
        public var body = 0
        /// The approximate maximum size of all recorded bodies, headers and URLs, in bytes; 64 MiB
        /// by default.
        public var total = 64 << 20

        /// Makes limits of 1000 entries, without bodies.
        public init() {}

        /// Returns limits of 1000 entries, with bodies.
        ///
        /// - Parameter bytes: The largest body that is recorded, in bytes.
        public static func bodies(upTo bytes: Int) -> Limits {
            var limits = Limits()
            limits.body = bytes
            return limits
        }
    }

    private struct State {
        var entries = Fifo<(entry: HAR.Entry, size: Int)>()
        var size = 0
        var dropped = 0
        /// The bodies of unfinished streams, by the identifiers of their transfers.
        var streams: [UInt64: Data] = [:]
    }
    private let state = Lock(State())
    private let limits: Limits
    private let redaction: Redaction

    /// The serial queue on which events are recorded.
    public let queue: DispatchQueue = DispatchQueue(label: "outlet.har")

    /// Makes a recorder without entries.
    ///
    /// - Parameters:
    ///   - limits: The limits of what is recorded; by default 1000 entries without bodies.
    ///   - redaction: Selects the secrets, which are replaced by a mark.
    public init(limits: Limits = Limits(), redaction: Redaction = .standard) {
        self.limits = limits
        self.redaction = redaction
    }

    /// The archive of all transfers that ended before this call.
    ///
    /// Blocks until ``queue`` has processed pending events. Must not be used on ``queue``, where it
    /// would deadlock.
    public var archive: HAR {
        queue.sync {}
        let (entries, dropped) = state.withLock { ($0.entries.all.map(\.entry), $0.dropped) }
        var log = HAR.Log(entries: entries)
        if dropped > 0 {
            log.droppedEntries = dropped
            log.comment =
                "the oldest \(dropped) entries were left out: the limits are "
                + "\(limits.entries) entries and \(limits.total) bytes"
        }
        return HAR(log: log)
    }

    /// The number of entries that were dropped because of the limits; blocks as ``archive`` does.
    public var droppedEntries: Int { archive.log.droppedEntries ?? 0 }

    /// Writes the ``archive`` to a file, which is replaced atomically.
    ///
    /// Blocks as ``archive`` does, and while the file is written.
    ///
    /// - Parameter url: A file URL.
    /// - Throws: ``HARError/unwritable(path:reason:)`` when the archive cannot be encoded or the
    ///   file cannot be written.
    public func write(to url: URL) throws(HARError) {
        try archive.write(to: url)
    }

    /// Removes all entries, and resets ``droppedEntries``; blocks as ``archive`` does.
    public func removeAll() {
        queue.sync {}
        state.withLock { state in
            state.entries = Fifo()
            state.size = 0
            state.dropped = 0
        }
    }

    // MARK: Events

    /// Records the bytes of a stream, up to the limit of a body plus one byte.
    ///
    /// The additional byte shows that the body is larger than the limit.
    ///
    /// - Parameters:
    ///   - session: The transport of the session.
    ///   - dataTask: The transfer.
    ///   - data: The received bytes.
    public func urlSession(
        _ session: any Transport, dataTask: any TransferTask, didReceive data: Data
    ) {
        guard limits.body > 0 else { return }
        state.withLock { state in
            // Appended in place: a copy for each piece would take time that grows with the square of
            // their number.
            let room = limits.body + 1 - (state.streams[dataTask.identifier]?.count ?? 0)
            if room > 0 { state.streams[dataTask.identifier, default: Data()] += data.prefix(room) }
        }
    }

    /// Forgets the bytes of a transfer that was not recorded, such as a shared one.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - task: The transfer.
    ///   - error: Why it failed; `nil` if it did not.
    public func request(
        _ request: Request, didCompleteTask task: any TransferTask, with error: SessionError?
    ) {
        state.withLock { $0.streams[task.identifier] = nil }
    }

    /// Records the transfer.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - exchange: What was sent and received, with metrics.
    ///   - task: The transfer.
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
                state.size -= state.entries.popFirst()?.size ?? 0
                state.dropped += 1
            }
        }
    }
}

extension HAR.Entry {
    /// The approximate size of the entry in memory, in bytes.
    fileprivate var approximateSize: Int {
        func size(_ pairs: [HAR.Pair]) -> Int {
            pairs.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
        }
        return 512 + request.url.utf8.count * 2 + size(request.headers) + size(response.headers)
            + (request.postData?.text.utf8.count ?? 0) + (response.content.text?.utf8.count ?? 0)
    }
}
