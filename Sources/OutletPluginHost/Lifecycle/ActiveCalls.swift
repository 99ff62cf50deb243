import Glibc
import OutletSession
import OutletTransport

/// A call into a plugin, until it returns.
///
/// It is on the stack of the thread that makes the call, and other threads find it through
/// ``ActiveCalls``. So a hook whose handles the plugin does not use needs no object.
struct ActiveCall: ~Copyable, @unchecked Sendable {
    // @unchecked: what changes while the call is in the list (the completion, the times, the links)
    // is protected by the lock of the plugin's owner.

    /// A call in the list.
    typealias Pointer = UnsafeMutablePointer<ActiveCall>

    /// Makes the completion of a call when it is first used.
    struct Source {
        let type: any CompletionMaking.Type
        /// What the completion is made of; valid during the call.
        let subject: UnsafeRawPointer
        /// Not retained: the caller of the hook retains it.
        let instance: Unmanaged<PluginInstance>
    }

    let hook: PluginHook
    /// The id of the completion passed to the hook, from the start of the call on; 0 if there is
    /// none.
    fileprivate(set) var id: UInt64
    /// When the answer is due, in nanoseconds of the monotonic clock, if there is a `source`.
    private(set) var deadline: UInt64
    /// The time limit for the answer, in nanoseconds, if there is a `source`.
    private let limit: UInt64
    /// The thread that makes the call (`pthread_self`).
    private(set) var thread = UInt(pthread_self())
    private let source: Source?
    /// When the call began, in nanoseconds of the monotonic clock.
    fileprivate(set) var start: UInt64
    /// When the call began to run code of the program, in nanoseconds of the monotonic clock; 0 if it
    /// does not.
    fileprivate var pause: UInt64 = 0
    /// How long the call took without code of the program, in nanoseconds, when it has returned.
    fileprivate(set) var duration: UInt64 = 0
    /// The completion; `nil` if there is none, or if it has not been made yet.
    fileprivate(set) var completion: Completion?
    fileprivate var next: Pointer?
    fileprivate var previous: Pointer?

    /// Makes a call that begins now.
    ///
    /// - Parameters:
    ///   - hook: The hook.
    ///   - completion: The completion passed to the hook; `nil` if there is none.
    init(_ hook: PluginHook, passing completion: Completion? = nil) {
        self.hook = hook
        self.completion = completion
        id = completion?.id ?? 0
        deadline = 0
        limit = 0
        source = nil
        start = Stopwatch.now
    }

    /// Makes a call of a hook whose completion is made when it is first used.
    ///
    /// - Parameters:
    ///   - hook: The hook.
    ///   - start: When the call begins, in nanoseconds of the monotonic clock.
    ///   - limit: The time limit for the answer, in nanoseconds.
    ///   - source: Makes the completion.
    // Inlined, as `begin` and `end`: otherwise each hook copies the call twice more.
    @inline(__always)
    init(_ hook: PluginHook, at start: UInt64, limit: UInt64, from source: Source) {
        self.hook = hook
        id = 0
        self.source = source
        self.limit = limit
        self.start = start
        deadline = start.adding(limit)
    }

    /// When the call ended, in nanoseconds of the monotonic clock, when it has returned.
    var end: UInt64 { start &+ duration }

    /// Whether the completion is made when it is first used.
    var makesCompletion: Bool { source != nil }

    /// Begins the call, which has waited for others, now and on the current thread.
    mutating func restart() {
        start = Stopwatch.now
        if makesCompletion { deadline = start.adding(limit) }
        thread = UInt(pthread_self())
    }

    /// The completion, made at the first call; `nil` if there is none.
    fileprivate mutating func madeCompletion() -> Completion? {
        if let completion { return completion }
        guard let source else { return nil }
        let made = source.instance._withUnsafeGuaranteedRef {
            source.type.make(of: source.subject, instance: $0, running: self)
        }
        completion = made
        return made
    }
}

/// A kind of completion that is made when it is first used.
protocol CompletionMaking {
    /// Makes the completion of a hook that is running; called with the lock of the plugin's owner.
    ///
    /// - Parameters:
    ///   - subject: What the hook is called for, in the form that the kind defines.
    ///   - instance: The plugin's instance.
    ///   - call: The call of the hook.
    static func make(
        of subject: UnsafeRawPointer, instance: PluginInstance, running call: borrowing ActiveCall
    ) -> Completion
}

/// The calls into one plugin that have not returned, and totals of those that have.
///
/// A value; the owner holds the lock.
struct ActiveCalls: @unchecked Sendable {
    // @unchecked because the pointers are used under the owner's lock only.
    private var first: ActiveCall.Pointer?
    /// The number of calls that have not returned.
    private(set) var count = 0
    /// The number of completions so far.
    private var completionCount: UInt64 = 0
    /// Totals of returned calls, at the position of the hook in `PluginHook.allCases`.
    private var totalsByHook = [PluginStatus.Hook](
        repeating: PluginStatus.Hook(), count: PluginHook.allCases.count)

