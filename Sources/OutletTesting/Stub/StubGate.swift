import OutletSession
import OutletTransport

/// Pauses answers until it is opened, and lets tests wait for an answer to reach it.
///
/// Pass it to `StubAnswer.waiting(atByte:for:)`.
///
/// Thread: any.
public final class StubGate: Sendable {
    private struct Visitor {
        let count: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var isOpen = false
        var arrivals = 0
        var waiting: [@Sendable () -> Void] = []
        var visitors: [UInt64: Visitor] = [:]
        var lastVisitor: UInt64 = 0
    }
    private let state = Lock(State())

    /// Makes a closed gate.
    public init() {}

    /// Opens the gate for good: paused answers continue, later ones do not pause.
    public func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isOpen = true
            return state.waiting
        }
        for goOn in waiting { goOn() }
    }

    /// How many answers have reached the gate so far, open or closed.
    public var arrivals: Int { state.withLock { $0.arrivals } }

    /// Waits until a number of answers have reached the gate, or until the task is cancelled.
    ///
    /// - Parameter count: The value of ``arrivals`` to wait for; returns at once if it is reached.
    public func arrival(_ count: Int = 1) async {
        let id = state.withLock { state in
            state.lastVisitor += 1
            return state.lastVisitor
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    guard state.arrivals < count, !Task.isCancelled else { return true }
                    state.visitors[id] = Visitor(count: count, continuation: continuation)
                    return false
                }
                if isThere { continuation.resume() }
            }
        } onCancel: {
            let visitor = state.withLock { $0.visitors.removeValue(forKey: id) }
            visitor?.continuation.resume()
        }
    }

    /// Counts an arrival, and calls `goOn` once, when the gate is open.
    ///
    /// Thread of `goOn`: the calling one, or the one that opens the gate.
    func pass(_ goOn: @escaping @Sendable () -> Void) {
        let (isOpen, visitors) = state.withLock { state in
            state.arrivals += 1
            let ready = state.visitors.filter { $0.value.count <= state.arrivals }
            for id in ready.keys { state.visitors[id] = nil }
            if !state.isOpen { state.waiting.append(goOn) }
            return (state.isOpen, Array(ready.values))
        }
        for visitor in visitors { visitor.continuation.resume() }
        if isOpen { goOn() }
    }
}
