import CCurl
import OutletHTTP
import OutletTransport

/// The running and waiting transfers of one origin (scheme, host and port) on one loop.
final class OriginQueue<Element> {
    // Release builds do not check exclusive access to what each transfer uses, because only the
    // loop's driver uses it. The checks of all such properties cost 3 % of a transfer's
    // instructions (Benchmarks/count transport).

    /// The HTTP version of an origin.
    enum Version {
        case unknown, http1, http2
    }

    /// The numbers of running and waiting transfers.
    let figures: OriginFigures
    private let registry: OriginRegistry?
    /// The number of open sockets, in use or idle.
    let tally = ccurl_tally_create()
    /// The maximum number of running transfers, if the origin does not multiplex.
    let limit: Int
    /// The version of the last response or handshake.
    fileprivate(set) var version: Version = .unknown
    /// The number of heads of responses, except interim ones; wraps around.
    private(set) var answers: UInt32 = 0
    /// Whether the first handshake says what the origin speaks (ALPN).
    fileprivate let isNegotiated: Bool
    /// Whether each connection to the origin can be used for one request only.
    let usesConnectionsOnce: Bool
    /// Whether one transfer goes first and the others wait until the version is known, because with
    /// HTTP/2 they share its connection.
    fileprivate(set) var sendsOneFirst: Bool
    /// For how many transfers the connections of an HTTP/2 origin have streams; `nil` as long as
    /// each transfer has found one.
    private var streams: Int?
    /// The number of transfers that have ended since ``streams`` last changed.
    private var endedWithStreams = 0
    /// The transfer that opens a connection to an HTTP/2 origin, while others wait for the streams of
    /// that connection; `nil` if there is none.
    private(set) var opener: UInt64?
    /// Whether the last connection that was opened took too long to wait for it.
    private(set) var opensSlowly = false
    /// The local ports of connections with HTTP/2 on which libcurl has not sent the ends of cancelled
    /// streams yet, because a waiting transfer was to use them.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private(set) var portsWithUnsentEnds: Set<Int32> = []
    /// The waiting transfers by priority, lowest first.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var waiting: [WaitQueue<Element>] = Array(
        repeating: WaitQueue(), count: TransferPriority.allCases.count)
    /// For each priority, how many transfers of higher priorities have started since its last one
    /// did, while some were waiting.
    private var passedOver = Array(
        repeating: 0, count: TransferPriority.allCases.count)
    /// Whether the origin is in the queue's list of origins that can start a waiting transfer.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var isListed = false

    /// Makes an empty queue.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of running transfers, if the origin does not multiplex; at
    ///     least one, and at most 2²⁰, which is more than a system has ports for.
    ///   - isNegotiated: Whether the first handshake negotiates the version (ALPN).
    ///   - usesConnectionsOnce: Whether each connection can be used for one request only.
    ///   - registry: Shows the numbers to other threads; `nil` if none reads them.
    init(
        _ origin: Origin, limit: Int, isNegotiated: Bool = false,
        usesConnectionsOnce: Bool = false, registry: OriginRegistry? = nil
    ) {
        self.usesConnectionsOnce = usesConnectionsOnce
        self.limit = min(max(1, limit), 1 << 20)
        self.isNegotiated = isNegotiated
        sendsOneFirst = isNegotiated
        self.registry = registry
        figures = OriginFigures(origin, tally)
        registry?.add(figures)
    }

    deinit {
        registry?.remove(figures)
        ccurl_tally_release(tally)
    }

    /// Records that libcurl has not sent the ends of cancelled streams on a connection yet.
    func noteUnsentEnds(on port: Int32) { portsWithUnsentEnds.insert(port) }

    /// Records that a request is sent on a connection: libcurl sends the ends of former streams with it.
    func noteSending(on port: Int32) {
        if !portsWithUnsentEnds.isEmpty { portsWithUnsentEnds.remove(port) }
    }

    /// Records that the head of a response has come.
    func noteAnswer() { answers &+= 1 }

    /// Returns ``portsWithUnsentEnds``, and forgets them.
    func takePortsWithUnsentEnds() -> Set<Int32> {
        defer { portsWithUnsentEnds = [] }
        return portsWithUnsentEnds
    }

    /// Whether there are open sockets.
    var hasSockets: Bool { Int(tally?.pointee.sockets ?? 0) > 0 }

    /// Whether there may be an idle connection for a transfer that is already counted as running.
    ///
    /// Transfers that still look up the name have no socket. So this may be false although there is
    /// an idle connection, which costs a connection at worst.
    var mayHaveIdleConnection: Bool { Int(tally?.pointee.sockets ?? 1) >= figures.active }

    /// Whether a running transfer that needs a socket may open one; it is the ``opener`` then, if the
    /// origin multiplexes.
    ///
    /// `false` if the origin multiplexes, and another transfer opens a connection, or if there are as
    /// many sockets as the limit allows and none of them has room for the transfer: more transfers
    /// run than sockets are allowed, because the origin multiplexes, or did so when they were started.
    /// There must be other transfers at whose ends it can try again: idle connections may be unusable
    /// for it.
    ///
    /// - Parameters:
    ///   - transfer: Its identifier. It may open several sockets, one for each address.
    ///   - exceedsLimits: Whether it may exceed the limit, if the origin does not multiplex.
    func mayOpenSocket(for transfer: UInt64, exceedsLimits: Bool = false) -> Bool {
        guard
            figures.active <= limit
                || Int(tally?.pointee.sockets ?? 0) < limit + figures.webSockets
                || exceedsLimits && version != .http2
        else { return false }
        guard version == .http2 else { return true }
        if opener == nil { opener = transfer }
        return opener == transfer
    }

    /// The maximum number of running transfers of an HTTP/2 origin.
    fileprivate var streamLimit: Int {
        min(streams ?? .max, limit * AdmissionQueue<Element>.streamsPerConnection)
    }

    /// Records that the ``opener`` opens no connection any more, and admits as many further transfers
    /// as find streams on the connection that it has made.
    ///
    /// - Parameter hasConnection: Whether it has made one; if not, the next transfer may try.
    fileprivate func endOpening(hasConnection: Bool) {
        opener = nil
        if hasConnection { opensSlowly = false }
        guard let former = streams else { return }
        let more = hasConnection ? AdmissionQueue<Element>.streamsPerConnection : 1
        streams = max(former, figures.active + more)
        endedWithStreams = 0
    }

    /// Records that the connection which is being opened takes too long to wait for it.
    func noteSlowOpening() { opensSlowly = true }

    /// Counts one running transfer less.
    ///
    /// - Parameter lacksStream: Whether it has not run, because no connection had a stream for it.
    fileprivate func leave(lacksStream: Bool) {
        figures.active -= 1
        if lacksStream {
            // While a connection is opened, it would be refused again at once.
            streams = opener == nil ? max(limit, figures.active) : figures.active
            endedWithStreams = 0
        } else if let former = streams {
            endedWithStreams += 1
            // A further transfer finds out whether the server has raised its limit.
            if endedWithStreams >= former * Self.endsPerProbe {
                streams = former + 1
                endedWithStreams = 0
            }
        }
        if figures.active == 0, figures.waiting == 0 {
            sendsOneFirst = isNegotiated
            streams = nil
        }
    }

    /// How many transfers of each stream end until a further one is started to find another stream.
    private static var endsPerProbe: Int { 8 }

    /// Whether other transfers wait for the first one to show the version.
    var waitsForFirst: Bool { sendsOneFirst && version == .unknown }

    /// After how many transfers of higher priorities a waiting one is started.
    static var patience: Int { 16 }

    fileprivate func takeFirst() -> Element? {
        let overdue = waiting.indices.first {
            passedOver[$0] >= Self.patience && !waiting[$0].isEmpty
        }
        guard let index = overdue ?? waiting.indices.last(where: { !waiting[$0].isEmpty }) else {
            return nil
        }
        passedOver[index] = 0
        figures.waiting -= 1
        for lower in 0..<index where !waiting[lower].isEmpty { passedOver[lower] += 1 }
        return waiting[index].popFirst()
    }
}

