import COutletPlugin
import Dispatch
import OutletTransport

/// A request of a plugin to a service of the host, until the plugin has its answer: exactly once, at
/// the latest before `quiesce`.
///
/// Thread: any.
final class ServiceCall<Outcome: Sendable>: WatchedSubject {
    private enum State {
        /// It is being done; what ends it early.
        case underWay(stop: (@Sendable () -> Void)?)
        case over
    }

    let name: String
    private let instance: PluginInstance
    private let hook: PluginHook
    /// Makes the response that the plugin receives with an outcome.
    private let makeResponse: @Sendable (Outcome) -> ResponseHandle?
    private let callPlugin:
        @Sendable (OpaquePointer, outlet_call, Outcome, outlet_completion) -> Void
    private let state = Lock(State.underWay(stop: nil))
    private let identifier = Lock(UInt64(0))

    /// - Parameters:
    ///   - name: What it is about, secrets left out.
    ///   - callPlugin: Calls the plugin.
    init(
        of instance: PluginInstance, _ hook: PluginHook, name: String,
        makeResponse: @escaping @Sendable (Outcome) -> ResponseHandle? = { _ in nil },
        callPlugin:
            @escaping @Sendable (OpaquePointer, outlet_call, Outcome, outlet_completion) -> Void
    ) {
        self.instance = instance
        self.hook = hook
        self.name = name
        self.makeResponse = makeResponse
        self.callPlugin = callPlugin
    }

    /// Takes the call in.
    ///
    /// - Parameters:
    ///   - limit: How many such calls of an instance may be under way.
    ///   - closed: What comes of it when the instance ends before.
    /// - Returns: What the plugin names it by; `nil` where it may not begin.
    func begin(limit: Int, closed: Outcome) -> UInt64? {
        let id = HandleTable.shared.insert(self, owner: instance.owner.number)
        identifier.withLock { $0 = id }
        let isAdmitted = instance.admit(ObjectIdentifier(self), as: hook, limit: limit) {
            self.end(closed)
        }
        if !isAdmitted { HandleTable.shared.remove(id) }
        return isAdmitted ? id : nil
    }

    /// Keeps what ends it early; called at once where it is over.
    func stops(by stop: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            guard case .underWay = state else { return true }
            state = .underWay(stop: stop)
            return false
        }
        if isOver { stop() }
    }

    /// The plugin gives it up, perhaps inside of one of its own functions.
    func giveUp(_ outcome: Outcome) {
        DispatchQueue.global().async { self.end(outcome) }
    }

    /// Something came of it; the first time counts.
    ///
    /// Thread: any but a plugin's.
    func end(_ outcome: Outcome) {
        var isHeld = false
        let stop = state.withLock { state -> (@Sendable () -> Void)?? in
            guard case .underWay(let stop) = state else { return nil }
            state = .over
            // Held here, so that an end of the instance that finds it over waits for it.
            isHeld = instance.hold()
            return .some(stop)
        }
        guard let stop else { return }
        stop?()
        HandleTable.shared.remove(identifier.withLock { $0 })
        instance.dismiss(ObjectIdentifier(self), as: hook)
        guard isHeld else { return }
        let reported = instance.report(hook, about: self, passing: makeResponse(outcome)) {
            [callPlugin] in
            callPlugin($0, $1, outcome, $2)
        }
        // Only delivers the answer: nothing follows it.
        reported.deliver {}
        instance.letGo()
    }
}
