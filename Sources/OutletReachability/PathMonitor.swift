public import Dispatch
import OutletTransport

/// Watches the path: anything that can tell the current one and its changes.
///
/// ``system`` asks the kernel; tests give paths of their own.
public struct PathMonitor: Sendable {
    /// Called with the path.
    public typealias Handler = @Sendable (NetworkPath) -> Void

    let start: @Sendable (_ queue: DispatchQueue, _ onUpdate: @escaping Handler) -> Void
    let stop: @Sendable () -> Void

    /// Makes a monitor of two closures.
    ///
    /// - Parameters:
    ///   - start: Calls the handler on the queue, soon with the current path and then with every
    ///     change. Not called twice without `stop` in between.
    ///   - stop: Ends that; `start` may follow.
    public init(
        start: @escaping @Sendable (_ queue: DispatchQueue, _ onUpdate: @escaping Handler) -> Void,
        stop: @escaping @Sendable () -> Void
    ) {
        self.start = start
        self.stop = stop
    }

    /// The kernel's routing tables, over rtnetlink; costs nothing while it is not started.
    ///
    /// Tells ``NetworkPath/Status-swift.enum/unknown`` where the kernel does not answer.
    public static var system: PathMonitor {
        let monitor = RouteMonitor()
        return PathMonitor(
            start: { monitor.start(queue: $0, onUpdate: $1) }, stop: { monitor.stop() })
    }

    /// The same, seeing only interfaces that a rule lets pass.
    func restricted(
        _ isAllowed: @escaping @Sendable (NetworkPath.InterfaceType) -> Bool
    ) -> PathMonitor {
        PathMonitor(
            start: { queue, onUpdate in
                start(queue) { onUpdate($0.restricted(isAllowed)) }
            }, stop: stop)
    }
}

/// Reads the routing tables at the start and whenever the kernel tells of a change.
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

/// Calls a closure when the kernel tells of a change, until it is cancelled.
private final class RouteWatch: @unchecked Sendable {
    // because a dispatch source may be cancelled from any thread, which is all that is done to it.
    private let source: any DispatchSourceRead

    init(_ socket: NetlinkSocket, queue: DispatchQueue, onChange: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeReadSource(
            fileDescriptor: socket.descriptor, queue: queue)
        source.setEventHandler {
            socket.drain()
            onChange()
        }
        // Keeps the socket open as long as the source looks at it.
        source.setCancelHandler { withExtendedLifetime(socket) {} }
        source.resume()
    }

    func cancel() { source.cancel() }
}

extension NetworkPath {
    /// The path of this moment, as the kernel tells it.
    public static var current: NetworkPath { RouteMonitor.currentPath() }
}
