import COutletPlugin
import CPluginLoad

/// The hook that a thread is running, on the stack of that thread.
///
/// Host functions that the plugin calls on this thread find the objects of the hook here: without
/// the locks of the handle table and of the owner, and from the second use of the request on
/// without reference counting. Other threads, and other handles, use the handle table.
struct CurrentCall {
    private let call: ActiveCall.Pointer
    // None is retained: the caller of the hook retains the owner, and the call the completion, which
    // retains the objects passed to the hook.
    private let owner: Unmanaged<PluginOwner>
    /// The completion; `nil` before its first use.
    private var completion: Unmanaged<Completion>?
    /// The handle of ``completion``.
    private let id: UInt64
    /// The request; `nil` before its first use.
    private var request: KnownRequest?

    /// A request that the plugin has used.
    private struct KnownRequest {
        /// The request's handle.
        let id: UInt64
        /// The address of the plugin's host table, known to be the plugin's own.
        let host: UInt
        let completion: Unmanaged<Completion>
        let handle: Unmanaged<RequestHandle>
    }

    private init(_ call: ActiveCall.Pointer, of owner: PluginOwner) {
        self.call = call
        self.owner = .passUnretained(owner)
        id = call.pointee.id
    }

    /// Runs a hook.
    ///
    /// - Parameters:
    ///   - call: The call of the hook.
    ///   - owner: The owner of the plugin.
    ///   - body: Calls the plugin.
    static func running<Result>(
        _ call: ActiveCall.Pointer, of owner: PluginOwner, _ body: () -> Result
    ) -> Result {
        var call = CurrentCall(call, of: owner)
        return withUnsafeMutablePointer(to: &call) { call in
            let outer = cpluginload_current_call()
            cpluginload_set_current_call(call)
            defer { cpluginload_set_current_call(outer) }
            return body()
        }
    }

    private static var current: UnsafeMutablePointer<CurrentCall>? {
        cpluginload_current_call()?.assumingMemoryBound(to: CurrentCall.self)
    }

    /// The plugin whose hook this thread is running; `nil` for none.
    static var caller: PluginOwner? { current?.pointee.owner.takeUnretainedValue() }

    /// The completion of a handle of the hook that this thread is running; `nil` for others.
    static func completion(of id: UInt64) -> Completion? {
        guard let current, current.pointee.id == id & ~HandleTable.partMask else { return nil }
        if let known = current.pointee.completion { return known.takeUnretainedValue() }
        let (call, owner) = (current.pointee.call, current.pointee.owner)
        let made = owner._withUnsafeGuaranteedRef { $0.completion(of: call) }
        current.pointee.completion = made.map { .passUnretained($0) }
        return made
    }

    /// The call of the session that the hook belongs to which this thread is running; `nil` for none.
    static var origin: CallOrigin? {
        guard let current, let completion = completion(of: current.pointee.id) else { return nil }
        return (completion.argument(.request) as? RequestHandle)?.origin
            ?? (completion as? ServiceHook)?.origin
    }

    /// The request of a handle that was used before in the hook that this thread is running.
    ///
    /// - Returns: `nil` for others, and after the answer.
    // Inlined, because plugins read many fields.
    @inline(__always)
    static func request(
        of id: UInt64, in host: UnsafePointer<outlet_host>
    ) -> Unmanaged<RequestHandle>? {
        guard let known = current?.pointee.request, known.id == id,
            known.host == UInt(bitPattern: host),
            !known.completion._withUnsafeGuaranteedRef({ $0.isCancelled })
        else { return nil }
        return known.handle
    }

    /// Remembers the request of a handle if it belongs to the hook that this thread is running.
    static func remember(
        _ request: RequestHandle, _ id: UInt64, in host: UnsafePointer<outlet_host>
    ) {
        guard let current, current.pointee.id == id & ~HandleTable.partMask,
            let completion = current.pointee.completion
        else { return }
        current.pointee.request = KnownRequest(
            id: id, host: UInt(bitPattern: host), completion: completion,
            handle: .passUnretained(request))
    }
}
