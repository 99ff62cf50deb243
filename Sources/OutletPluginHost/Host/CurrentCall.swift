import COutletPlugin
import CPluginLoad

/// The hook that a thread is running, on the stack of that thread.
///
/// Host functions that the plugin calls on this thread find the objects of the hook here: without
/// the locks of the handle table and of the owner, and from the second use of the request on
/// without reference counting. Other threads, and other handles, use the handle table.
struct CurrentCall {
    private let call: ActiveCall.Place
    // None is retained: the caller of the hook retains the owner, and the call the completion, which
    // retains the objects passed to the hook.
    private let owner: Unmanaged<PluginOwner>
    /// The completion; `nil` before its first use.
    private var completion: Unmanaged<Completion>?
    private var request: Unmanaged<RequestHandle>?
    /// The handle of ``completion``.
    private let id: UInt64
    /// The handle of ``request``.
    private var requestID: UInt64 = 0
    /// The host table of the plugin, known to be the plugin's own.
    private var host: UnsafePointer<outlet_host>?

    private init(_ call: ActiveCall.Place, of owner: PluginOwner) {
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
        _ call: ActiveCall.Place, of owner: PluginOwner, _ body: () -> Result
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

    /// The request of a handle that was used before in the hook that this thread is running.
    ///
    /// - Returns: `nil` for others, and after the answer.
    static func request(
        of id: UInt64, in host: UnsafePointer<outlet_host>
    ) -> Unmanaged<RequestHandle>? {
        guard let current, current.pointee.requestID == id, current.pointee.host == host,
            current.pointee.completion?._withUnsafeGuaranteedRef({ $0.isCancelled }) == false
        else { return nil }
        return current.pointee.request
    }

    /// Remembers the request of a handle if it belongs to the hook that this thread is running.
    static func remember(
        _ request: RequestHandle, _ id: UInt64, in host: UnsafePointer<outlet_host>
    ) {
        guard let current, current.pointee.id == id & ~HandleTable.partMask else { return }
        current.pointee.request = .passUnretained(request)
        current.pointee.requestID = id
        current.pointee.host = host
    }
}
