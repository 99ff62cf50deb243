import CCurl
import OutletHTTP
import OutletTransport
import Synchronization

/// The numbers of one origin on one loop, changed by the loop's thread and read by any.
///
/// Relaxed atomics with one writer: a change costs as much as that of an ordinary integer.
final class OriginFigures: @unchecked Sendable {
    // because only the atomic numbers change, and the tally, which the loop's thread changes and
    // which exists as long as a registry contains this object.

    /// The origin.
    fileprivate let origin: Origin
    private let tally: UnsafeMutablePointer<ccurl_tally>?
    private let activeCount = Atomic(0)
    private let waitingCount = Atomic(0)
    private let webSocketCount = Atomic(0)

    init(_ origin: Origin, _ tally: UnsafeMutablePointer<ccurl_tally>?) {
        self.origin = origin
        self.tally = tally
    }

    /// The number of running transfers, without open WebSockets.
    var active: Int {
        get { activeCount.load(ordering: .relaxed) }
        set { activeCount.store(newValue, ordering: .relaxed) }
    }

    /// The number of transfers that wait for a place.
    var waiting: Int {
        get { waitingCount.load(ordering: .relaxed) }
        set { waitingCount.store(newValue, ordering: .relaxed) }
    }

    /// The number of open WebSockets, which have a connection but occupy no place.
    var webSockets: Int {
        get { webSocketCount.load(ordering: .relaxed) }
        set { webSocketCount.store(newValue, ordering: .relaxed) }
    }

    /// The numbers in the form of the public statistics.
    fileprivate var shown: TransportStatistics.Figures {
        var figures = TransportStatistics.Figures()
        figures.openConnections = tally.map { Int(ccurl_tally_sockets($0)) } ?? 0
        figures.activeRequests = active + webSockets
        figures.requestsWaiting = waiting
        figures.idleConnections = max(0, figures.openConnections - figures.activeRequests)
        return figures
    }
}

/// The numbers of a loop's origins, for other threads to read.
///
/// Thread: any.
final class OriginRegistry: Sendable {
    private let origins = Lock<[ObjectIdentifier: OriginFigures]>([:])

    func add(_ figures: OriginFigures) {
        origins.withLock { $0[ObjectIdentifier(figures)] = figures }
    }

    /// Removes an origin; its tally may be released afterwards.
    func remove(_ figures: OriginFigures) {
        _ = origins.withLock { $0.removeValue(forKey: ObjectIdentifier(figures)) }
    }

    /// The current numbers of all origins.
    var figures: [(origin: Origin, figures: TransportStatistics.Figures)] {
        origins.withLock { origins in origins.values.map { ($0.origin, $0.shown) } }
    }
}
