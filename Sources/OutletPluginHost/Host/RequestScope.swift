import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTransport
import Synchronization

/// The state of one session call for plugins: the pointer that each plugin stores for it, and the
/// hooks that are running, until `request_done`.
///
/// Plugins without a `request_done` hook have no entry.
///
/// Thread: any.
final class RequestScope: Sendable {
    /// The key of the scope in a request's context.
    ///
    /// ``HookedWire`` and ``HookedCalls`` find the same scope there.
    enum Key: RequestContextKey { typealias Value = RequestScope }

    /// Runs `will_send`, `did_receive` and `process` of the call one after the other.
    let order = HookOrder()

    private struct Entry: Sendable {
        let instance: PluginInstance
        /// The bits of the plugin's pointer, which the host never dereferences.
        var slot: UInt = 0
        /// The number of hooks that are running.
        var calls = 0
        /// The number of hooks that were called, or are about to be.
        var uses = 0
        /// Whether the instance shuts down before the call ends.
        var isFinishing = false
        /// Whether the shutdown of the instance waits until `request_done` has been called.
        var isHeld = false
        /// The instance's streams, whose end functions return before `request_done` is called.
        var streams: [PluginStream] = []

        /// Returns the entry after delaying the shutdown of its instance until `request_done` has
        /// been called.
        func held() -> Entry {
            var entry = self
            entry.isHeld = instance.hold()
            return entry
        }
    }

    private struct State {
        var entries: [Entry] = []
        /// The instances that shut down before the end of the call, and have no entry any more.
        var finished: [ObjectIdentifier] = []
        /// The streams of instances without an entry.
        var streams: [PluginStream] = []
        /// The readers of bodies that plugins have read, and that could not be rewound, with the error.
        var spent: [(reader: BodyReader, failure: PluginError)] = []
        var isOver = false
        /// Whether the call was cancelled; only `did_receive`, `serialize` and `request_done` are called
        /// then.
        var isCancelled = false
        /// Whether the `did_receive` hooks of the cancelled call are being called.
        var isReportingCancel = false
        /// Whether this is the scope that is passed to `request_done`.
        var isLast = false
    }

    private static let count = Atomic<UInt64>(0)
    /// Identifies the call in the process.
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    private let state = Lock(State())
    private let id: UUID?
    /// The request as the program made it; `nil` if it is not known.
    private let asked: HTTPRequest?
    private let lifetime: RequestLifetime?
    /// A description of the request for crash reports; `nil` without them.
    private let name: String?
    /// The same in the scope that is passed to `request_done`; otherwise `nil`.
    let nameOfEnded: String?

    /// Creates a scope without entries.
    ///
    /// - Parameters:
    ///   - id: The id of the request.
    ///   - request: The request as the program made it; `nil` if it is not known.
    ///   - lifetime: The lifetime of the session's call; `nil` for a call without a session.
    init(id: UUID?, of request: HTTPRequest? = nil, lifetime: RequestLifetime? = nil) {
        self.id = id
        asked = request
        name = PluginWatch.isOn ? request.map { "\($0)" } : nil
        nameOfEnded = nil
        self.lifetime = lifetime
    }

    /// Creates the scope that is passed to the `request_done` of one instance.
    private init(last entry: Entry, of scope: RequestScope) {
        id = scope.id
        asked = nil
        name = nil
        nameOfEnded = scope.name
        lifetime = scope.lifetime
        state.withLock { state in
            state.entries = [Entry(instance: entry.instance, slot: entry.slot)]
            state.isLast = true
            state.isOver = true
        }
    }

    /// Whether the call has ended.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// The session of the call; `nil` if there is none or it no longer exists.
    var session: Session? { lifetime?.session }

    /// Records that the call was cancelled, before its outcome is passed to `did_receive`.
    ///
    /// An instance that shuts down then gets `did_receive` before its `request_done`;
    /// ``endReportingCancel()`` follows.
    func beginReportingCancel() {
        state.withLock { state in
            state.isCancelled = true
            state.isReportingCancel = true
        }
    }

