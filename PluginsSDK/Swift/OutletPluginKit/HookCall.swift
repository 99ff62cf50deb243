import COutletPlugin
import Synchronization

/// The hook call to which a task belongs, as long as the hook is not settled.
///
/// Tasks that a hook starts inherit it, and may run longer than the hook.
///
/// Thread: any.
final class HookCall: Sendable {
    /// The call of the current task; `nil` outside of hooks.
    @TaskLocal static var current: HookCall?

    private let id: UInt64
    // `nonisolated(unsafe)` because it is only compared.
    private nonisolated(unsafe) let table: UnsafePointer<outlet_host>
    private let isOpen = Mutex(true)

    init(_ completion: outlet_completion, of host: Host) {
        id = completion.id
        table = host.table
    }

    /// Passes the current task's call to a function of the host, during which its hook is not
    /// settled.
    ///
    /// - Parameters:
    ///   - table: The host of the instance that calls it.
    ///   - body: Calls the host; receives the call, or that of no hook if the hook has ended or is one
    ///     of another instance.
    static func withCurrent<Result>(
        of table: UnsafePointer<outlet_host>, _ body: (outlet_call) -> Result
    ) -> Result {
        guard let current, current.table == table else { return body(outlet_call()) }
        return current.isOpen.withLock { body(outlet_call(id: $0 ? current.id : 0)) }
    }

    /// Ends the call; to be called before the hook is settled.
    func end() { isOpen.withLock { $0 = false } }
}
