import COutletPlugin
import OutletHTTP
import OutletTransport

/// A body on its way, piece by piece, as one plugin watches or makes it.
///
/// Thread: any.
final class PluginStream: WatchedSubject {
    private struct State {
        /// The pieces that are on a stack.
        var calls = 0
        /// Notifies the plugin that the piece it has promised is no longer needed.
        var abandon: (@Sendable () -> Void)?
        /// Whether the body, or the last one of them, came to its end.
        var isWhole = false
        var isOver = false
    }

    let instance: PluginInstance
    let name: String
    private let ending: ServiceCall<outlet_status>
    private let state = Lock(State())

    private init(of instance: PluginInstance, name: String, ending: ServiceCall<outlet_status>) {
        self.instance = instance
        self.name = name
        self.ending = ending
    }

    // For calls without a session: no piece can be requested any more.
    deinit { end() }

    /// Opens a stream.
    ///
    /// - Parameters:
    ///   - name: What it belongs to, secrets left out.
    ///   - end: Told when nothing more of it follows.
    /// - Returns: `nil` where so many are open already, or the plugin is ending.
    static func open(
        for instance: PluginInstance, name: String,
        end: @escaping @Sendable (OpaquePointer, outlet_call, outlet_status) -> Void
    ) -> PluginStream? {
        let ending = ServiceCall<outlet_status>(of: instance, .streamEnd, name: name) {
            pointer, call, status, _ in end(pointer, call, status)
        }
        let id = ending.begin(limit: Int(OUTLET_MAX_STREAMS), closed: OUTLET_E_CANCELLED)
        guard id != nil else { return nil }
        return PluginStream(of: instance, name: name, ending: ending)
    }

    /// Asks the plugin for its turn.
    ///
    /// - Parameters:
    ///   - arguments: The objects passed to the plugin.
    ///   - limit: The time limit for the answer, in nanoseconds.
    ///   - answered: Called once, never on the plugin's stack; before this returns if the plugin never
    ///     blocks and answers at once.
    func ask(
        _ hook: PluginHook, passing arguments: Completion.Arguments, limit: UInt64,
        _ body:
            @escaping @Sendable (OpaquePointer, outlet_call, outlet_completion) -> outlet_status,
        answered: @escaping @Sendable (PluginError?) -> Void
    ) {
        let stopwatch = Stopwatch(instance.owner.observer)
        let token = Completion(hook: hook, instance: instance, passing: arguments, limit: limit)
        let finish = { @Sendable [weak self, instance] (answer: Completion.Answer) in
            self?.state.withLock { $0.abandon = nil }
            guard case .failed(let failure) = answer else { return answered(nil) }
            stopwatch.report(
                instance.owner, hook, requestID: nil, effects: [], failure: failure.message)
            answered(failure)
        }
        let answer = instance.ask(token, about: self, settled: .done, .other(body))
        let asked = HookAnswer(answer, of: token, meaning: finish)
        guard let abandon = asked.deliver(to: {}) else { return }
        let isTooLate = state.withLock { state in
            if !token.isCancelled { state.abandon = abandon }
            return state.isOver
        }
        if isTooLate { abandon() }
    }

    /// Records whether the body is complete.
    func note(isWhole: Bool) { state.withLock { $0.isWhole = isWhole } }

    /// Nothing more follows: calls the plugin's end hook once its last piece is off the stack.
    func end() {
        let (abandon, isIdle) = state.withLock { state in
            defer { state.isOver = true }
            return (state.abandon.take(), !state.isOver && state.calls == 0)
        }
        abandon?()
        if isIdle { notifyEnd() }
    }

    private func notifyEnd() {
        ending.end(state.withLock { $0.isWhole } ? OUTLET_OK : OUTLET_E_CANCELLED)
    }

    func enter(_ instance: PluginInstance, for hook: PluginHook) -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.calls += 1
            return true
        }
    }

    func leave(_ instance: PluginInstance) {
        let isLast = state.withLock { state in
            state.calls -= 1
            return state.isOver && state.calls == 0
        }
        if isLast { notifyEnd() }
    }
}

/// A piece of a body, as long as a plugin may look at it.
final class PluginPiece: SettledSubject, @unchecked Sendable {
    // @unchecked because nothing of it ever changes.

    private let bytes: UnsafeRawBufferPointer

    /// Copies the bytes.
    init(_ bytes: UnsafeRawBufferPointer) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        copy.copyMemory(from: bytes)
        self.bytes = UnsafeRawBufferPointer(copy)
    }

    /// Whether this is the body's end.
    var isEmpty: Bool { bytes.isEmpty }

    /// The bytes as C takes them.
    var view: outlet_view {
        outlet_view(
            ptr: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), len: UInt64(bytes.count))
    }

    deinit { bytes.deallocate() }

    /// It cannot be changed.
    func close() {}
}