    /// Records that the `did_receive` hooks of a call have been called; calls `request_done` of
    /// instances that shut down meanwhile.
    func endReportingCancel() {
        let idle = state.withLock { state -> [Entry] in
            guard state.isReportingCancel else { return [] }
            state.isReportingCancel = false
            let finishing = state.entries.filter(\.isFinishing)
            state.finished += finishing.map { ObjectIdentifier($0.instance) }
            state.entries.removeAll { $0.isFinishing && $0.calls == 0 }
            return finishing.filter { $0.calls == 0 }.map { $0.held() }
        }
        for entry in idle { finish(entry) }
    }

    /// Adds a hook that is about to be called to the running hooks of its instance.
    ///
    /// - Parameters:
    ///   - instance: The instance.
    ///   - hook: The hook.
    /// - Returns: `false` if the hook must not be called, because the call is over, or was
    ///   cancelled and the hook is neither `did_receive` nor `serialize`, or because the instance
    ///   shuts down and `request_done` has been called.
    func enter(_ instance: PluginInstance, for hook: PluginHook) -> Bool {
        let id = ObjectIdentifier(instance)
        // It is also called during a shutdown, but not for a call that is ended by that.
        let isServing = hook != .didReceive || instance.isServing
        let (mayBegin, isFirst) = state.withLock { state -> (Bool, Bool) in
            guard !state.isLast else { return (true, false) }
            // The program's middleware may have made a response of a cancellation.
            guard !state.isOver,
                !state.isCancelled || hook == .didReceive || hook == .serialize,
                isServing || state.isCancelled,
                !state.finished.contains(id)
            else { return (false, false) }
            let index = Self.index(of: instance, in: state.entries) ?? state.entries.count
            let isFirst = index == state.entries.count
            if isFirst {
                state.entries.append(Entry(instance: instance))
                // Without a reference to the instance: a weak one would make every retain of the
                // instance slower.
                instance.opened(ObjectIdentifier(self)) { [weak self] in self?.finish(for: id) }
            }
            state.entries[index].calls += 1
            state.entries[index].uses += 1
            return (true, isFirst)
        }
        // A shutdown may have gone through the open calls already.
        if isFirst, !instance.isServing { finish(for: id) }
        return mayBegin
    }

    /// Calls `request_done` of an instance that shuts down: now, or after its last running hook.
    private func finish(for instance: ObjectIdentifier) {
        let idle = state.withLock { state -> Entry? in
            guard
                let index = state.entries.firstIndex(where: {
                    ObjectIdentifier($0.instance) == instance
                })
            else { return nil }
            state.entries[index].isFinishing = true
            guard !state.isReportingCancel else { return nil }
            state.finished.append(instance)
            return state.entries[index].calls == 0
                ? state.entries.remove(at: index).held() : nil
        }
        if let idle { finish(idle) }
    }

    /// Removes a hook that has returned from the running hooks of its instance.
    ///
    /// Calls `request_done` if it was the last one and the call or the instance has ended.
    ///
    /// - Parameters:
    ///   - instance: The instance.
    ///   - wasCalled: Whether the hook was called; false if it was too late for it.
    func leave(_ instance: PluginInstance, wasCalled: Bool) {
        let last = state.withLock { state -> Entry? in
            guard let index = Self.index(of: instance, in: state.entries) else { return nil }
            guard !state.isLast else { return nil }
            state.entries[index].calls -= 1
            if !wasCalled { state.entries[index].uses -= 1 }
            let isLast =
                state.isOver || state.entries[index].isFinishing && !state.isReportingCancel
            guard isLast, state.entries[index].calls == 0 else { return nil }
            return state.entries.remove(at: index).held()
        }
        if let last { finish(last) }
    }

    /// Ends the call: ends its streams and calls `request_done` of each instance with an entry.
    ///
    /// For an instance with running hooks, `request_done` follows when the last of them has
    /// returned.
    func end() {
        let (idle, streams) = state.withLock { state -> ([Entry], [PluginStream]) in
            guard !state.isOver else { return ([], []) }
            state.isOver = true
            let streams = state.streams + state.entries.flatMap(\.streams)
            state.streams = []
            let idle = state.entries.filter { $0.calls == 0 }.map { $0.held() }
            state.entries.removeAll { $0.calls == 0 }
            return (idle, streams)
        }
        for stream in streams { stream.end() }
        for entry in idle { finish(entry) }
    }

