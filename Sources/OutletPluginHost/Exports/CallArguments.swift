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
    /// The ids that were made for it, in the order of the signature's letters.
    private var handles: [UInt64] = []
    private var closures: [CallbackClosure] = []
    /// What stands for the call, and for where it writes to.
    private(set) var call = outlet_call()
    private(set) var sink = outlet_sink()

    /// - Parameters:
    ///   - values: The arguments.
    ///   - signature: The function's.
    ///   - instance: Whose function it is.
    /// - Returns: `nil` when libffi makes no function pointers here.
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

    /// What the function has written.
    var written: [UInt8] { output?.content ?? [] }

    /// The reason for a status: the function's text if it set one.
    func reason(_ status: outlet_status) -> PluginReason { context.reason(status) }

    /// A copy of bytes, valid as long as this lives.
    func copy(_ bytes: some Collection<UInt8>) -> outlet_view { arena.copy(bytes).view }

    func nextRequest() -> outlet_request { requests.popFirst() ?? outlet_request() }

    func nextFunction() -> UnsafeMutableRawPointer? { functions.popFirst() ?? nil }

    /// The function has returned: nothing of it may be used any more.
    func end() {
        for handle in handles { HandleTable.shared.remove(handle) }
        for closure in closures { closure.end() }
    }
}
