import COutletPlugin
import OutletHTTP
import OutletSession
import OutletTransport

/// One call of a hook for a request, with the request and the outcome that the plugin sees.
///
/// The handles are made when the plugin first uses them: many hooks use only one or none.
///
/// Thread: any.
final class RequestHook: Completion, CompletionMaking, @unchecked Sendable {
    // @unchecked as the superclass; the other properties are constant or have a lock.

    /// What the plugin sees of the outcome of the request.
    enum Outcome: Sendable {
        case none
        /// The outcome of a call; the hook may replace it if it `isMutable`.
        case call(CallResult, isMutable: Bool)
        /// The outcome of an attempt, or a redirect.
        indirect case attempt(ResponseHandle.Outcome)
    }

    /// What a hook is called for; not copied, because each copy would retain each part.
    struct Subject: ~Copyable, Sendable {
        let hook: PluginHook
        /// The request that the hook is called for.
        let request: HTTPRequest
        /// The request that follows a redirect; `nil` for other hooks.
        var next: HTTPRequest?
        /// The changes that are allowed: to `next` if there is one, otherwise to `request`.
        var access = RequestHandle.Access.read
        /// The call that the request belongs to; `nil` for the one in its context.
        var scope: RequestScope?
        /// The header fields that the transport adds; `nil` if the plugin does not see them.
        var wire: WireFields?
        /// What the plugin sees of the outcome.
        var outcome = Outcome.none
        /// The time limit for the answer in nanoseconds; settings may shorten it.
        let limit: UInt64

        /// A description of what the hook is called for, without secrets.
        var name: String { scope?.nameOfEnded ?? "\(next ?? request)" }
    }

    /// What the hook may change: of the request that follows a redirect if there is one, otherwise
    /// of the request.
    private let access: RequestHandle.Access
    private let scope: RequestScope?
    /// The number of the call that `request_done` ends; not a reference, because a completion that
    /// was given up may live longer.
    private let callNumber: UInt64?
    /// The header fields that the transport adds; `nil` if the plugin does not see them.
    private let wire: WireFields?
    /// Whether the hook is called for a redirect.
    private let isOfRedirect: Bool
    private let handles = Lock(Handles())

    /// Creates a call; its deadline starts now.
    init(_ subject: borrowing Subject, of instance: PluginInstance) {
        access = subject.access
        scope = subject.scope
        callNumber = Self.callNumber(of: subject, instance)
        wire = subject.wire
        isOfRedirect = subject.next != nil
        super.init(hook: subject.hook, instance: instance, limit: subject.limit)
        handles.withLock { $0.source = Handles.Source(subject) }
    }

    /// Creates a call whose hook is running.
    private init(
        _ subject: borrowing Subject, of instance: PluginInstance,
        running call: borrowing ActiveCall
    ) {
        access = subject.access
        scope = subject.scope
        callNumber = Self.callNumber(of: subject, instance)
        wire = subject.wire
        isOfRedirect = subject.next != nil
        super.init(of: call, instance: instance, limit: subject.limit)
        handles.withLock { $0.source = Handles.Source(subject) }
    }

    private static func callNumber(
        of subject: borrowing Subject, _ instance: PluginInstance
    ) -> UInt64? {
        guard instance.hooks.request_done != nil else { return nil }
        return (subject.scope ?? subject.request.scope)?.number
    }

    override func belongs(toCall number: UInt64) -> Bool { callNumber == number }

    /// Creates a call whose hook is running; `subject` points to a ``Subject``.
    static func make(
        of subject: UnsafeRawPointer, instance: PluginInstance, running call: borrowing ActiveCall
    ) -> Completion {
        RequestHook(
            subject.assumingMemoryBound(to: Subject.self).pointee, of: instance, running: call)
    }

    override func argument(_ part: Part) -> (any AnyObject & Sendable)? {
        switch part {
        case .request: requestHandle
        case .response:
            handles.withLock { $0.used.response } ?? makeResponse()
        case .next: handles.withLock { $0.makeNext(access: access, scope: scope) }
        }
    }

    private var requestHandle: RequestHandle {
        // The handle that exists is found without copies of what a new one needs.
        handles.withLock { $0.used.request }
            ?? handles.withLock { handles in
                handles.makeRequest(
                    access: isOfRedirect ? .read : access, scope: scope, wire: wire)
            }
    }

