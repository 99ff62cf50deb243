import CFFI
import COutletPlugin
import OutletPointers
import OutletTransport

/// A callback of the caller as a C function pointer, made by libffi.
///
/// The pointer stays callable after the call has ended, because a faulty plugin may keep it.
/// Calling it then does nothing, returns zero and is counted as a fault of the plugin. The last 256
/// ended closures of each plugin are kept, at a few hundred bytes each. Older ones are freed, and
/// libffi may use their memory for later closures.
///
/// Thread: any.
final class CallbackClosure: @unchecked Sendable {
    // @unchecked because the memory that libffi reads is written before the pointer is passed to
    // the plugin, and `body`, which changes later, has a lock.

    /// The C function pointer.
    let code: UnsafeMutableRawPointer
    private let closure: UnsafeMutablePointer<ffi_closure>
    private let interface: UnsafeMutablePointer<ffi_cif>
    private let arguments: UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>
    private let structure: StructureType
    private let signature: Signature
    private let owner: PluginOwner
    private let state: Lock<State>

    private struct State {
        /// The function; `nil` after the call for which it was made.
        var callback: PluginCallback?
        var isRunning = false
        /// The first result that is not of the signature's kind.
        var wrongResult: PluginValue?
    }

    /// The number of ended closures that are kept for each plugin.
    private static let kept = 256
    /// The ended closures by plugin, oldest first.
    private static let retired = Lock([ObjectIdentifier: [CallbackClosure]]())

    /// Makes a function pointer.
    ///
    /// - Parameters:
    ///   - signature: The C signature of the function pointer.
    ///   - callback: The function to call.
    ///   - owner: The plugin that receives the pointer.
    /// - Returns: `nil` if libffi cannot allocate or prepare the closure.
    init?(_ signature: Signature, _ callback: PluginCallback, of owner: PluginOwner) {
        self.signature = signature
        self.owner = owner
        let view = StructureType([outlet_ffi_pointer(), outlet_ffi_uint64()])
        structure = view
        state = Lock(State(callback: callback))
        interface = .allocate(capacity: 1)
        interface.initialize(to: ffi_cif())
        let count = signature.arguments.count
        arguments = .allocate(capacity: max(count, 1))
        arguments.initialize(to: outlet_ffi_pointer())
        for (index, kind) in signature.arguments.enumerated() {
            (arguments + index).initialize(to: Self.type(kind, view))
        }
        var code: UnsafeMutableRawPointer?
        let size = MemoryLayout<ffi_closure>.size
        guard let memory = ffi_closure_alloc(size, &code), let code else {
            interface.deallocate()
            arguments.deallocate()
            return nil
        }
        closure = memory.assumingMemoryBound(to: ffi_closure.self)
        self.code = code
        let isReady =
            ffi_prep_cif(
                interface, FFI_DEFAULT_ABI, UInt32(count), Self.type(signature.result, view),
                arguments) == FFI_OK
            && ffi_prep_closure_loc(
                closure, interface, { callbackIsCalled($1, $2, $3) },
                ObjectPointer.unretained(self), code) == FFI_OK
        guard isReady else { return nil }
    }

    deinit {
        ffi_closure_free(closure)
        interface.deallocate()
        arguments.deallocate()
    }

    private static func type(
        _ kind: Signature.Kind, _ view: StructureType
    ) -> UnsafeMutablePointer<ffi_type> {
        switch kind {
        case .boolean: outlet_ffi_uint8()
        case .int32: outlet_ffi_sint32()
        case .uint32: outlet_ffi_uint32()
        case .int64: outlet_ffi_sint64()
        case .uint64: outlet_ffi_uint64()
        case .double: outlet_ffi_double()
        case .text, .bytes: view.type
        case .void, .request, .callback, .status, .call, .sink, .byteSink: outlet_ffi_void()
        }
    }

    /// What is wrong with a result of the callback, for which the plugin received zero; `nil` for
    /// nothing.
    var fault: (wanted: String, given: String)? {
        state.withLock(\.wrongResult).map {
            (
                "a function that returns \(signature.result.name)",
                "it returned \($0.kind(unfitFor: signature.result))"
            )
        }
    }

