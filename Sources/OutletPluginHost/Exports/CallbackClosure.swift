import CFFI
import COutletPlugin
import OutletPointers
import OutletTransport

/// A function of the caller's as a C function pointer, made by libffi.
///
/// Its code stays for good once a call has ended, because the plugin may keep the pointer: a call then
/// does nothing, gives zero, and is held against the plugin. A few hundred bytes each; they are used again
/// by later calls, the oldest first.
///
/// Thread: any.
final class CallbackClosure: @unchecked Sendable {
    // @unchecked because what libffi reads is written before the pointer is handed out, and what changes
    // has a lock.
    let code: UnsafeMutableRawPointer
    private let closure: UnsafeMutablePointer<ffi_closure>
    private let interface: UnsafeMutablePointer<ffi_cif>
    private let arguments: UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>
    private let structure: StructureType
    private let signature: Signature
    private let owner: PluginOwner
    private let body: Lock<PluginCallback?>

    /// How many of an owner's closures that are over are kept from being used again.
    private static let kept = 256
    /// Closures that are over, by whose they are.
    private static let retired = Lock([ObjectIdentifier: [CallbackClosure]]())

    /// - Returns: `nil` when libffi has no memory for it, or cannot make such functions.
    init?(_ signature: Signature, _ callback: PluginCallback, of owner: PluginOwner) {
        self.signature = signature
        self.owner = owner
        let view = StructureType([outlet_ffi_pointer(), outlet_ffi_uint64()])
        structure = view
        body = Lock(callback)
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

    /// The call that it was made for is over.
    func end() {
        body.withLock { $0 = nil }
        // Freed outside of the lock.
        let oldest = Self.retired.withLock { retired -> CallbackClosure? in
            retired[ObjectIdentifier(owner), default: []].append(self)
            guard retired[ObjectIdentifier(owner), default: []].count > Self.kept else {
                return nil
            }
            return retired[ObjectIdentifier(owner)]?.removeFirst()
        }
        withExtendedLifetime(oldest) {}
    }

    /// The plugin calls it.
    fileprivate func call(
        _ result: UnsafeMutableRawPointer?,
        _ values: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) {
        let arguments = signature.arguments.enumerated().map { index, kind in
            values?[index].map { Self.load(kind, at: $0) } ?? .nothing
        }
        guard let callback = body.withLock({ $0 }) else {
            owner.note(.staleHandle, "a function of the caller's was called after its call")
            return store(.nothing, at: result)
        }
        store(callback.body(arguments), at: result)
    }

    private static func load(
        _ kind: Signature.Kind, at slot: UnsafeMutableRawPointer
    ) -> PluginValue {
        switch kind {
        case .boolean: .bool(slot.load(as: UInt8.self) != 0)
        case .int32: .int(Int64(slot.load(as: Int32.self)))
        case .uint32: .uint(UInt64(slot.load(as: UInt32.self)))
        case .int64: .int(slot.load(as: Int64.self))
        case .uint64: .uint(slot.load(as: UInt64.self))
        case .double: .double(slot.load(as: Double.self))
        case .text: .text(slot.load(as: outlet_view.self).text(.body) ?? "")
        case .bytes: .bytes(slot.load(as: outlet_view.self).foreign(.body).map(Array.init) ?? [])
        case .void, .request, .callback, .status, .call, .sink, .byteSink: .nothing
        }
    }

    /// Stores what the function gave; zero where that is of another kind.
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
