import COutletPlugin
import OutletHTTP

/// The C arguments of one call of an exported function.
///
/// Thread: the caller's.
final class CallArguments {
    private var arena = ByteArena()
    private var requests: ArraySlice<outlet_request>
    private var functions: ArraySlice<UnsafeMutableRawPointer?>
    /// Receives the reason of a failure.
    let context: CallContext
    private let output: SinkHandle?
    /// The ids of the handles that are valid during the call.
    private var handles: [UInt64] = []
    private var closures: [(closure: CallbackClosure, position: Int)] = []
    /// Whether empty texts and bytes are passed with a null pointer.
    private let hasNullViews: Bool
    /// The handle of the call; empty if the signature has none.
    private var call = outlet_call()
    /// The handle of the sink; empty if the signature has none.
    private var sink = outlet_sink()

    /// Makes the handles, sinks and function pointers for a call.
    ///
    /// - Parameters:
    ///   - values: The arguments from the caller, of the signature's kinds.
    ///   - signature: The signature of the function.
    ///   - instance: The plugin instance that exports the function.
    ///   - hasNullViews: Whether empty texts and bytes are passed with a null pointer.
    /// - Returns: `nil` if libffi cannot make a function pointer for a callback.
    init?(
        _ values: [PluginValue], _ signature: Signature, for instance: PluginInstance,
        hasNullViews: Bool = false
    ) {
        self.hasNullViews = hasNullViews
        context = CallContext(deadline: 0)
        output = signature.hasSink ? SinkHandle() : nil
        requests = []
        functions = []
        func insert(_ object: any AnyObject & Sendable) -> UInt64 {
            let id = HandleTable.shared.insert(
                object, owner: instance.owner.number, in: context)
            handles.append(id)
            return id
        }
        if signature.arguments.contains(.call) { call = outlet_call(id: insert(context)) }
        if let output { sink = outlet_sink(id: insert(output)) }
        var signatures = signature.callbacks[...]
        var isComplete = true
        for (index, value) in values.enumerated() {
            switch value {
            case .request(let request):
                requests.append(outlet_request(id: insert(RequestHandle(request))))
            case .function(let callback):
                guard let signature = signatures.popFirst(),
                    let closure = CallbackClosure(signature, callback, of: instance.owner)
                else {
                    isComplete = false
                    continue
                }
                closures.append((closure, index + 1))
                functions.append(closure.code)
            default: break
            }
        }
        if !isComplete {
            end()
            return nil
        }
    }

    /// The bytes that the function has written to the sink.
    var written: [UInt8] { output?.content ?? [] }

    /// Why the host has refused to take a part of these bytes; `nil` if it has not.
    var refusal: String? { output?.refusal }

    /// The first callback that has returned a value of another kind than its signature says, with its
    /// position among the arguments, from 1; `nil` for none.
    var wrongCallback: (position: Int, wanted: String, given: String)? {
        for (closure, position) in closures {
            if let fault = closure.fault { return (position, fault.wanted, fault.given) }
        }
        return nil
    }

    /// The changes of requests that the host has refused.
    var refusals: [String] { context.refusals }

    /// Writes the handle of the call or of the sink.
    ///
    /// - Parameters:
    ///   - kind: The kind of the argument.
    ///   - slot: Where libffi reads the argument.
    func storeHandle(of kind: Signature.Kind, at slot: UnsafeMutableRawPointer) {
        if kind == .call {
            slot.storeBytes(of: call, as: outlet_call.self)
        } else {
            slot.storeBytes(of: sink, as: outlet_sink.self)
        }
    }

    /// Writes a value that needs memory or a handle: bytes, texts, requests and callbacks.
    ///
    /// - Parameters:
    ///   - value: The value; copies of it are valid as long as this object exists.
    ///   - kind: The kind of the argument.
    ///   - slot: Where libffi reads the argument.
    func store(
        _ value: PluginValue, as kind: Signature.Kind, at slot: UnsafeMutableRawPointer
    ) {
        switch (kind, value) {
        case (.text, .text("")) where hasNullViews, (.bytes, .bytes([])) where hasNullViews:
            slot.storeBytes(of: outlet_view(), as: outlet_view.self)
        case (.text, .text(let value)):
            slot.storeBytes(of: arena.copy(value).view, as: outlet_view.self)
        case (.bytes, .bytes(let value)):
            slot.storeBytes(of: arena.copy(value).view, as: outlet_view.self)
        case (.request, .request):
            slot.storeBytes(of: requests.popFirst() ?? outlet_request(), as: outlet_request.self)
        case (.callback, .function):
            slot.storeBytes(of: functions.popFirst() ?? nil, as: UnsafeMutableRawPointer?.self)
        default: break
        }
    }

    /// Makes the handles and callbacks invalid after the function has returned.
    func end() {
        for handle in handles { HandleTable.shared.remove(handle) }
        for (closure, _) in closures { closure.end() }
    }
}