    /// Totals of the hooks of which calls have returned.
    var totals: [(hook: PluginHook, total: PluginStatus.Hook)] {
        zip(PluginHook.allCases, totalsByHook).filter { $1.calls > 0 }.map { ($0, $1) }
    }

    /// Makes the id of a completion.
    ///
    /// - Parameter owner: The number of the plugin's owner.
    mutating func makeCompletionID(for owner: UInt16) -> UInt64 {
        completionCount &+= 1
        return HandleTable.completionID(completionCount, owner: owner)
    }

    /// Records the start of a call; ``end(_:at:)`` must follow before the call's memory ends.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - owner: The number of the plugin's owner.
    @inline(__always)
    mutating func begin(_ call: ActiveCall.Pointer, of owner: UInt16) {
        if call.pointee.makesCompletion { call.pointee.id = makeCompletionID(for: owner) }
        call.pointee.next = first
        first?.pointee.previous = call
        first = call
        count += 1
    }

    /// The completion with this id that was passed to a hook that is running; `nil` for none.
    func completion(of id: UInt64) -> Completion? {
        var next = first
        while let call = next {
            if call.pointee.id == id { return call.pointee.madeCompletion() }
            next = call.pointee.next
        }
        return nil
    }

    /// Whether the hook that a completion was passed to is running.
    func contains(_ id: UInt64) -> Bool {
        var next = first
        while let call = next {
            if call.pointee.id == id { return true }
            next = call.pointee.next
        }
        return false
    }

    /// The hook that a thread is running, the innermost of several; `nil` for none.
    func hook(on thread: UInt) -> PluginHook? { call(on: thread)?.pointee.hook }

    private func call(on thread: UInt) -> ActiveCall.Pointer? {
        var next = first
        while let call = next {
            if call.pointee.thread == thread { return call }
            next = call.pointee.next
        }
        return nil
    }

    /// Stops the time of the call that a thread is running.
    func pause(on thread: UInt, at now: UInt64) { call(on: thread)?.pointee.pause = now }

    /// Continues the time of that call.
    func goOn(on thread: UInt, at now: UInt64) {
        guard let call = call(on: thread), call.pointee.pause > 0 else { return }
        call.pointee.start &+= now &- call.pointee.pause
        call.pointee.pause = 0
    }

    /// The completion of a call that has not returned; `nil` if it has none.
    func completion(of call: ActiveCall.Pointer) -> Completion? { call.pointee.madeCompletion() }

    /// Records the end of a call.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - now: The present time, in nanoseconds of the monotonic clock.
    @inline(__always)
    mutating func end(_ call: ActiveCall.Pointer, at now: UInt64) {
        let (next, previous) = (call.pointee.next, call.pointee.previous)
        next?.pointee.previous = previous
        if let previous { previous.pointee.next = next } else { first = next }
        count -= 1
        call.pointee.duration = now &- call.pointee.start
        totalsByHook[call.pointee.hook.position].add(call.pointee.duration)
    }

    /// The calls that have not returned, with their duration until now.
    func all(of plugin: String) -> [PluginCall] {
        let now = Stopwatch.now
        var calls: [PluginCall] = []
        var next = first
        while let call = next {
            let isPaused = call.pointee.pause > 0
            let end = isPaused ? call.pointee.pause : now
            calls.append(
                PluginCall(
                    plugin: plugin, hook: call.pointee.hook, duration: end &- call.pointee.start,
                    waitsForProgram: isPaused))
            next = call.pointee.next
        }
        return calls
    }
}

/// A call into a plugin that has not returned, or that has returned `OUTLET_PENDING` and not
/// answered yet.
public struct PluginCall: Sendable, Equatable {
    /// The plugin's id; while its library is being loaded, the path of the file.
    public var plugin: String
    /// The hook.
    public var hook: PluginHook
    /// The time since the call began, in nanoseconds, without the time in which it has waited for a
    /// stream of the program.
    public var duration: UInt64
    /// The hook's time limit that the plugin's settings contain, in nanoseconds; `nil` for none.
    public var limit: UInt64?
    /// Whether the hook has returned and its answer is pending.
    public var isPending = false
    /// Whether the host waits until the hook returns, whatever the time limit: it runs on a
    /// transport's thread, or loads or creates the plugin.
    public var mustReturn = false
    /// Whether the call waits for a stream of the program.
    package var waitsForProgram = false
}

extension PluginHook {
    /// The position in `allCases`; the memory of a case without values has this number.
    fileprivate var position: Int { Int(unsafeBitCast(self, to: UInt8.self)) }
}

extension PluginStatus.Hook {
    /// Adds a call.
    ///
    /// - Parameter duration: The call's duration in nanoseconds.
    fileprivate mutating func add(_ duration: UInt64) {
        calls += 1
        self.duration &+= duration
        longest = max(longest, duration)
    }
}