    private func makeResponse() -> ResponseHandle? {
        // Without the lock, because the descriptions of errors may be user code.
        let made: ResponseHandle
        switch handles.withLock({ $0.outcome }) {
        case .none: return nil
        case .call(let result, let isMutable):
            made = ResponseHandle(.init(result), isMutable: isMutable)
        case .attempt(let outcome): made = ResponseHandle(outcome, isMutable: false)
        }
        return handles.withLock { $0.response(made) }
    }

    override var subjectName: String? {
        handles.withLock { $0.source }.map { "\($0.next ?? $0.request)".shortened(toBytes: 200) }
    }

    override func closeArguments() { handles.withLock { $0.close() } }

    override func enter() -> Bool {
        guard instance.hooks.request_done != nil else { return true }
        // If the host has answered, the request's call is not known any more.
        let handle = handles.withLock { handles in
            handles.source == nil
                ? handles.used.request
                : handles.makeRequest(
                    access: isOfRedirect ? .read : access, scope: scope, wire: wire)
        }
        return handle?.enter(instance, for: hook) ?? false
    }

    override func leave(wasCalled: Bool) {
        guard instance.hooks.request_done != nil else { return }
        handles.withLock { $0.used.request }?.leave(instance, wasCalled: wasCalled)
    }

    // MARK: The changes

    /// Ends the hook's access to its handles.
    ///
    /// Only the copies that the plugin has read are kept, because the instance retains a completion
    /// that was given up, until the plugin settles it or ends.
    ///
    /// - Returns: The handle of the request that the hook may change; `nil` if the plugin has not
    ///   used it, so that the request is unchanged.
    func seal() -> RequestHandle? {
        let used = end()
        used.response?.seal()
        guard isOfRedirect else { return used.request }
        _ = used.request?.seal()
        return used.next
    }

    /// Ends the hook's access to its handles, as ``seal()``.
    ///
    /// - Returns: The replacement of the outcome; `nil` if the plugin set none.
    func sealResponse() -> ResponseHandle.Replacement? {
        let used = end()
        _ = used.request?.seal()
        return used.response?.seal()
    }

    private func end() -> Handles.Used {
        // The source is released here, not under the lock.
        let (used, source) = handles.withLock { $0.end() }
        withExtendedLifetime(source) {}
        return used
    }
}

/// The handles that a hook has used, and what the others are made of; a value, whose owner has the
/// lock.
private struct Handles {
    /// The handles that the hook has used.
    struct Used {
        var request: RequestHandle?
        var response: ResponseHandle?
        /// That of the request that follows a redirect.
        var next: RequestHandle?
    }

    /// What handles are made of.
    struct Source {
        /// The request that the hook is called for.
        let request: HTTPRequest
        /// The request that follows a redirect.
        let next: HTTPRequest?
        let outcome: RequestHook.Outcome

        init(_ subject: borrowing RequestHook.Subject) {
            request = subject.request
            next = subject.next
            outcome = subject.outcome
        }
    }

    private(set) var used = Used()
    /// `nil` after the hook has ended.
    var source: Source?
    /// Whether the completion is settled, so that nothing may be changed any more.
    private var isClosed = false

    var outcome: RequestHook.Outcome { source?.outcome ?? .none }

    mutating func makeRequest(
        access: RequestHandle.Access, scope: RequestScope?, wire: WireFields?
    ) -> RequestHandle {
        if let request = used.request { return request }
        let made = RequestHandle(
            source?.request ?? HTTPRequest(url: nil), access: access, scope: scope, wire: wire)
        if isClosed { made.close() }
        used.request = made
        return made
    }

    mutating func makeNext(access: RequestHandle.Access, scope: RequestScope?) -> RequestHandle? {
        if let next = used.next { return next }
        guard let next = source?.next else { return nil }
        let made = RequestHandle(next, access: access, scope: scope)
        if isClosed { made.close() }
        used.next = made
        return made
    }

    /// Stores a handle, unless another thread has stored one.
    mutating func response(_ made: ResponseHandle) -> ResponseHandle {
        if let response = used.response { return response }
        if isClosed { made.close() }
        used.response = made
        return made
    }

    /// Closes the handles.
    ///
    /// - Returns: The handles, and what others would have been made of.
    mutating func end() -> (used: Used, source: Source?) {
        close()
        return (used, source.take())
    }

    mutating func close() {
        isClosed = true
        used.request?.close()
        used.response?.close()
        used.next?.close()
    }
}
