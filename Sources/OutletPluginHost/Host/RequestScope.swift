import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport

/// One call of a session as plugins know it: what each of them keeps for it, until `request_done`.
///
/// Only plugins with that hook take part.
///
/// Thread: any.
final class RequestScope: Sendable {
    /// Names the scope in a request's context: hooks of the wire and of the outcome share it.
    enum Key: RequestContextKey { typealias Value = RequestScope }

    /// Runs what the hooks of the wire and of the outcome do, one after the other.
    let order = HookOrder()

    private struct Entry: Sendable {
        let instance: PluginInstance
        /// The pointer's bits: it is the plugin's own, and never followed here.
        var slot: UInt = 0
        /// The hooks that are on a stack.
        var calls = 0
        /// Whether the instance ends before the call does.
        var isFinishing = false
        /// Whether the instance is kept from ending until `request_done` was called.
        var isHeld = false

        /// The entry, with its instance kept from ending until `request_done` was called.
        func held() -> Entry {
            var entry = self
            entry.isHeld = instance.hold()
            return entry
        }
    }

    private struct State {
        var entries: [Entry] = []
        /// The streams to end before `request_done` is called.
        var streams: [PluginStream] = []
        var isOver = false
        /// Whether the call was cancelled: only `did_receive` and `request_done` follow.
        var isCancelled = false
        /// Whether this is what `request_done` sees: nothing follows it.
        var isLast = false
    }

    private let state = Lock(State())
    private let id: UUID?
    private let lifetime: RequestLifetime?

    /// - Parameters:
    ///   - id: The request's.
    ///   - lifetime: The call's, where a session keeps one.
    init(id: UUID?, lifetime: RequestLifetime? = nil) {
        self.id = id
        self.lifetime = lifetime
    }

    /// The session of the call, as far as that is known.
    var session: Session? { lifetime?.session }

    /// The call was cancelled; its outcome follows.
    func cancel() { state.withLock { $0.isCancelled = true } }

    /// A hook of an instance is about to be called.
    ///
    /// - Returns: `false` when the call is over, or was cancelled and this hook would change it.
    func enter(_ instance: PluginInstance, for hook: PluginHook) -> Bool {
        state.withLock { state in
            guard !state.isLast else { return true }
            guard !state.isOver, !state.isCancelled || hook == .didReceive else { return false }
            let index = Self.index(of: instance, in: state.entries) ?? state.entries.count
            if index == state.entries.count {
                state.entries.append(Entry(instance: instance))
                instance.opened(ObjectIdentifier(self)) { [weak self, weak instance] in
                    if let instance { self?.finish(for: instance) }
                }
            }
            state.entries[index].calls += 1
            return true
        }
    }

    /// An instance ends: calls `request_done` now, or once its last hook is off the stack.
    private func finish(for instance: PluginInstance) {
        let idle = state.withLock { state -> Entry? in
            guard let index = Self.index(of: instance, in: state.entries) else { return nil }
            state.entries[index].isFinishing = true
            return state.entries[index].calls == 0
                ? state.entries.remove(at: index).held() : nil
        }
        if let idle { finish(idle) }
    }

    /// The hook is off the stack.
    func leave(_ instance: PluginInstance) {
        let last = state.withLock { state -> Entry? in
            guard let index = Self.index(of: instance, in: state.entries) else { return nil }
            guard !state.isLast else { return nil }
            state.entries[index].calls -= 1
            let isLast = state.isOver || state.entries[index].isFinishing
            guard isLast, state.entries[index].calls == 0 else { return nil }
            return state.entries.remove(at: index).held()
        }
        if let last { finish(last) }
    }

    /// The call is over: calls `request_done` of each instance that saw it, once its last hook is off the
    /// stack.
    func end() {
        let (idle, streams) = state.withLock { state -> ([Entry], [PluginStream]) in
            guard !state.isOver else { return ([], []) }
            state.isOver = true
            defer { state.streams = [] }
            let idle = state.entries.filter { $0.calls == 0 }.map { $0.held() }
            state.entries.removeAll { $0.calls == 0 }
            return (idle, state.streams)
        }
        for stream in streams { stream.end() }
        for entry in idle { finish(entry) }
    }

    /// A stream of the call has been opened.
    func keep(_ stream: PluginStream) {
        let isOver = state.withLock { state in
            if !state.isOver { state.streams.append(stream) }
            return state.isOver
        }
        if isOver { stream.end() }
    }

    // For calls without a session: no hook of the call can be called any more.
    deinit { end() }

    // MARK: Slots

    /// The pointer that an instance keeps for the call; `nil` if it has no part in the call.
    func slot(of instance: PluginInstance) -> UInt? {
        state.withLock { state in
            Self.index(of: instance, in: state.entries).map { state.entries[$0].slot }
        }
    }

    /// Keeps a pointer for an instance; `false` when it has no part in the call.
    func set(slot: UInt, of instance: PluginInstance) -> Bool {
        state.withLock { state in
            guard let index = Self.index(of: instance, in: state.entries) else { return false }
            state.entries[index].slot = slot
            return true
        }
    }

    private static func index(of instance: PluginInstance, in entries: [Entry]) -> Int? {
        entries.firstIndex { $0.instance === instance }
    }

    private func finish(_ entry: Entry) {
        entry.instance.closed(ObjectIdentifier(self))
        defer { if entry.isHeld { entry.instance.letGo() } }
        let last = RequestScope(id: id)
        last.state.withLock { state in
            state.entries = [Entry(instance: entry.instance, slot: entry.slot)]
            state.isLast = true
            state.isOver = true
        }
        var request = HTTPRequest(url: nil)
        request.context.id = id
        entry.instance.notifyDone(RequestHandle(request, scope: last), id: id)
    }
}
