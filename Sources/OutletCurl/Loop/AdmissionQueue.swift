import CCurl
import OutletHTTP
import OutletTransport

/// One origin (scheme, host and port) as a loop sees it: what is under way, what waits.
final class OriginQueue<Element> {
    // Release builds do not check exclusive access to what each transfer touches, because the loop's driver
    // alone uses it: the checks of all such properties cost 3 % of a transfer's instructions
    // (Benchmarks/count transport).

    /// What the origin speaks, as far as it is known.
    enum Version {
        case unknown, http1, http2
    }

    /// What is under way, and what waits.
    let figures: OriginFigures
    private let registry: OriginRegistry?
    /// The sockets that are open, in use or idle.
    let tally = ccurl_tally_create()
    /// So many transfers may be under way, if it does not multiplex.
    let limit: Int
    /// What the last response said.
    fileprivate(set) var version: Version = .unknown
    /// Whether the first handshake says what the origin speaks (ALPN).
    fileprivate let isNegotiated: Bool
    /// Whether, until that is known, one transfer goes first and the others wait: with HTTP/2 they share its
    /// connection.
    fileprivate(set) var sendsOneFirst: Bool
    /// Waiting transfers by priority, lowest first.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var waiting: [WaitingLine<Element>] = Array(
        repeating: WaitingLine(), count: TransferPriority.allCases.count)
    /// How often others went before those that wait, by priority, since the last of them went.
    private var passedOver = Array(
        repeating: 0, count: TransferPriority.allCases.count)
    /// Whether the origin is in the queue's round of those that could go on.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    fileprivate var isListed = false

    /// - Parameters:
    ///   - isNegotiated: Whether the first handshake says what the origin speaks (ALPN).
    ///   - registry: Shows other threads what is going on; `nil` if nobody looks.
    init(
        _ origin: Origin, limit: Int, isNegotiated: Bool = false, registry: OriginRegistry? = nil
    ) {
        self.limit = max(1, limit)
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

    /// Whether a transfer that counts as under way already may find an idle connection.
    ///
    /// Those that look up the name have no socket yet, so this errs towards no, which costs a
    /// connection at worst.
    var mayHaveIdleConnection: Bool { Int(tally?.pointee.sockets ?? 1) >= figures.active }

    /// Whether transfers wait for the one that went first.
    var waitsForFirst: Bool { sendsOneFirst && version == .unknown }

    /// How many of higher priorities go before one that waits.
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

/// Who may start: a limit per origin and one in all, priorities within an origin, turns between them.
///
/// libcurl has such a queue of its own, but walks it for each finished transfer
/// (`CURLMOPT_MAX_HOST_CONNECTIONS`), so that ten thousand waiting requests cost five times more there.
struct AdmissionQueue<Element> {
    /// Transfers under way in all.
    let limit: Int
    /// Transfers under way.
    private(set) var active = 0
    /// Origins with waiting transfers and room for one more, in turn.
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
        case .http2: origin.figures.active < origin.limit * Self.streamsPerConnection
        }
    }

    /// Counts one transfer more under way, if there is room and nobody waits for it.
    ///
    /// - Returns: Whether it may start now.
    mutating func enter(_ origin: OriginQueue<Element>) -> Bool {
        guard active < limit, hasRoom(origin), !origin.isListed else { return false }
        active += 1
        origin.figures.active += 1
        return true
    }

    /// Adds an element to those that wait for a place.
    ///
    /// - Returns: What it is removed by.
    mutating func wait(
        _ element: Element, origin: OriginQueue<Element>, priority: TransferPriority
    ) -> Int {
        origin.figures.waiting += 1
        let ticket = origin.waiting[Int(priority.rawValue)].append(element)
        list(origin)
        return ticket
    }

    /// Removes a waiting element, and keeps no reference to it.
    mutating func remove(ticket: Int, origin: OriginQueue<Element>, priority: TransferPriority) {
        guard origin.waiting[Int(priority.rawValue)].remove(ticket) else { return }
        origin.figures.waiting -= 1
    }

    /// Counts one transfer less under way.
    mutating func leave(_ origin: OriginQueue<Element>) {
        active -= 1
        origin.figures.active -= 1
        if origin.figures.active == 0, origin.figures.waiting == 0 {
            origin.sendsOneFirst = origin.isNegotiated
        }
        list(origin)
    }

    /// What an origin speaks has become known: there may be room for more.
    mutating func learn(_ version: OriginQueue<Element>.Version, of origin: OriginQueue<Element>) {
        origin.version = version
        list(origin)
    }

    /// The one that went first has failed, or takes too long: the others do not wait for it any more.
    mutating func stopWaitingForFirst(_ origin: OriginQueue<Element>) {
        origin.sendsOneFirst = false
        list(origin)
    }

    /// The next waiting element that may start; it counts as under way from here on.
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

/// Elements that wait in order, each of which may leave at any time.
///
/// What has left is forgotten at once; its slot goes when more than half of the slots are empty.
struct WaitingLine<Element> {
    private var slots: [(ticket: Int, element: Element?)] = []
    private var head = 0
    private var nextTicket = 0
    /// How many elements wait.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Adds an element at the end.
    ///
    /// - Returns: What it is removed by.
    mutating func append(_ element: Element) -> Int {
        defer { nextTicket += 1 }
        slots.append((nextTicket, element))
        count += 1
        return nextTicket
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

    /// Removes an element, wherever it stands.
    ///
    /// - Returns: Whether it was still there.
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

    /// Counts one element less, and drops empty slots where they are the most.
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

/// A queue on one array: what was taken from the front is dropped now and then.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head]
        elements[head] = nil
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: elements.capacity <= 1024)
            head = 0
        } else if head > 64, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}
