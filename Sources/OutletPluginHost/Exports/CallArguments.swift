import COutletPlugin
import OutletHTTP

/// The C arguments of one call of an exported function.
///
/// Thread: the caller's.
final class CallArguments {
    private var arena = ByteArena()
    private var requests: ArraySlice<outlet_request>
    private var functions: ArraySlice<UnsafeMutableRawPointer?>
    private let context: CallContext
    private let output: SinkHandle?
    /// The ids of the handles that are valid during the call.
    private var handles: [UInt64] = []
    private var closures: [CallbackClosure] = []
    /// The handle of the call; empty if the signature has none.
    private(set) var call = outlet_call()
    /// The handle of the sink; empty if the signature has none.
    private(set) var sink = outlet_sink()

    /// Makes the handles, sinks and function pointers for a call.
    ///
    /// - Parameters:
    ///   - values: The arguments from the caller, of the signature's kinds.
    ///   - signature: The signature of the function.
    ///   - instance: The plugin instance that exports the function.
    /// - Returns: `nil` if libffi cannot make a function pointer for a callback.
    init?(_ values: [PluginValue], _ signature: Signature, for instance: PluginInstance) {
        context = CallContext(deadline: 0)
        output = signature.hasSink ? SinkHandle() : nil
        requests = []
        functions = []
        func insert(_ object: any AnyObject & Sendable) -> UInt64 {
            let id = HandleTable.shared.insert(object, owner: instance.owner.number)
            handles.append(id)
            return id
        }
        if signature.arguments.contains(.call) { call = outlet_call(id: insert(context)) }
        if let output { sink = outlet_sink(id: insert(output)) }
        var signatures = signature.callbacks[...]
        var isComplete = true
        for value in values {
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
                closures.append(closure)
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

    /// Returns the failure reason for a status; a default one if the function set none.
    func reason(_ status: outlet_status) -> PluginReason { context.reason(status) }

    /// Copies bytes; the copy is valid as long as this object exists.
    func copy(_ bytes: some Collection<UInt8>) -> outlet_view { arena.copy(bytes).view }

    /// Returns the handle of the next request argument.
    func nextRequest() -> outlet_request { requests.popFirst() ?? outlet_request() }

    /// Returns the function pointer of the next callback argument.
    func nextFunction() -> UnsafeMutableRawPointer? { functions.popFirst() ?? nil }

    /// Makes the handles and callbacks invalid after the function has returned.
    func end() {
        for handle in handles { HandleTable.shared.remove(handle) }
        for closure in closures { closure.end() }
    }
}
