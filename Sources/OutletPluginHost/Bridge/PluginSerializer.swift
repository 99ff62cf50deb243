import COutletPlugin
import Dispatch
public import FoundationEssentials
public import OutletHTTP
public import OutletSession
import OutletTransport

/// A value that a plugin's `serialize` hook made from a response.
public struct PluginSerialized: Sendable, Equatable {
    /// The type: `json`, `text`, or a type that the plugin defines.
    public var type: String
    /// The value, encoded according to ``type``.
    public var data: Data

    /// Creates a value.
    ///
    /// - Parameters:
    ///   - type: The type, such as `json` or `text`; from a plugin at most 1 KiB of UTF-8.
    ///   - data: The value, encoded according to the type.
    public init(type: String, data: Data) {
        self.type = type
        self.data = data
    }
}

/// A response serializer that calls a plugin's `serialize` hook:
/// `request.serializingResponse(using: serializer)`.
///
/// Create one with ``PluginHost/serializer(_:)``.
///
/// Thread: the hook runs on a worker thread, for which the thread that serializes the response waits
/// (``mayBlock``); with `OUTLET_F_NONBLOCKING`, on that thread.
public struct PluginSerializer: ResponseSerializer {
    private let instance: PluginInstance
    /// The time limit of the hook, in nanoseconds.
    private let limit: UInt64
    private let running: RunningPlugins

    init(_ instance: PluginInstance, limit: UInt64, keeping running: RunningPlugins) {
        self.instance = instance
        self.limit = limit
        self.running = running
    }

    /// Whether the plugin may block.
    public var mayBlock: Bool { !instance.isNonblocking }

    /// Calls the plugin's `serialize` hook; blocks until it has returned, or its deadline has passed.
    ///
    /// - Parameters:
    ///   - request: The request; `nil` if it was never made.
    ///   - response: The response; `nil` if none arrived.
    ///   - data: The body of the response; `nil` for none.
    ///   - error: The failure of the request; it is thrown without calling the plugin.
    /// - Returns: The value and its type. If the plugin has no `serialize` hook, the body with an
    ///   empty type.
    /// - Throws: `error` if the request has failed; ``PluginError`` if the hook fails or does not
    ///   return in time, the plugin is closed or suspended, or this is called inside a hook of a
    ///   plugin whose hooks must not overlap.
    public func serialize(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> PluginSerialized {
        if let error { throw error }
        guard let hook = instance.hooks.serialize else {
            return PluginSerialized(type: "", data: data ?? Data())
        }
        let call = SerializeCall(
            hook, of: instance, limit: instance.limit(of: .serialize, atMost: limit),
            request: request ?? HTTPRequest(url: nil), response: response, data: data ?? Data())
        return try call.run()
    }
}

/// One call of a `serialize` hook.
///
/// Thread: any; after the deadline, the hook may still be running with the handles.
private final class SerializeCall: Sendable {
    typealias Hook =
        @convention(c) (
            OpaquePointer, outlet_call, outlet_request, outlet_response, outlet_sink,
            UnsafeMutablePointer<outlet_view>
        ) -> outlet_status

    /// What the hook has returned and written.
    private struct Returned: Sendable {
        let status: outlet_status
        /// The type that it named; `nil` if that cannot be read.
        let type: String?
        let sink: SinkHandle
        /// Its reason for a failure.
        let context: CallContext
    }

    private struct State {
        /// Whether the hook has been called.
        var hasBegun = false
        /// Whether the host no longer waits, so that the hook is not called any more.
        var isOver = false
        /// What the hook has returned; `nil` until then.
        var result: Result<Returned?, PluginError>?
    }

    private let hook: Hook
    private let instance: PluginInstance
    /// The time limit, in nanoseconds.
    private let limit: UInt64
    private let request: HTTPRequest
    private let response: ResponseHandle
    private let state = Lock(State())
    private let begun = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    init(
        _ hook: @escaping Hook, of instance: PluginInstance, limit: UInt64, request: HTTPRequest,
        response: HTTPResponse?, data: Data
    ) {
        self.hook = hook
        self.instance = instance
        self.limit = limit
        self.request = request
        self.response = ResponseHandle(.init(response: response, body: data), isMutable: false)
    }

    /// Calls the hook; blocks until it has returned, or its deadline has passed.
    func run() throws(PluginError) -> PluginSerialized {
        let stopwatch = Stopwatch(instance.owner.observer)
        // A call inside of another one that it must not overlap with fails at once.
        if instance.isNonblocking || instance.isInside { perform() } else { performApart() }
        let (result, hasBegun) = state.withLock { state in
            state.isOver = true
            return (state.result, state.hasBegun)
        }
        let made = Result { () throws(PluginError) in
            guard let returned = try result?.get() else { throw late(hasBegun: hasBegun) }
            return try value(of: returned)
        }
        var (effects, failure): ([String], PluginError?) = ([], nil)
        switch made {
        case .success(let value): effects = ["made \(value.type), \(value.data.count) bytes"]
        case .failure(let error): failure = error
        }
        stopwatch.report(
            instance.owner, .serialize, requestID: request.context.id, effects: effects,
            failure: failure,
            refusals: ((try? result?.get()) ?? nil)?.context.refusals ?? [])
        return try made.get()
    }