    /// Disables the callback after the call for which it was made.
    func end() {
        state.withLock { $0.callback = nil }
        // The oldest closure is freed outside the lock.
        let oldest = Self.retired.withLock { retired -> CallbackClosure? in
            retired[ObjectIdentifier(owner), default: []].append(self)
            guard retired[ObjectIdentifier(owner), default: []].count > Self.kept else {
                return nil
            }
            return retired[ObjectIdentifier(owner)]?.removeFirst()
        }
        withExtendedLifetime(oldest) {}
    }

    /// Runs the callback when the plugin calls the function pointer.
    ///
    /// - Parameters:
    ///   - result: Receives the result.
    ///   - values: Pointers to the arguments.
    fileprivate func call(
        _ result: UnsafeMutableRawPointer?,
        _ values: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) {
        let (callback, isBusy) = state.withLock { state in
            defer { state.isRunning = true }
            return (state.callback, state.isRunning)
        }
        guard let callback, !isBusy else {
            owner.recordViolation(
                callback == nil ? .staleHandle : .wrongThread,
                callback == nil
                    ? "a function of the caller's was called after its call"
                    : "a function of the caller's was called while an earlier call of it ran")
            return store(.nothing, at: result)
        }
        defer { state.withLock { $0.isRunning = false } }
        do throws(RefusedText) {
            var arguments: [PluginValue] = []
            for (index, kind) in signature.arguments.enumerated() {
                guard let slot = values?[index] else { continue }
                arguments.append(try Self.load(kind, at: slot))
            }
            let value = callback.body(arguments)
            store(value, at: result)
            guard signature.result != .void, value.converted(to: signature.result) == nil else {
                return
            }
            state.withLock { $0.wrongResult = $0.wrongResult ?? value }
        } catch {
            // The function is not called with another text: no status tells the plugin.
            owner.reportRefusal(error, of: "a call of the caller's function")
            store(.nothing, at: result)
        }
    }

    private static func load(
        _ kind: Signature.Kind, at slot: UnsafeMutableRawPointer
    ) throws(RefusedText) -> PluginValue {
        switch kind {
        case .boolean: .bool(slot.load(as: UInt8.self) != 0)
        case .int32: .int(Int64(slot.load(as: Int32.self)))
        case .uint32: .uint(UInt64(slot.load(as: UInt32.self)))
        case .int64: .int(slot.load(as: Int64.self))
        case .uint64: .uint(slot.load(as: UInt64.self))
        case .double: .double(slot.load(as: Double.self))
        case .text: .text(try slot.load(as: outlet_view.self).text(.body, "text"))
        case .bytes: .bytes(try bytes(slot.load(as: outlet_view.self)))
        case .void, .request, .callback, .status, .call, .sink, .byteSink: .nothing
        }
    }

    private static func bytes(_ view: outlet_view) throws(RefusedText) -> [UInt8] {
        if let refused = view.refusal(.body, "bytes") { throw refused }
        return view.foreign(.body).map(Array.init) ?? []
    }

    /// Stores the callback's result; zero if it is not of the signature's kind.
    private func store(_ value: PluginValue, at slot: UnsafeMutableRawPointer?) {
        guard let slot, signature.result != .void else { return }
        slot.storeBytes(of: 0, as: ffi_arg.self)
        switch (signature.result, value.converted(to: signature.result)) {
        case (.boolean, .bool(let value)): slot.storeBytes(of: value ? 1 : 0, as: ffi_arg.self)
        case (.int32, .int(let value)), (.int64, .int(let value)):
            slot.storeBytes(of: ffi_sarg(value), as: ffi_sarg.self)
        case (.uint32, .uint(let value)), (.uint64, .uint(let value)):
            slot.storeBytes(of: ffi_arg(value), as: ffi_arg.self)
        case (.double, .double(let value)): slot.storeBytes(of: value, as: Double.self)
        default: break
        }
    }
}

private func callbackIsCalled(
    _ result: UnsafeMutableRawPointer?,
    _ values: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ data: UnsafeMutableRawPointer?
) {
    guard let data else { return }
    ObjectPointer.object(at: data, as: CallbackClosure.self).call(result, values)
}