/// Decides which transfers may start: a limit per origin and one in total, priorities within an
/// origin, and round robin between origins.
///
/// libcurl has such a queue (`CURLMOPT_MAX_HOST_CONNECTIONS`), but searches it for each finished
/// transfer, so with ten thousand waiting requests it costs five times as much.
struct AdmissionQueue<Element> {
    /// The maximum number of running transfers.
    let limit: Int
    /// The number of running transfers.
    private(set) var active = 0
    /// The origins that have waiting transfers and may start one, in round-robin order.
    private var round = Fifo<OriginQueue<Element>>()

    /// libcurl's own limit of streams on one connection (`CURLMOPT_MAX_CONCURRENT_STREAMS`).
    static var streamsPerConnection: Int { 100 }

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    private func hasRoom(_ origin: OriginQueue<Element>) -> Bool {
        switch origin.version {
        case .unknown where origin.sendsOneFirst: origin.figures.active == 0
        case .unknown, .http1: origin.figures.active < origin.limit
        case .http2: origin.figures.active < origin.streamLimit
        }
    }

    /// Counts one more running transfer, if the limits allow it and no other waits for the place.
    ///
    /// - Parameters:
    ///   - origin: Its origin.
    ///   - exceedsLimits: Whether it may start in any case.
    /// - Returns: Whether it may start now.
    mutating func enter(_ origin: OriginQueue<Element>, exceedsLimits: Bool = false) -> Bool {
        guard exceedsLimits || active < limit && hasRoom(origin) && !origin.isListed else {
            return false
        }
        active += 1
        origin.figures.active += 1
        return true
    }

