import COutletPlugin
import OutletHTTP
import OutletTransport
import Synchronization

/// A body that one plugin watches or makes piece by piece while it is transferred.
///
/// Thread: any.
final class PluginStream: ServiceSubject {
    private struct State {
        /// The number of calls of the plugin that are running, of answers that are pending, and of
        /// those that were abandoned and whose `cancel` has not returned.
        var calls = 0
        /// Abandons the pending answer, so that the plugin's `cancel` is called.
        var abandon: (@Sendable () -> Void)?
        var isOver = false
    }

    let instance: PluginInstance
    let name: String
    let origin: CallOrigin?
    private let ending: ServiceCall<outlet_status>
    private let state = Lock(State())
    private let completeness = Completeness()

    /// Whether the body, or the last one of several, is complete.
    private final class Completeness: Sendable {
        let isWhole = Atomic(false)

        /// What the plugin's end function receives if the stream ends now.
        var outcome: outlet_status {
            isWhole.load(ordering: .acquiring) ? OUTLET_OK : OUTLET_E_CANCELLED
        }
    }

    private init(
        of instance: PluginInstance, name: String, origin: CallOrigin,
        ending: ServiceCall<outlet_status>
    ) {
        self.instance = instance
        self.name = name
        self.origin = origin
        self.ending = ending
    }

    // Ends streams of calls without a scope: no piece can be requested after this. On another thread,
    // because the plugin may release the body inside one of its hooks.
    deinit {
        if state.withLock({ !$0.isOver }) { ending.cancel(with: completeness.outcome) }
    }

    /// Opens a stream.
    ///
    /// - Parameters:
    ///   - instance: The plugin instance.
    ///   - name: A description of the request, without secrets.
    ///   - origin: The call of the request.
    ///   - end: Calls the plugin's end function; called once.
    /// - Throws: ``ServiceObstacle`` if `OUTLET_MAX_STREAMS` are open, or the plugin is shutting down.
    static func open(
        for instance: PluginInstance, name: String, origin: CallOrigin,
        end: @escaping @Sendable (OpaquePointer, outlet_call, outlet_status) -> Void
    ) throws(ServiceObstacle) -> PluginStream {
        let ending = ServiceCall<outlet_status>(
            of: instance, .streamEnd, name: name, origin: origin
        ) {
            pointer, call, status, _ in end(pointer, call, status)
        }
        let stream = PluginStream(of: instance, name: name, origin: origin, ending: ending)
        let completeness = stream.completeness
        do {
            _ = try ending.begin(limit: Int(OUTLET_MAX_STREAMS)) { [weak stream] in
                if let stream { stream.end() } else { ending.end(completeness.outcome) }
            }
        } catch {
            stream.state.withLock { $0.isOver = true }
            throw error
        }
        return stream
    }

    /// Calls the plugin to receive or make a piece.
    ///
    /// - Parameters:
    ///   - hook: The kind of call, for errors and the observer.
    ///   - arguments: The objects passed to the plugin.
    ///   - limit: The time limit for the answer, in nanoseconds.
    ///   - body: Calls the plugin's function.
    ///   - answered: Called once with the failure, or `nil`, on any thread but never inside a call
    ///     of the plugin; before this function returns if the plugin never blocks and answers
    ///     immediately.
    func ask(
        _ hook: PluginHook, passing arguments: ServiceHook.Arguments, limit: UInt64,
        _ body:
            @escaping @Sendable (OpaquePointer, outlet_call, outlet_completion) -> outlet_status,
        answered: @escaping @Sendable (PluginError?) -> Void
    ) {
        let stopwatch = Stopwatch(instance.owner.observer)
        let token = ServiceHook(
            hook, of: instance, about: self, passing: arguments, limit: limit)
        // A shutdown of the plugin waits until the answer, and the `cancel` in its place, are over.
        let isHeld = instance.hold()
        state.withLock { $0.calls += 1 }
        let finish = { @Sendable [self] (answer: Completion.Answer) in
            state.withLock { $0.abandon = nil }
            if case .failed(let failure) = answer {
                stopwatch.report(
                    instance.owner, hook, requestID: nil, effects: [], failure: failure)
                answered(failure)
            } else {
                answered(nil)
            }
            token.whenCancelled { [self] in
                leave()
                if isHeld { instance.endHold() }
            }
        }
        let answer = instance.ask(token, settled: .done, .other(body))
        let asked = HookAnswer(answer, of: token, meaning: finish)
        guard let abandon = asked.deliver(to: {}) else { return }
        let isTooLate = state.withLock { state in
            if !token.isCancelled { state.abandon = abandon }
            return state.isOver
        }
        if isTooLate { abandon() }
    }

    /// Abandons the pending piece, if there is one.
    func abandonPiece() {
        let abandon = state.withLock { $0.abandon.take() }
        abandon?()
    }

    /// Records whether the body is complete.
    func note(isWhole: Bool) { completeness.isWhole.store(isWhole, ordering: .releasing) }

    /// Ends the stream: abandons a pending piece, and calls the plugin's end function when the last
    /// running call and the `cancel` of the piece have returned.
    func end() {
        let (abandon, isIdle) = state.withLock { state in
            defer { state.isOver = true }
            return (state.abandon.take(), !state.isOver && state.calls == 0)
        }
        abandon?()
        if isIdle { notifyEnd() }
    }

    /// Calls a closure when the plugin's end function has returned; at once if it has already.
    func whenEnded(_ body: @escaping @Sendable () -> Void) { ending.whenReported(body) }

    private func notifyEnd() { ending.end(completeness.outcome) }

    func enter() -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.calls += 1
            return true
        }
    }

    func leave() {
        let isLast = state.withLock { state in
            state.calls -= 1
            return state.isOver && state.calls == 0
        }
        if isLast { notifyEnd() }
    }
}

/// A copy of a piece of a body, which plugins can read as long as this object exists.
final class PluginPiece: SettledSubject, @unchecked Sendable {
    // @unchecked because the bytes never change.

    private let bytes: UnsafeRawBufferPointer

    /// Copies the bytes.
    init(_ bytes: UnsafeRawBufferPointer) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        copy.copyMemory(from: bytes)
        self.bytes = UnsafeRawBufferPointer(copy)
    }

    /// Whether the piece is the end of the body.
    var isEmpty: Bool { bytes.isEmpty }

    /// The bytes as a C view.
    var view: outlet_view {
        outlet_view(
            ptr: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), len: UInt64(bytes.count))
    }

    deinit { bytes.deallocate() }

    /// Does nothing, because a piece cannot be changed.
    func close() {}
}