    /// Calls the hook on a worker thread.
    ///
    /// Its time begins when it is called; until then, it waits as long at most.
    private func performApart() {
        instance.runApart {
            self.perform()
            self.begun.signal()
            self.ended.signal()
        }
        let limit = DispatchTimeInterval.nanoseconds(Int(clamping: limit))
        guard begun.wait(timeout: .now() + limit) == .success else { return }
        _ = ended.wait(timeout: .now() + limit)
    }

    private func perform() {
        let result = Result { () throws(PluginError) in
            try instance.perform(.serialize, about: "\(request)") { begin() ? call($0) : nil }?
                .get()
        }
        state.withLock { $0.result = result }
    }

    /// Begins the time of the hook.
    ///
    /// - Returns: `false` if the host no longer waits for it.
    private func begin() -> Bool {
        let isWanted = state.withLock { state in
            if !state.isOver { state.hasBegun = true }
            return !state.isOver
        }
        begun.signal()
        return isWanted
    }

    /// The request's handle, of which the hook runs; `nil` if it is too late for the hook, because
    /// `request_done` was called when the plugin was shut down.
    ///
    /// After the end of the request's call, for a handler that was added late, the hook gets a call
    /// of its own.
    private func enter() -> RequestHandle? {
        let handle = RequestHandle(request)
        guard instance.hooks.request_done != nil, !handle.enter(instance, for: .serialize) else {
            return handle
        }
        guard request.scope?.isOver == true else { return nil }
        let late = RequestHandle(request, scope: RequestScope(id: request.context.id))
        return late.enter(instance, for: .serialize) ? late : nil
    }

    /// Calls the hook on this thread, the only one that may use its handles.
    private func call(_ pointer: OpaquePointer) -> Result<Returned, PluginError> {
        guard let handle = enter() else { return .failure(instance.closed(.serialize)) }
        defer {
            if instance.hooks.request_done != nil { handle.leave(instance, wasCalled: true) }
        }
        let sink = SinkHandle()
        let context = OriginContext(handle.origin, deadline: Stopwatch.now.adding(limit))
        let subjects: [any AnyObject & Sendable] = [handle, response, sink, context]
        let ids = subjects.map {
            HandleTable.shared.insert($0, owner: instance.owner.number, in: context)
        }
        defer { for id in ids { HandleTable.shared.remove(id) } }
        var view = outlet_view()
        let status = hook(
            pointer, outlet_call(id: ids[3]), outlet_request(id: ids[0]),
            outlet_response(id: ids[1]), outlet_sink(id: ids[2]), &view)
        return .success(
            Returned(
                status: status, type: status == OUTLET_OK ? view.text(.name) : nil, sink: sink,
                context: context))
    }

    /// The error of a hook that has not returned in time.
    private func late(hasBegun: Bool) -> PluginError {
        guard hasBegun else { return instance.couldNotBegin(.serialize, within: limit) }
        let error = PluginError(
            plugin: instance.id, hook: .serialize, kind: .timedOut,
            message: "it did not return within \(Double(limit) / 1e9) s")
        instance.owner.recordViolation(
            .neverSettled, error.message, in: .serialize, of: "\(request)")
        return error
    }

    /// The value that was made.
    private func value(of returned: Returned) throws(PluginError) -> PluginSerialized {
        let sink = returned.sink
        guard returned.status == OUTLET_OK else {
            throw instance.failure(
                of: .serialize, returned.context.reason(returned.status, after: sink.refusal))
        }
        guard let type = returned.type else {
            throw refused("the type that it names cannot be read")
        }
        if let fault = Self.fault(of: type, sink) { throw refused(fault) }
        return PluginSerialized(type: type, data: Data(sink.content))
    }

    private func refused(_ fault: String) -> PluginError {
        instance.owner.recordViolation(.forbiddenValue, "serialize: \(fault)")
        return instance.failure(of: .serialize, fault)
    }

    /// A description of what is wrong with the value, or with its type; `nil` if nothing is.
    private static func fault(of type: String, _ sink: SinkHandle) -> String? {
        if let refusal = sink.refusal { return refusal }
        if type.isEmpty { return "it names no type" }
        if type.hasControlCharacters { return "its type has control characters" }
        switch type {
        case "json":
            do {
                _ = try JSONValue(parsing: sink.content)
                return nil
            } catch {
                return "its value of the type json is \(error)"
            }
        case "text":
            return String(validating: sink.content, as: UTF8.self) == nil
                ? "its text is not UTF-8" : nil
        default: return nil
        }
    }
}
