import COutletPlugin
import OutletPointers
import Synchronization

/// One instance of a plugin, its conformances, and the tasks of its unfinished hooks.
final class Instance: @unchecked Sendable {
    // @unchecked because everything is constant except `work`, which has its own lock.
    let host: Host
    let hooks: UnsafePointer<outlet_hooks>
    let plugin: any Plugin
    let preparing: (any RequestPreparing)?
    let observing: (any RequestObserving)?
    let processing: (any ResponseProcessing)?
    let tracking: (any CallTracking)?
    let adapting: (any RequestAdapting)?
    let retrying: (any RequestRetrying)?
    let finalizing: (any RequestFinalizing)?
    let redirecting: (any RedirectDeciding)?
    let serializing: (any ResponseSerializing)?
    let monitoring: (any EventMonitoring)?
    let judging: (any ServerTrustDeciding)?
    let reconfiguring: (any Reconfiguring)?

    /// The task of a hook that has not ended.
    private struct Running {
        /// `nil` until its first suspension.
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    private struct Work {
        var isQuiescing = false
        var running: [UInt64: Running] = [:]
    }

    private let work = Mutex(Work())
    /// The names of serialized types, by which the views are found again.
    private static let names = Mutex([String: KeptView]())

    init(plugin: any Plugin, host: Host, hooks: UnsafePointer<outlet_hooks>) {
        self.plugin = plugin
        self.host = host
        self.hooks = hooks
        preparing = plugin as? any RequestPreparing
        observing = plugin as? any RequestObserving
        processing = plugin as? any ResponseProcessing
        tracking = plugin as? any CallTracking
        adapting = plugin as? any RequestAdapting
        retrying = plugin as? any RequestRetrying
        finalizing = plugin as? any RequestFinalizing
        redirecting = plugin as? any RedirectDeciding
        serializing = plugin as? any ResponseSerializing
        monitoring = plugin as? any EventMonitoring
        judging = plugin as? any ServerTrustDeciding
        reconfiguring = plugin as? any Reconfiguring
    }

    /// The instance to which the host's pointer points.
    static func at(_ pointer: OpaquePointer?) -> Instance? {
        pointer.map { ObjectPointer.object(at: UnsafeMutableRawPointer($0)) }
    }

    /// Retains the instance and returns a pointer for the host, which calls ``release(_:)`` at the
    /// end.
    func retained() -> OpaquePointer {
        OpaquePointer(ObjectPointer.retained(self))
    }

    /// Releases the reference of the host.
    static func release(_ pointer: OpaquePointer?) {
        if let pointer { ObjectPointer.release(UnsafeMutableRawPointer(pointer)) }
    }

    /// A view of the name of a serialized type; never freed, because there are few.
    func kept(_ type: String) -> outlet_view {
        Self.names.withLock { names in
            if let known = names[type] { return known.view }
            let view = outlet_view(keeping: type)
            names[type] = KeptView(view: view)
            return view
        }
    }

    /// Runs a hook in a task, on this thread up to its first suspension.
    ///
    /// - Parameters:
    ///   - completion: The completion of the hook.
    ///   - body: Runs the hook; returns a closure that settles it, which is called once.
    /// - Returns: The status that the hook must return.
    func run(
        _ completion: outlet_completion,
        _ body: @escaping @Sendable () async -> (Host) -> Void
    ) -> outlet_status {
        let accepted = work.withLock { work in
            guard !work.isQuiescing else { return false }
            work.running[completion.id] = Running()
            return true
        }
        guard accepted else { return OUTLET_E_CANCELLED }
        let task = Task.immediate {
            let call = HookCall(completion, of: self.host)
            let settle = await HookCall.$current.withValue(call) { await body() }
            call.end()
            settle(self.host)
            self.finished(completion.id)
        }
        let isOver = work.withLock { work in
            guard let hook = work.running[completion.id] else { return true }
            work.running[completion.id]?.task = task
            return work.isQuiescing || hook.isCancelled
        }
        if isOver { task.cancel() }
        return OUTLET_PENDING
    }

    /// Cancels the task of one hook.
    func cancel(_ completion: outlet_completion) {
        let task = work.withLock { work in
            work.running[completion.id]?.isCancelled = true
            return work.running[completion.id]?.task
        }
        task?.cancel()
    }

    /// Starts no more tasks and cancels the running ones.
    ///
    /// - Returns: Whether no task is running; otherwise the end of the last one calls
    ///   `outlet_host.quiesced`.
    func quiesce() -> Bool {
        let (tasks, isIdle) = work.withLock { work in
            work.isQuiescing = true
            return (work.running.values.compactMap(\.task), work.running.isEmpty)
        }
        for task in tasks { task.cancel() }
        return isIdle
    }

    private func finished(_ id: UInt64) {
        let isLast = work.withLock { work in
            work.running[id] = nil
            return work.isQuiescing && work.running.isEmpty
        }
        if isLast { host.quiesced() }
    }
}

/// A view of bytes that are never freed.
private struct KeptView: @unchecked Sendable {
    // @unchecked because the bytes never change.
    let view: outlet_view
}
