import COutletPlugin
import Glibc
import OutletHTTP
import OutletSession
import OutletTransport
import Synchronization

/// One call of a plugin: where its failure text goes, until when it is waited for, and, in
/// `create`, its configuration.
class CallContext: @unchecked Sendable {
    // @unchecked because its one subclass adds nothing but what has its own lock.

    /// In nanoseconds of the monotonic clock; 0 is never.
    let deadline: UInt64
    private let configuration: JSONValue?
    private let state = Lock(State())

    private struct State: ~Copyable {
        var failure: PluginReason?
        var arena = ByteArena()
    }

    /// The thread that runs the call, where no other may use what was passed to it; else 0.
    private let thread = Atomic<UInt>(0)

    /// Creates the context of a call.
    ///
    /// - Parameters:
    ///   - deadline: In nanoseconds of the monotonic clock; 0 is never.
    ///   - configuration: The instance's configuration, in `create` and `reconfigure`; else `nil`.
    init(deadline: UInt64, configuration: JSONValue? = nil) {
        self.deadline = deadline
        self.configuration = configuration
    }

    /// Forbids other threads than this one to use what is passed to the call.
    func confineToCurrentThread() { thread.store(UInt(pthread_self()), ordering: .relaxed) }

    /// Whether this thread may use what was passed to the call.
    var allowsCurrentThread: Bool {
        let thread = thread.load(ordering: .relaxed)
        return thread == 0 || thread == UInt(pthread_self())
    }

    /// What the plugin said about its failure.
    private var failure: PluginReason? { state.withLock { $0.failure } }

    func fail(_ reason: PluginReason) {
        state.withLock { $0.failure = reason }
    }

    /// A setting by its key; dots lead into objects.
    func setting(_ key: String) -> CopiedBytes? {
        guard let configuration else { return nil }
        // A key with dots of its own wins over a path.
        var value = configuration[key]
        if value == nil {
            value = configuration
            for name in key.parts(separatedBy: ".") {
                value = value?[String(name)]
            }
        }
        guard let value else { return nil }
        let text = value.stringValue ?? value.text()
        return state.withLock { $0.arena.copy(text) }
    }

    /// The reason for a status: the plugin's text if it set one.
    func reason(_ status: outlet_status) -> PluginReason {
        let text =
            switch status {
            case OUTLET_E_DENIED: "denied, without a reason"
            case OUTLET_E_ARGUMENT: "a wrong argument, without a reason"
            case OUTLET_E_TIMEOUT: "timed out"
            case OUTLET_E_CANCELLED: "cancelled"
            case OUTLET_E_UNSUPPORTED: "not supported"
            default: "status \(status), without a reason"
            }
        var reason = failure?.or(text) ?? PluginReason(message: text)
        reason.isRefusal = status == OUTLET_E_DENIED
        return reason
    }
}

/// An object passed to a hook with its completion; it can be changed until that is settled.
protocol SettledSubject: AnyObject, Sendable {
    /// Takes no change any more.
    func close()
}

/// Bytes that an exported function writes.
final class SinkHandle: SettledSubject {
    /// The most that is taken, in bytes.
    static let limit = 64 << 20

    private struct State {
        var bytes: [UInt8] = []
        var isClosed = false
    }

    private let state = Lock(State())

    func write(_ view: outlet_view) -> outlet_status {
        guard let more = view.foreign(.body) else { return OUTLET_E_ARGUMENT }
        // Copied outside the lock's closure, which takes only values that may cross threads.
        let copy = Array(more)
        return state.withLock { state in
            guard !state.isClosed else { return OUTLET_E_STALE }
            guard copy.count <= SinkHandle.limit - state.bytes.count else {
                return OUTLET_E_ARGUMENT
            }
            state.bytes.append(contentsOf: copy)
            return OUTLET_OK
        }
    }

    func close() { state.withLock { $0.isClosed = true } }

    var content: [UInt8] { state.withLock { $0.bytes } }
}
