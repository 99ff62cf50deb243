import COutletPlugin
import Dispatch
import OutletTransport

/// A plugin's request to a service of the host, such as an HTTP request or a timer.
///
/// The plugin receives the outcome exactly once, at the latest before `quiesce`.
///
/// Thread: any.
final class ServiceCall<Outcome: Sendable>: ServiceSubject {
    private enum State {
        /// The service is active; `stop` ends it early.
        case running(stop: (@Sendable () -> Void)?)
        case over
    }

    let name: String
    let origin: CallOrigin?
    private let instance: PluginInstance
    private let hook: PluginHook
    /// Makes the response handle that the plugin receives with an outcome.
    private let makeResponse: @Sendable (Outcome) -> ResponseHandle?
    private let callPlugin:
        @Sendable (OpaquePointer, outlet_call, Outcome, outlet_completion) -> Void
    private let state = Lock(State.running(stop: nil))
    private let identifier = Lock(UInt64(0))
    /// Whether the request counts against the limit of its kind.
    private let hasRoom = Lock(true)
    private let report = PendingAnswer<Void>()

    /// Creates a request, which starts with ``begin(limit:closed:)``.
    ///
    /// - Parameters:
    ///   - instance: The plugin instance that makes the request.
    ///   - hook: The hook that reports the outcome.
    ///   - name: A description of the request, without secrets.
    ///   - origin: The call that the request belongs to; `nil` for none.
    ///   - makeResponse: Makes the response handle that the plugin receives; `nil` for none.
    ///   - callPlugin: Calls the plugin with the outcome.
    init(
        of instance: PluginInstance, _ hook: PluginHook, name: String, origin: CallOrigin? = nil,
        makeResponse: @escaping @Sendable (Outcome) -> ResponseHandle? = { _ in nil },
        callPlugin:
            @escaping @Sendable (OpaquePointer, outlet_call, Outcome, outlet_completion) -> Void
    ) {
        self.instance = instance
        self.hook = hook
        self.name = name
        self.origin = origin
        self.makeResponse = makeResponse
        self.callPlugin = callPlugin
    }

    /// Registers the request.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of requests of this kind for the instance whose end the plugin
    ///     has not been called for.
    ///   - closed: Returns the outcome if the instance shuts down first.
    /// - Returns: The handle id for the plugin.
    /// - Throws: ``ServiceObstacle`` if the limit is reached or the instance is shutting down.
    func begin(
        limit: Int, closed: @escaping @Sendable () -> Outcome
    ) throws(ServiceObstacle) -> UInt64 {
        try begin(limit: limit) { self.end(closed()) }
    }

    /// Registers the request.
    ///
    /// - Parameters:
    ///   - limit: As ``begin(limit:closed:)``.
    ///   - finish: Ends the request if the instance shuts down first.
    /// - Returns: As ``begin(limit:closed:)``.
    /// - Throws: As ``begin(limit:closed:)``.
    func begin(
        limit: Int, finish: @escaping @Sendable () -> Void
    ) throws(ServiceObstacle) -> UInt64 {
        let id = HandleTable.shared.insert(self, owner: instance.owner.number)
        identifier.withLock { $0 = id }
        let obstacle = instance.admit(
            ObjectIdentifier(self), as: hook, limit: limit, finish: finish)
        guard let obstacle else { return id }
        HandleTable.shared.remove(id)
        throw obstacle
    }

    /// Sets the closure that stops the service; calls it immediately if the request is over.
    func stops(by stop: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            guard case .running = state else { return true }
            state = .running(stop: stop)
            return false
        }
        if isOver { stop() }
    }

    /// Ends the request for the plugin.
    ///
    /// Ends it on another thread, because the plugin may call this inside one of its own functions.
    func cancel(with outcome: Outcome) {
        WorkerThreads.prompt.run { self.end(outcome) }
    }

    /// Ends the request and reports the outcome to the plugin; only the first call has an effect.
    ///
    /// Thread: any that is not inside a call of a plugin.
    func end(_ outcome: Outcome) {
        var isHeld = false
        let stop = state.withLock { state -> (@Sendable () -> Void)?? in
            guard case .running(let stop) = state else { return nil }
            state = .over
            // Inside the lock, so that a shutdown of the instance that finds the request over waits
            // for this report.
            isHeld = instance.hold()
            return .some(stop)
        }
        guard let stop else { return }
        stop?()
        HandleTable.shared.remove(identifier.withLock { $0 })
        instance.closed(ObjectIdentifier(self))
        guard isHeld else {
            releaseRoom()
            return report.give(())
        }
        let reported = instance.report(hook, about: self, passing: makeResponse(outcome)) {
            [callPlugin] in
            // Only now, so that the requests whose end is still to be reported are bounded, too.
            self.releaseRoom()
            callPlugin($0, $1, outcome, $2)
        }
        reported.deliver {
            self.releaseRoom()
            self.report.give(())
        }
        instance.endHold()
    }

    /// Lets the plugin make another request; only the first call has an effect.
    private func releaseRoom() {
        let hasRoom = hasRoom.withLock { hasRoom in
            defer { hasRoom = false }
            return hasRoom
        }
        if hasRoom { instance.releaseRoom(for: hook) }
    }

    /// Calls a closure when the plugin has returned from the report of the outcome, or was not
    /// called because it is shutting down; at once if that was before.
    ///
    /// Thread: `body` is called on any thread that is not inside a call of the plugin.
    func whenReported(_ body: @escaping @Sendable () -> Void) { report.whenGiven { body() } }
}
