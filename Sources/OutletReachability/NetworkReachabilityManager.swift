public import Dispatch
import OutletTransport

/// Tells whether a network can be reached, and when that changes.
///
/// A default route is no promise: whether a server answers is known only by asking it.
///
/// Thread: any.
open class NetworkReachabilityManager: @unchecked Sendable {
    // because all that changes is behind a lock.

    /// Whether a network can be reached.
    public enum NetworkReachabilityStatus: Sendable, Equatable {
        /// The system does not tell.
        case unknown
        /// It cannot.
        case notReachable
        /// It can.
        case reachable(ConnectionType)

        /// Over what.
        public enum ConnectionType: Sendable, Equatable {
            /// Anything that usually costs nothing by the byte.
            case ethernetOrWiFi
            /// A mobile network, and nothing else.
            case cellular
        }
    }

    /// Called with the status.
    public typealias Listener = @Sendable (NetworkReachabilityStatus) -> Void

    /// The machine's way out.
    public static let `default` = NetworkReachabilityManager()

    /// Where changes are noticed.
    public let reachabilityQueue = DispatchQueue(label: "outlet.reachability")

    private let monitor: PathMonitor
    /// An address whose own route counts, where one was given.
    private let address: String?

    private struct State: Sendable {
        var path: NetworkPath?
        var isListening = false
        /// Generation of the listener: late updates of a former one are ignored.
        var generation = 0
    }
    private let state = Lock(State())

    /// Looks at the machine's way out.
    ///
    /// - Returns: Never `nil`; optional as ``init(host:)`` is, so that both are used alike.
    public convenience init?() {
        self.init(monitor: .system)
    }

    /// Looks at the way to a host: at its own route if it is an address, else at the way out.
    ///
    /// - Returns: `nil` for an empty name.
    public convenience init?(host: String) {
        guard !host.isEmpty else { return nil }
        self.init(monitor: .system, address: host)
    }

    /// Looks at what a monitor tells.
    public init(monitor: PathMonitor, address: String? = nil) {
        self.monitor = monitor
        self.address = address
    }

    deinit { stopListening() }

    /// Whether a network can be reached.
    open var isReachable: Bool { isReachableOnCellular || isReachableOnEthernetOrWiFi }
    /// Whether one can be reached over a mobile network only.
    open var isReachableOnCellular: Bool { status == .reachable(.cellular) }
    /// Whether one can be reached over anything else.
    open var isReachableOnEthernetOrWiFi: Bool { status == .reachable(.ethernetOrWiFi) }

    /// The path last told while listening; of this moment otherwise.
    open var path: NetworkPath { state.withLock { $0.path } ?? NetworkPath.current }

    /// Whether a network can be reached, as of ``path``.
    open var status: NetworkReachabilityStatus { status(of: path) }

    private func status(of path: NetworkPath) -> NetworkReachabilityStatus {
        if let address, let isReachable = Route.exists(to: address) {
            guard isReachable else { return .notReachable }
            return .reachable(path.isCellularOnly ? .cellular : .ethernetOrWiFi)
        }
        return switch path.status {
        case .unknown: .unknown
        case .unsatisfied: .notReachable
        case .satisfied: .reachable(path.isCellularOnly ? .cellular : .ethernetOrWiFi)
        }
    }

    /// Tells the status at once, and from then on when it changes; ends a former listening.
    ///
    /// - Parameters:
    ///   - queue: Where `listener` runs; ``reachabilityQueue`` if `nil`.
    ///   - listener: Called with each new status.
    /// - Returns: Whether the listening began, which it always does.
    @discardableResult
    open func startListening(
        onQueue queue: DispatchQueue? = nil, onUpdatePerforming listener: @escaping Listener
    ) -> Bool {
        stopListening()
        let generation = state.withLock { state in
            state.isListening = true
            state.generation += 1
            return state.generation
        }
        let last = Lock<NetworkReachabilityStatus?>(nil)
        monitor.start(reachabilityQueue) { [weak self, reachabilityQueue] path in
            guard let self else { return }
            let isCurrent = state.withLock { state in
                guard state.generation == generation, state.isListening else { return false }
                state.path = path
                return true
            }
            let status = status(of: path)
            guard isCurrent,
                last.withLock({ last in
                    defer { last = status }
                    return last != status
                })
            else { return }
            (queue ?? reachabilityQueue).async { listener(status) }
        }
        return true
    }

    /// Tells no more.
    open func stopListening() {
        let wasListening = state.withLock { state in
            defer {
                state.isListening = false
                state.path = nil
            }
            return state.isListening
        }
        if wasListening { monitor.stop() }
    }
}

extension NetworkPath {
    fileprivate var isCellularOnly: Bool {
        !interfaces.isEmpty && interfaces.allSatisfy { $0.type == .cellular }
    }
}
