import CCurl
import OutletHTTP
import OutletTransport
import Synchronization

/// How much is going on with one origin on one loop: changed by the loop's thread, read by any.
///
/// A change is a plain load and a plain store, as it would be of a number that nobody else reads.
final class OriginFigures: @unchecked Sendable {
    // because nothing changes but the numbers, which are atomic, and the tally, which the loop changes;
    // it is there as long as a registry has the figures.

    /// Which one it is.
    fileprivate let origin: Origin
    private let tally: UnsafeMutablePointer<ccurl_tally>?
    private let activeCount = Atomic(0)
    private let waitingCount = Atomic(0)
    private let webSocketCount = Atomic(0)

    init(_ origin: Origin, _ tally: UnsafeMutablePointer<ccurl_tally>?) {
        self.origin = origin
        self.tally = tally
    }

    /// Transfers under way.
    var active: Int {
        get { activeCount.load(ordering: .relaxed) }
        set { activeCount.store(newValue, ordering: .relaxed) }
    }

    /// Transfers that wait for a place.
    var waiting: Int {
        get { waitingCount.load(ordering: .relaxed) }
        set { waitingCount.store(newValue, ordering: .relaxed) }
    }

    /// Open WebSockets, which have a connection, and no place any more.
    var webSockets: Int {
        get { webSocketCount.load(ordering: .relaxed) }
        set { webSocketCount.store(newValue, ordering: .relaxed) }
    }

    /// The figures for people.
    fileprivate var shown: TransportStatistics.Figures {
        var figures = TransportStatistics.Figures()
        figures.openConnections = tally.map { Int(ccurl_tally_sockets($0)) } ?? 0
        figures.requestsUnderWay = active + webSockets
        figures.requestsWaiting = waiting
        figures.idleConnections = max(0, figures.openConnections - figures.requestsUnderWay)
        return figures
    }
}

/// The figures of a loop's origins, for other threads.
///
/// Thread: any.
final class OriginRegistry: Sendable {
    private let origins = Lock<[ObjectIdentifier: OriginFigures]>([:])

    func add(_ figures: OriginFigures) {
        origins.withLock { $0[ObjectIdentifier(figures)] = figures }
    }

    /// Forgets an origin; its tally may be released afterwards.
    func remove(_ figures: OriginFigures) {
        _ = origins.withLock { $0.removeValue(forKey: ObjectIdentifier(figures)) }
    }

    /// The figures of all origins.
    var figures: [(origin: Origin, figures: TransportStatistics.Figures)] {
        origins.withLock { origins in origins.values.map { ($0.origin, $0.shown) } }
    }
}
