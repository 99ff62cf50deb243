import COutletPlugin
import Glibc
import OutletHTTP
import OutletSession
import OutletTransport
import Synchronization

/// The state of one call of a plugin function: the deadline, the failure reason that the plugin
/// sets, and, in `create` and `reconfigure`, the configuration.
class CallContext: @unchecked Sendable {
    // @unchecked because the compiler cannot check subclasses; each protects its state with a lock of
    // its own.

    /// The deadline, in nanoseconds of the monotonic clock; 0 for none.
    final var deadline: UInt64 { due.load(ordering: .relaxed) }
    private let due: Atomic<UInt64>
    private let configuration: JSONValue?
    private let state = Lock(State())

    private struct State: ~Copyable {
        var failure: PluginReason?
        /// What was wrong with the last reason that was refused.
        var refusedReason: RefusedText?
        var arena = ByteArena()
        /// The changes that the host has refused.
        var refusals: [String] = []
    }

    /// The only thread that may use the handles passed to the call; 0 if any thread may.
    private let thread = Atomic<UInt>(0)

    /// Creates the context of a call.
    ///
    /// - Parameters:
    ///   - deadline: The deadline, in nanoseconds of the monotonic clock; 0 for none.
    ///   - configuration: The instance's configuration in `create` and `reconfigure`; otherwise
    ///     `nil`.
    init(deadline: UInt64, configuration: JSONValue? = nil) {
        due = Atomic(deadline)
        self.configuration = configuration
    }

    /// Sets another deadline.
    final func postpone(to deadline: UInt64) { due.store(deadline, ordering: .relaxed) }

    /// Allows only one thread (`pthread_self`) to use the handles passed to the call.
    func confine(to thread: UInt) { self.thread.store(thread, ordering: .relaxed) }

    /// Whether the current thread may use the handles passed to the call.
    var allowsCurrentThread: Bool {
        let thread = thread.load(ordering: .relaxed)
        return thread == 0 || thread == UInt(pthread_self())
    }

    /// Sets the failure reason; the last one counts.
    func fail(_ reason: PluginReason) {
        state.withLock { $0.failure = reason }
    }

    /// Records that the plugin's failure reason was refused; a reason that it set stays.
    func refuseReason(_ refused: RefusedText) {
        state.withLock { $0.refusedReason = refused }
    }

    /// The changes that the host has refused, at most 8.
    final var refusals: [String] { state.withLock { $0.refusals } }

    /// Records that the host has refused a change that the plugin has asked for in the call.
    final func noteRefusal(_ text: String) {
        state.withLock { if $0.refusals.count < 8 { $0.refusals.append(text) } }
    }

    /// Whether the call has a configuration.
    var hasConfiguration: Bool { configuration != nil }

    /// Returns a configuration value as text.
    ///
    /// - Parameter key: The key, or the keys of nested objects separated by dots. A key that itself
    ///   contains the dots takes precedence.
    /// - Returns: The string, or the JSON text of other values, in which a whole number up to 2^53 has
    ///   neither a fraction nor an exponent; `nil` if there is no such value or the call has no
    ///   configuration.
    func setting(_ key: String) -> CopiedBytes? {
        guard let configuration else { return nil }
        var value = configuration[key]
        if value == nil {
            value = configuration
            for name in key.parts(separatedBy: ".") {
                value = value?[String(name)]
            }
        }
        guard let value else { return nil }
        let text = value.stringValue ?? value.wholeNumber.map { "\($0)" } ?? value.text()
        return copy(text)
    }

    /// Copies a text for the plugin; the copy is valid as long as this object exists.
    final func copy(_ text: String) -> CopiedBytes { state.withLock { $0.arena.copy(text) } }

    /// Returns the failure reason for a status.
    ///
    /// - Parameters:
    ///   - status: The status that the plugin returned.
    ///   - refusal: Why the host has refused what the plugin has written; `nil` if it has not.
    /// - Returns: The reason that the plugin set; if it has no message, with `refusal` or a default
    ///   one, which says why the plugin's was refused. Its message names a status that the plugin must
    ///   not return.
    func reason(_ status: outlet_status, after refusal: String? = nil) -> PluginReason {
        let (failure, refused) = state.withLock { ($0.failure, $0.refusedReason) }
        let (what, isClear) =
            switch status {
            case OUTLET_E_DENIED: ("denied", false)
            case OUTLET_E_ARGUMENT: ("a wrong argument", false)
            case OUTLET_E_TIMEOUT: ("timed out", true)
            case OUTLET_E_CANCELLED: ("cancelled", true)
            case OUTLET_E_UNSUPPORTED: ("not supported", true)
            default: ("status \(status)", false)
            }
        let given = failure ?? PluginReason(message: "")
        var reason =
            if let refused {
                given.or(
                    "\(what), without a reason that can be read: \(refused.fact)",
                    fault: .unreadable)
            } else if refusal != nil || isClear {
                given.or(refusal ?? what, fault: nil)
            } else {
                given.orMissing(what)
            }
        reason.isRefusal = status == OUTLET_E_DENIED
        guard status > 0 else { return reason }
        let fact = ReasonFault.fact(ofUndefined: status)
        reason.message = given.message.isEmpty ? fact : "\(given.message) (\(fact))"
        reason.fault = .undefinedStatus
        return reason
    }
}

/// An object that a plugin can change until the completion it was passed with is settled.
protocol SettledSubject: AnyObject, Sendable {
    /// Makes further changes fail.
    func close()
}

/// Collects the bytes that an exported function or a `serialize` hook writes.
///
/// Thread: any.
final class SinkHandle: SettledSubject {
    /// The maximum total size, in bytes.
    static let limit = 64 << 20

    private struct State {
        var bytes: [UInt8] = []
        var isClosed = false
        /// Why a write was refused.
        var refusal: String?
    }

    private let state = Lock(State())

    /// Appends bytes.
    ///
    /// - Parameter view: The bytes; they are copied.
    /// - Returns: `OUTLET_E_STALE` if the sink is closed; `OUTLET_E_ARGUMENT` if the view is
    ///   invalid or the total size would exceed ``limit``.
    func write(_ view: outlet_view) -> outlet_status {
        guard let more = view.foreign(.body) else {
            state.withLock { $0.refusal = "a piece that it has written cannot be read" }
            return OUTLET_E_ARGUMENT
        }
        // Copied outside the lock's closure, which can capture Sendable values only.
        let copy = Array(more)
        return state.withLock { state in
            guard !state.isClosed else { return OUTLET_E_STALE }
            guard copy.count <= SinkHandle.limit - state.bytes.count else {
                state.refusal = "it has written more than \(SinkHandle.limit) bytes"
                return OUTLET_E_ARGUMENT
            }
            state.bytes.append(contentsOf: copy)
            return OUTLET_OK
        }
    }

    func close() { state.withLock { $0.isClosed = true } }

    var content: [UInt8] { state.withLock { $0.bytes } }

    /// Why a write was refused, so that ``content`` lacks a part; `nil` if none was.
    var refusal: String? { state.withLock { $0.refusal } }
}

extension JSONValue {
    /// The value of a number such as `1e2` or `100.0`, which a schema takes for an integer; `nil` for
    /// others, and above 2^53.
    fileprivate var wholeNumber: Int64? {
        guard case .number(let number) = self, number.intValue == nil,
            abs(number.doubleValue) <= 0x1p53
        else { return nil }
        return Int64(exactly: number.doubleValue)
    }
}
