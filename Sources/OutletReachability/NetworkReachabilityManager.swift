public import Dispatch
import OutletTransport

/// Reports whether a network can be reached, and changes of that.
///
/// It checks routes only. A server may be unreachable although there is a route; only a request can
/// find that out.
///
/// Thread: any.
open class NetworkReachabilityManager: @unchecked Sendable {
    // because all mutable state is protected by a lock.

    /// Whether a network can be reached.
    public enum NetworkReachabilityStatus: Sendable, Equatable {
        /// The kernel does not provide its routing tables.
        case unknown
        /// There is no route.
        case notReachable
        /// There is a route.
        case reachable(ConnectionType)

        /// The type of the network.
        public enum ConnectionType: Sendable, Equatable {
            /// At least one interface that is not cellular.
            case ethernetOrWiFi
            /// Cellular interfaces only.
            case cellular
        }
    }

    /// Receives the status.
    public typealias Listener = @Sendable (NetworkReachabilityStatus) -> Void

    /// A manager for the default routes of this machine; never `nil`.
    public static let `default` = NetworkReachabilityManager()

    /// The serial queue on which changes of the routing tables are processed.
    public let reachabilityQueue = DispatchQueue(label: "outlet.reachability")

    private let monitor: PathMonitor
    /// The host whose own route is checked if it is an IP address; `nil` for default routes only.
    private let address: String?

    private struct State: Sendable {
        var path: NetworkPath?
        var isListening = false
        /// The generation of the listener; late updates of a former one are ignored.
        var generation = 0
    }
    private let state = Lock(State())

    /// Makes a manager for the default routes of this machine.
    ///
    /// - Returns: Never `nil`; optional like ``init(host:)``, so that both are used in the same
    ///   way.
    public convenience init?() {
        self.init(monitor: .system)
    }

    /// Makes a manager for the route to a host.
    ///
    /// - Parameter host: If it is an IP address or `localhost`, the route to that address is
    ///   checked. For any other name the default routes are checked; the name is not resolved.
    /// - Returns: `nil` if `host` is empty.
    public convenience init?(host: String) {
        guard !host.isEmpty else { return nil }
        self.init(monitor: .system, address: host)
    }

    /// Makes a manager with a custom monitor, for example in tests.
    ///
    /// - Parameters:
    ///   - monitor: Provides the path while a listener is registered.
    ///   - address: An IP address whose own route is checked; `nil` for the default routes.
    public init(monitor: PathMonitor, address: String? = nil) {
        self.monitor = monitor
        self.address = address
    }

    deinit { stopListening() }

    /// Whether a network can be reached.
    open var isReachable: Bool { isReachableOnCellular || isReachableOnEthernetOrWiFi }
    /// Whether a network can be reached over cellular interfaces only.
    open var isReachableOnCellular: Bool { status == .reachable(.cellular) }
    /// Whether a network can be reached over at least one interface that is not cellular.
    open var isReachableOnEthernetOrWiFi: Bool { status == .reachable(.ethernetOrWiFi) }

    /// The last path that the monitor has reported to the listener; without a listener, the current
    /// one, read from the kernel.
    open var path: NetworkPath { state.withLock { $0.path } ?? NetworkPath.current }

    /// Whether a network can be reached, according to ``path``.
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

    /// Calls a listener with the current status, and again whenever the status changes.
    ///
    /// Replaces a former listener.
    ///
    /// - Parameters:
    ///   - queue: Where `listener` runs; `nil` for ``reachabilityQueue``.
    ///   - listener: Receives each new status, asynchronously.
    /// - Returns: Always true.
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

    /// Removes the listener; a call already dispatched to its queue still happens.
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
