import OutletSession
import OutletTransport

/// Holds answers back until it is opened, and tells when one has come to it.
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

    /// A closed gate.
    public init() {}

    /// Lets everything pass, now and later.
    public func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isOpen = true
            return state.waiting
        }
        for goOn in waiting { goOn() }
    }

    /// How many answers have come to the gate.
    public var arrivals: Int { state.withLock { $0.arrivals } }

    /// Waits until so many answers have come to the gate, or until the task is cancelled.
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

    /// Calls `goOn` once the gate is open.
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
