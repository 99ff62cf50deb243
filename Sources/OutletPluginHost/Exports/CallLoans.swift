import COutletPlugin
import OutletHTTP

/// What an exported function is lent for one call.
///
/// Thread: the caller's.
final class CallLoans {
    private let arena = ByteArena()
    private var requests: ArraySlice<outlet_request>
    private var functions: ArraySlice<UnsafeMutableRawPointer?>
    private let handles: [UInt64]
    private let closures: [CallbackClosure]

    /// - Parameters:
    ///   - values: The arguments.
    ///   - signature: The function's.
    ///   - instance: Whose function it is.
    /// - Returns: `nil` when libffi makes no function pointers here.
    init?(_ values: [PluginValue], _ signature: Signature, for instance: PluginInstance) {
        var handles: [UInt64] = []
        var closures: [CallbackClosure] = []
        var signatures = signature.callbacks[...]
        var isComplete = true
        for value in values {
            switch value {
            case .request(let request):
                handles.append(
                    HandleTable.shared.insert(
                        RequestHandle(request), owner: instance.owner.number))
            case .function(let callback):
                guard let signature = signatures.popFirst(),
                    let closure = CallbackClosure(signature, callback, of: instance.owner)
                else {
                    isComplete = false
                    continue
                }
                closures.append(closure)
            default: break
            }
        }
        self.handles = handles
        self.closures = closures
        requests = handles.map { outlet_request(id: $0) }[...]
        functions = closures.map(\.code)[...]
        if !isComplete {
            end()
            return nil
        }
    }

    /// A copy of bytes, valid as long as this lives.
    func lend(_ bytes: some Collection<UInt8>) -> outlet_view { arena.lend(bytes).view }

    func nextRequest() -> outlet_request { requests.popFirst() ?? outlet_request() }

    func nextFunction() -> UnsafeMutableRawPointer? { functions.popFirst() ?? nil }

    /// The function has returned: nothing of it may be used any more.
    func end() {
        for handle in handles { HandleTable.shared.remove(handle) }
        for closure in closures { closure.end() }
    }
}