    /// Keeps a stream until the call ends; ends it now if the call is over.
    func keep(_ stream: PluginStream) {
        let isOver = state.withLock { state in
            // With an entry also after the call, because then its hook is running.
            if let index = Self.index(of: stream.instance, in: state.entries) {
                state.entries[index].streams.append(stream)
            } else if !state.isOver {
                state.streams.append(stream)
            }
            return state.isOver
        }
        if isOver { stream.end() }
    }

    // MARK: Bodies

    /// Records that a plugin has read a body, which could not be rewound.
    ///
    /// - Parameters:
    ///   - reader: The reader of the body.
    ///   - failure: The error, which names the plugin.
    func note(unread reader: BodyReader, _ failure: PluginError) {
        state.withLock { $0.spent.append((reader, failure)) }
    }

    /// Rewinds the body of a request for another attempt if plugins have read it in an earlier one.
    ///
    /// Otherwise what they have left of it would be sent. Does nothing for a request that a plugin has
    /// answered, which is not sent.
    ///
    /// - Throws: The error of the first plugin that has read it, if it cannot be rewound.
    func rewindBody(of request: HTTPRequest) throws(PluginError) {
        guard case .stream(let stream) = request.body, request.givenAnswer?.isPending != true else {
            return
        }
        let spent = state.withLock { $0.spent.filter { $0.reader.reads(stream) } }
        guard !spent.isEmpty else { return }
        for (reader, failure) in spent {
            do {
                try reader.rewind()
            } catch {
                throw failure
            }
        }
        state.withLock { state in state.spent.removeAll { $0.reader.reads(stream) } }
    }

    /// The plugin's error in place of that of a body which cannot be sent again; `nil` for other
    /// errors, and if no plugin has read the body.
    func failureOfReader(behind error: any Error) -> PluginError? {
        let transferError = (error as? SessionError)?.transferError ?? error as? TransferError
        guard transferError?.code == .requestBodyStreamExhausted else { return nil }
        return state.withLock { $0.spent.first?.failure }
    }

    // Ends calls without a session: no hook of the call can be called after this.
    deinit { end() }

    // MARK: Slots

    /// Returns the pointer that an instance has stored for the call; `nil` if it has no entry.
    func slot(of instance: PluginInstance) -> UInt? {
        state.withLock { state in
            Self.index(of: instance, in: state.entries).map { state.entries[$0].slot }
        }
    }

    /// Stores a pointer of an instance for the call; returns `false` if it has no entry.
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

    /// Ends an instance's streams and pending hooks, and then calls its `request_done`.
    private func finish(_ entry: Entry) {
        entry.instance.closed(ObjectIdentifier(self))
        // Made here, because `self` must not be retained where `deinit` calls this.
        let scope = RequestScope(last: entry, of: self)
        let asked = asked
        let pending = entry.instance.completions.open(ofCall: number)
        let left = Lock(entry.streams.count + pending.count + 1)
        @Sendable func endOne() {
            let isLast = left.withLock { left in
                left -= 1
                return left == 0
            }
            guard isLast else { return }
            defer { if entry.isHeld { entry.instance.endHold() } }
            guard entry.uses > 0 else { return }
            var request = asked ?? HTTPRequest(url: nil)
            request.context.id = scope.id
            entry.instance.notifyDone(request, scope: scope)
        }
        for stream in entry.streams {
            stream.end()
            stream.whenEnded(endOne)
        }
        for completion in pending {
            completion.abandon()
            completion.whenCancelled(endOne)
        }
        endOne()
    }
}

extension HTTPRequest {
    /// The call that the request belongs to; `nil` for none.
    var scope: RequestScope? { hasContext ? context[RequestScope.Key.self] : nil }
}
