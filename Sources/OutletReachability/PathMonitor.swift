public import Dispatch
import OutletTransport

/// Provides the current network path and its changes.
///
/// ``system`` reads the kernel's routing tables; tests can provide their own paths.
public struct PathMonitor: Sendable {
    /// Receives the path.
    public typealias Handler = @Sendable (NetworkPath) -> Void

    let start: @Sendable (_ queue: DispatchQueue, _ onUpdate: @escaping Handler) -> Void
    let stop: @Sendable () -> Void

    /// Makes a monitor from two closures.
    ///
    /// - Parameters:
    ///   - start: Starts to call the handler on the queue, first with the current path and then
    ///     with every change. It is not called twice without a call of `stop` in between.
    ///   - stop: Stops the calls; `start` may be called again afterwards.
    public init(
        start: @escaping @Sendable (_ queue: DispatchQueue, _ onUpdate: @escaping Handler) -> Void,
        stop: @escaping @Sendable () -> Void
    ) {
        self.start = start
        self.stop = stop
    }

    /// A new monitor of the kernel's routing tables (rtnetlink); uses no resources until it is
    /// started.
    ///
    /// Reports ``NetworkPath/Status-swift.enum/unknown`` if the kernel does not answer.
    public static var system: PathMonitor {
        let monitor = RouteMonitor()
        return PathMonitor(
            start: { monitor.start(queue: $0, onUpdate: $1) }, stop: { monitor.stop() })
    }

    /// Returns a monitor that reports only the interfaces whose type is allowed.
    func restricted(
        _ isAllowed: @escaping @Sendable (NetworkPath.InterfaceType) -> Bool
    ) -> PathMonitor {
        PathMonitor(
            start: { queue, onUpdate in
                start(queue) { onUpdate($0.restricted(isAllowed)) }
            }, stop: stop)
    }
}

/// Reads the routing tables at the start and whenever the kernel reports a change.
private final class RouteMonitor: Sendable {
    private let watch = Lock<RouteWatch?>(nil)

    func start(queue: DispatchQueue, onUpdate: @escaping PathMonitor.Handler) {
        let socket: NetlinkSocket
        do {
            socket = try NetlinkSocket(groups: NetlinkSocket.changes, waits: false)
        } catch {
            queue.async { onUpdate(NetworkPath(status: .unknown)) }
            return
        }
        let last = Lock<NetworkPath?>(nil)
        let notify: @Sendable () -> Void = {
            let path = Self.currentPath()
            let isNew = last.withLock { last in
                defer { last = path }
                return last != path
            }
            if isNew { onUpdate(path) }
        }
        replace(with: RouteWatch(socket, queue: queue, onChange: notify))
        queue.async(execute: notify)
    }

    func stop() { replace(with: nil) }

    private func replace(with watch: RouteWatch?) {
        let former = self.watch.withLock { current in
            defer { current = watch }
            return current
        }
        former?.cancel()
    }

    deinit { stop() }

    static func currentPath() -> NetworkPath {
        do {
            return try NetlinkSocket.table().path { $0.type }
        } catch {
            return NetworkPath(status: .unknown)
        }
    }
}

/// Calls a closure when the kernel reports a change, until it is cancelled.
private final class RouteWatch: @unchecked Sendable {
    // because the only use of the dispatch source is to cancel it, which any thread may do.
    private let source: any DispatchSourceRead

    init(_ socket: NetlinkSocket, queue: DispatchQueue, onChange: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeReadSource(
            fileDescriptor: socket.descriptor, queue: queue)
        source.setEventHandler {
            socket.drain()
            onChange()
        }
        // Keeps the socket open as long as the source uses its descriptor.
        source.setCancelHandler { withExtendedLifetime(socket) {} }
        source.resume()
    }

    func cancel() { source.cancel() }
}

extension NetworkPath {
    /// The current path, read from the kernel at each access.
    public static var current: NetworkPath { RouteMonitor.currentPath() }
}
