import COutletPlugin
import OutletHTTP
import OutletSession
import OutletTransport

/// One call of a hook for a request, with the request and the outcome that the plugin sees.
///
/// The handles are made when the plugin first uses them: many hooks use only one or none.
///
/// Thread: any.
final class RequestHook: Completion, @unchecked Sendable {
    // @unchecked as the superclass; the other properties are constant or have a lock.

    /// What the plugin sees of the outcome of the request.
    enum Outcome: Sendable {
        case none
        /// The outcome of a call; the hook may replace it if it `isMutable`.
        case call(CallResult, isMutable: Bool)
        /// The outcome of an attempt, or a redirect.
        indirect case attempt(ResponseHandle.Outcome)
    }

    /// The request that the hook is called for.
    private let request: HTTPRequest
    /// What the hook may change: of ``next`` if there is one, otherwise of ``request``.
    private let access: RequestHandle.Access
    private let scope: RequestScope?
    /// The header fields that the transport adds; `nil` if the plugin does not see them.
    private let wire: WireFields?
    private let outcome: Outcome
    /// The request that follows a redirect.
    private let next: HTTPRequest?
    private let handles = Lock(Handles())

    /// Creates a call; its deadline starts now.
    ///
    /// - Parameters:
    ///   - hook: The hook.
    ///   - instance: The plugin's instance.
    ///   - request: The request that the hook is called for.
    ///   - next: The request that follows a redirect; `nil` for other hooks.
    ///   - access: The changes that are allowed: to `next` if there is one, otherwise to `request`.
    ///   - scope: The call that the request belongs to; `nil` for the one in its context.
    ///   - wire: The header fields that the transport adds; `nil` if the plugin does not see them.
    ///   - outcome: What the plugin sees of the outcome.
    ///   - limit: The time limit for the answer in nanoseconds; settings may shorten it.
    init(
        _ hook: PluginHook, of instance: PluginInstance, for request: HTTPRequest,
        next: HTTPRequest? = nil, access: RequestHandle.Access = .read,
        scope: RequestScope? = nil, wire: WireFields? = nil, outcome: Outcome = .none,
        limit: UInt64
    ) {
        self.request = request
        self.next = next
        self.access = access
        self.scope = scope
        self.wire = wire
        self.outcome = outcome
        super.init(hook: hook, instance: instance, limit: limit)
    }

    override var name: String { scope?.nameOfEnded ?? "\(next ?? request)" }

    override func argument(_ part: Part) -> (any AnyObject & Sendable)? {
        switch part {
        case .request: requestHandle
        case .response:
            handles.withLock { $0.response } ?? handles.withLock { $0.response(of: outcome) }
        case .next:
            next.map { next in
                handles.withLock { $0.next(next, access: access, scope: scope) }
            }
        }
    }

    private var requestHandle: RequestHandle {
        // The handle that exists is found without copies of what a new one needs.
        handles.withLock { $0.request }
            ?? handles.withLock { handles in
                handles.request(
                    request, access: next == nil ? access : .read, scope: scope, wire: wire)
            }
    }

    override func closeArguments() { handles.withLock { $0.close() } }

    override func enter() -> Bool {
        guard instance.hooks.request_done != nil else { return true }
        return requestHandle.enter(instance, for: hook)
    }

    override func leave() {
        guard instance.hooks.request_done != nil else { return }
        requestHandle.leave(instance)
    }

    // MARK: The changes

    /// Ends the hook's access to its handles.
    ///
    /// - Returns: The handle of the request that the hook may change; `nil` if the plugin has not
    ///   used it, so that the request is unchanged.
    func seal() -> RequestHandle? {
        handles.withLock { handles in
            handles.close()
            return next == nil ? handles.request : handles.next
        }
    }

    /// Ends the hook's access to its handles.
    ///
    /// - Returns: The replacement of the outcome; `nil` if the plugin set none.
    func sealResponse() -> ResponseHandle.Replacement? {
        let used = handles.withLock { handles in
            handles.close()
            return handles.response
        }
        return used?.seal()
    }
}

/// The handles that a hook has used; a value, whose owner has the lock.
private struct Handles {
    private(set) var request: RequestHandle?
    private(set) var response: ResponseHandle?
    private(set) var next: RequestHandle?
    /// Whether the completion is settled, so that nothing may be changed any more.
    private var isClosed = false

    mutating func request(
        _ value: HTTPRequest, access: RequestHandle.Access, scope: RequestScope?,
        wire: WireFields?
    ) -> RequestHandle {
        if let request { return request }
        let made = RequestHandle(value, access: access, scope: scope, wire: wire)
        if isClosed { made.close() }
        request = made
        return made
    }

    mutating func next(
        _ value: HTTPRequest, access: RequestHandle.Access, scope: RequestScope?
    ) -> RequestHandle {
        if let next { return next }
        let made = RequestHandle(value, access: access, scope: scope)
        if isClosed { made.close() }
        next = made
        return made
    }

    mutating func response(of outcome: RequestHook.Outcome) -> ResponseHandle? {
        if let response { return response }
        let made: ResponseHandle
        switch outcome {
        case .none: return nil
        case .call(let result, let isMutable):
            made = ResponseHandle(.init(result), isMutable: isMutable)
        case .attempt(let outcome): made = ResponseHandle(outcome, isMutable: false)
        }
        if isClosed { made.close() }
        response = made
        return made
    }

    mutating func close() {
        isClosed = true
        request?.close()
        response?.close()
        next?.close()
    }
}
