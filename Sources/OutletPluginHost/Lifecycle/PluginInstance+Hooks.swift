import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Calling hooks that are given handles and return a status, or nothing.
extension PluginInstance {
    /// Calls a hook with the instance, the call's handle and the handles of its arguments.
    typealias HookCall<Result> =
        @Sendable (_ instance: OpaquePointer, _ call: outlet_call, _ handles: [UInt64]) -> Result

    /// Calls a hook that may fail.
    ///
    /// - Parameters:
    ///   - lenders: What the hook is given; its ids end with the call.
    ///   - then: Told why it failed, or that the plugin is closed; `nil` when it went well.
    func check(
        _ hook: PluginHook, lending lenders: [any AnyObject & Sendable],
        _ body: @escaping HookCall<outlet_status>,
        then: @escaping @Sendable (PluginError?) -> Void
    ) {
        lend(hook, lenders) { [self] pointer, context, call, handles -> PluginError? in
            let status = body(pointer, call, handles)
            return status == OUTLET_OK ? nil : failure(of: hook, context.reason(status))
        } then: { result in
            switch result {
            case .success(let failure): then(failure)
            case .failure(let closed): then(closed)
            }
        }
    }

    /// Calls a hook that only watches; a plugin that is closed misses it.
    func tell(
        _ hook: PluginHook, _ request: HTTPRequest,
        lending lenders: [any AnyObject & Sendable], _ body: @escaping HookCall<Void>,
        then: @escaping @Sendable () -> Void
    ) {
        let stopwatch = Stopwatch(owner.observer)
        lend(hook, lenders) { pointer, _, call, handles in
            body(pointer, call, handles)
        } then: { [self] result in
            if case .success = result {
                stopwatch.report(
                    owner, hook, requestID: request.context.id?.uuidString, effects: { [] },
                    failure: nil)
            }
            then()
        }
    }

    /// What a hook fails with, in the plugin's words.
    func failure(of hook: PluginHook, _ reason: PluginReason) -> PluginError {
        PluginError(
            plugin: id, hook: hook, kind: .failed, code: reason.code, message: reason.message)
    }

    /// What a hook fails with, in the host's words.
    func failure(of hook: PluginHook, _ message: String) -> PluginError {
        failure(of: hook, PluginReason(message: message))
    }

    private func lend<Result: Sendable>(
        _ hook: PluginHook, _ lenders: [any AnyObject & Sendable],
        _ body:
            @escaping @Sendable (OpaquePointer, CallContext, outlet_call, [UInt64]) -> Result,
        then: @escaping @Sendable (Swift.Result<Result, PluginError>) -> Void
    ) {
        let table = HandleTable.shared
        let owner = owner.number
        let handles = lenders.map { table.insert($0, owner: owner) }
        let context = CallContext(deadline: 0)
        let call = table.insert(context, owner: owner)
        run(
            hook, lending: lenders, { body($0, context, outlet_call(id: call), handles) }
        ) { result in
            for handle in handles { table.remove(handle) }
            table.remove(call)
            then(result)
        }
    }
}