    /// Adds an element to the waiting ones.
    ///
    /// - Parameters:
    ///   - element: The element.
    ///   - origin: Its origin.
    ///   - priority: Its priority.
    ///   - isFirst: Whether it comes before the others of its priority: it had a place, but could not
    ///     run.
    /// - Returns: A ticket for ``remove(ticket:origin:priority:)``.
    mutating func wait(
        _ element: Element, origin: OriginQueue<Element>, priority: TransferPriority,
        isFirst: Bool = false
    ) -> Int {
        origin.figures.waiting += 1
        let queue = Int(priority.rawValue)
        let ticket =
            isFirst
            ? origin.waiting[queue].prepend(element) : origin.waiting[queue].append(element)
        list(origin)
        return ticket
    }

    /// Removes a waiting element and its reference.
    mutating func remove(ticket: Int, origin: OriginQueue<Element>, priority: TransferPriority) {
        guard origin.waiting[Int(priority.rawValue)].remove(ticket) else { return }
        origin.figures.waiting -= 1
    }

    /// Counts one running transfer less.
    ///
    /// - Parameters:
    ///   - origin: Its origin.
    ///   - lacksStream: Whether it has not run, because no connection had a stream for it; until
    ///     another one ends, no further one is started.
    mutating func leave(_ origin: OriginQueue<Element>, lacksStream: Bool = false) {
        active -= 1
        origin.leave(lacksStream: lacksStream)
        list(origin)
    }

    /// Records the version of an origin, which may allow more transfers.
    mutating func learn(_ version: OriginQueue<Element>.Version, of origin: OriginQueue<Element>) {
        origin.version = version
        list(origin)
    }

    /// Ends the wait for the first transfer of an origin, because it failed or takes too long.
    mutating func stopWaitingForFirst(_ origin: OriginQueue<Element>) {
        origin.sendsOneFirst = false
        list(origin)
    }

    /// Records that the opener of an origin opens no connection any more: it has made one, has ended,
    /// or takes too long.
    mutating func endOpening(_ origin: OriginQueue<Element>, hasConnection: Bool) {
        origin.endOpening(hasConnection: hasConnection)
        list(origin)
    }

    /// Returns the next waiting element that may start, and counts it as running.
    mutating func next() -> (Element, OriginQueue<Element>)? {
        while active < limit, let origin = round.popFirst() {
            origin.isListed = false
            guard hasRoom(origin), let element = origin.takeFirst() else { continue }
            active += 1
            origin.figures.active += 1
            list(origin)
            return (element, origin)
        }
        return nil
    }

    private mutating func list(_ origin: OriginQueue<Element>) {
        guard !origin.isListed, origin.figures.waiting > 0, hasRoom(origin) else { return }
        origin.isListed = true
        round.append(origin)
    }
}

/// A queue whose elements can be removed at any position.
///
/// A removed element is released at once. Its slot is removed when more than half of the slots are
/// empty.
struct WaitQueue<Element> {
    private var slots: [(ticket: Int, element: Element?)] = []
    private var head = 0
    private var nextTicket = 0
    /// The number of elements.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Adds an element at the end.
    ///
    /// - Returns: A ticket for ``remove(_:)``.
    mutating func append(_ element: Element) -> Int {
        defer { nextTicket += 1 }
        slots.append((nextTicket, element))
        count += 1
        return nextTicket
    }

    /// Adds an element in front of all others.
    ///
    /// - Returns: A ticket for ``remove(_:)``.
    mutating func prepend(_ element: Element) -> Int {
        guard head < slots.count else { return append(element) }
        let ticket = slots[head].ticket - 1
        if head > 0 {
            head -= 1
            slots[head] = (ticket, element)
        } else {
            slots.insert((ticket, element), at: 0)
        }
        count += 1
        return ticket
    }

    mutating func popFirst() -> Element? {
        while head < slots.count {
            let element = slots[head].element
            head += 1
            guard let element else { continue }
            slots[head - 1].element = nil
            shrink()
            return element
        }
        return nil
    }

    /// Removes an element at any position.
    ///
    /// - Returns: Whether it was still in the queue.
    mutating func remove(_ ticket: Int) -> Bool {
        var low = head
        var high = slots.count
        while low < high {
            let middle = (low + high) / 2
            if slots[middle].ticket < ticket { low = middle + 1 } else { high = middle }
        }
        guard low < slots.count, slots[low].ticket == ticket, slots[low].element != nil else {
            return false
        }
        slots[low].element = nil
        shrink()
        return true
    }

    /// Counts one element less, and removes the empty slots if they are the majority.
    private mutating func shrink() {
        count -= 1
        if count == 0 {
            slots.removeAll(keepingCapacity: slots.capacity <= 1024)
            head = 0
        } else if slots.count > 64, count * 2 < slots.count {
            slots.removeAll { $0.element == nil }
            head = 0
        }
    }
}
