import COutletPlugin
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
/// Thread: the hook runs on the thread that serializes the response, which blocks until it has
/// returned.
public struct PluginSerializer: ResponseSerializer {
    private let instance: PluginInstance
    private let running: RunningPlugins

    init(_ instance: PluginInstance, keeping running: RunningPlugins) {
        self.instance = instance
        self.running = running
    }

    /// Calls the plugin's `serialize` hook; blocks until it has returned.
    ///
    /// - Parameters:
    ///   - request: The request; `nil` if it was never made.
    ///   - response: The response; `nil` if none arrived.
    ///   - data: The body of the response; `nil` for none.
    ///   - error: The failure of the request; it is thrown without calling the plugin.
    /// - Returns: The value and its type. If the plugin has no `serialize` hook, the body with an
    ///   empty type.
    /// - Throws: `error` if the request has failed; ``PluginError`` if the hook fails, the plugin
    ///   is closed or suspended, or this is called inside a hook of a plugin whose hooks must not
    ///   overlap.
    public func serialize(
        request: HTTPRequest?, response: HTTPResponse?, data: Data?, error: (any Error)?
    ) throws -> PluginSerialized {
        if let error { throw error }
        guard let hook = instance.hooks.serialize else {
            return PluginSerialized(type: "", data: data ?? Data())
        }
        let request = request ?? HTTPRequest(url: nil)
        let asked = RequestHandle(request, scope: request.scope)
        let judged = ResponseHandle(
            .init(response: response, body: data ?? Data()), isMutable: false)
        let (sink, context) = (SinkHandle(), CallContext(deadline: 0))
        let owner = instance.owner.number
        let subjects: [any AnyObject & Sendable] = [asked, judged, sink, context]
        let ids = subjects.map { HandleTable.shared.insert($0, owner: owner) }
        defer { for id in ids { HandleTable.shared.remove(id) } }
        let stopwatch = Stopwatch(instance.owner.observer)
        var type: String?
        let status = try instance.perform(.serialize, about: "\(request)") { pointer in
            var view = outlet_view()
            let status = hook(
                pointer, outlet_call(id: ids[3]), outlet_request(id: ids[0]),
                outlet_response(id: ids[1]), outlet_sink(id: ids[2]), &view)
            if status == OUTLET_OK { type = view.text(.name) }
            return status
        }
        var failure: PluginError?
        if status != OUTLET_OK {
            failure = instance.failure(
                of: .serialize, context.reason(status, after: sink.refusal))
        } else if let fault = Self.fault(of: type, sink) {
            instance.owner.note(.forbiddenValue, "serialize: \(fault)")
            failure = instance.failure(of: .serialize, fault)
        }
        stopwatch.report(
            instance.owner, .serialize, requestID: request.context.id,
            effects: ["made \(type ?? ""), \(sink.content.count) bytes"],
            failure: failure?.message)
        if let failure { throw failure }
        return PluginSerialized(type: type ?? "", data: Data(sink.content))
    }

    /// A description of what is wrong with a value; `nil` if nothing is.
    ///
    /// - Parameters:
    ///   - type: The type; `nil` if it cannot be read.
    ///   - sink: The value's bytes.
    private static func fault(of type: String?, _ sink: SinkHandle) -> String? {
        if let refusal = sink.refusal { return refusal }
        guard let type else { return "the type that it names cannot be read" }
        if type.isEmpty { return "it names no type" }
        if type.utf8.contains(where: \.isControl) { return "its type has control characters" }
        guard type == "text", String(validating: sink.content, as: UTF8.self) == nil else {
            return nil
        }
        return "its text is not UTF-8"
    }
}
