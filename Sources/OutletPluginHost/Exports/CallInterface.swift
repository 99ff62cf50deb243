import CFFI
import COutletPlugin

/// A libffi call interface for one signature: prepared once, used from any thread.
///
/// `ffi_prep_cif` writes sizes into the structure types, so each interface has its own types.
final class CallInterface: @unchecked Sendable {
    // @unchecked because everything is written in `init`; `ffi_call` only reads it.
    private let interface: UnsafeMutablePointer<ffi_cif>
    private let arguments: UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>
    private let structures: [StructureType]
    /// The kinds of the arguments after the plugin's instance.
    private let kinds: [Signature.Kind]
    private let result: Signature.Kind

    /// Prepares a call interface.
    ///
    /// - Parameter signature: The signature of the functions to call.
    /// - Returns: `nil` if libffi does not support the signature on this machine.
    init?(_ signature: Signature) {
        kinds = signature.arguments
        result = signature.result
        let view = StructureType([outlet_ffi_pointer(), outlet_ffi_uint64()])
        let handle = StructureType([outlet_ffi_uint64()])
        structures = [view, handle]
        func type(_ kind: Signature.Kind) -> UnsafeMutablePointer<ffi_type> {
            switch kind {
            case .void: outlet_ffi_void()
            case .boolean: outlet_ffi_uint8()
            case .int32, .status: outlet_ffi_sint32()
            case .uint32: outlet_ffi_uint32()
            case .int64: outlet_ffi_sint64()
            case .uint64: outlet_ffi_uint64()
            case .double: outlet_ffi_double()
            case .text, .bytes: view.type
            case .call, .sink, .byteSink, .request: handle.type
            case .callback: outlet_ffi_pointer()
            }
        }
        let count = signature.arguments.count + 1
        interface = .allocate(capacity: 1)
        interface.initialize(to: ffi_cif())
        arguments = .allocate(capacity: count)
        arguments.initialize(to: outlet_ffi_pointer())
        for (index, kind) in signature.arguments.enumerated() {
            (arguments + index + 1).initialize(to: type(kind))
        }
        let status = ffi_prep_cif(
            interface, FFI_DEFAULT_ABI, UInt32(count), type(signature.result), arguments)
        guard status == FFI_OK else { return nil }
    }

    deinit {
        interface.deallocate()
        arguments.deallocate()
    }

    /// Calls a function of this signature.
    ///
    /// Thread: any that may run the function; the call blocks until the function returns.
    ///
    /// - Parameters:
    ///   - function: The function.
    ///   - instance: The plugin instance, which is the first C argument.
    ///   - values: One value for each of the signature's ``Signature/parameters``, of its kind.
    ///   - arguments: Provides handles, function pointers and the memory of texts and bytes; `nil`
    ///     if the signature is ``Signature/isScalar``.
    /// - Returns: The result; a status is an ``PluginValue/int(_:)``.
    func call(
        _ function: @convention(c) () -> Void, on instance: OpaquePointer, values: [PluginValue],
        arguments: CallArguments?
    ) -> PluginValue {
        // 16 bytes per value: the size of the largest kind, a view. A signature has at most 8
        // arguments; the instance and the result come in addition.
        withUnsafeTemporaryAllocation(
            byteCount: 16 * (Signature.maximumArguments + 2), alignment: 16
        ) { slots in
            withUnsafeTemporaryAllocation(
                of: UnsafeMutableRawPointer?.self, capacity: Signature.maximumArguments + 1
            ) { pointers in
                guard let base = slots.baseAddress else { return .nothing }
                pointers.initializeElement(at: 0, to: base)
                base.storeBytes(of: instance, as: OpaquePointer.self)
                var slot = base
                var next = 0
                for (index, kind) in kinds.enumerated() {
                    slot += 16
                    pointers.initializeElement(at: index + 1, to: slot)
                    // Not every kind fills its slot, nor is every value stored.
                    slot.storeBytes(of: (0, 0), as: (UInt64, UInt64).self)
                    switch kind {
                    case .call, .sink, .byteSink:
                        arguments?.storeHandle(of: kind, at: slot)
                    default:
                        guard next < values.count else { return .nothing }
                        CallInterface.store(values[next], as: kind, at: slot, arguments: arguments)
                        next += 1
                    }
                }
                slot += 16
                slot.storeBytes(of: (0, 0), as: (UInt64, UInt64).self)
                ffi_call(interface, function, slot, pointers.baseAddress)
                return CallInterface.load(result, at: slot)
            }
        }
    }

    private static func store(
        _ value: PluginValue, as kind: Signature.Kind, at slot: UnsafeMutableRawPointer,
        arguments: CallArguments?
    ) {
        switch (kind, value) {
        case (.boolean, .bool(let value)): slot.storeBytes(of: value ? 1 : 0, as: UInt8.self)
        case (.int32, .int(let value)):
            slot.storeBytes(of: Int32(truncatingIfNeeded: value), as: Int32.self)
        case (.uint32, .uint(let value)):
            slot.storeBytes(of: UInt32(truncatingIfNeeded: value), as: UInt32.self)
        case (.int64, .int(let value)): slot.storeBytes(of: value, as: Int64.self)
        case (.uint64, .uint(let value)): slot.storeBytes(of: value, as: UInt64.self)
        case (.double, .double(let value)): slot.storeBytes(of: value, as: Double.self)
        default: arguments?.store(value, as: kind, at: slot)
        }
    }

    /// Reads a result; libffi widens results narrower than a register to `ffi_arg`.
    private static func load(
        _ kind: Signature.Kind, at slot: UnsafeMutableRawPointer
    ) -> PluginValue {
        switch kind {
        case .boolean: .bool(slot.load(as: ffi_arg.self) & 0xFF != 0)
        case .int32, .status:
            .int(Int64(Int32(truncatingIfNeeded: slot.load(as: ffi_sarg.self))))
        case .uint32: .uint(UInt64(UInt32(truncatingIfNeeded: slot.load(as: ffi_arg.self))))
        case .int64: .int(slot.load(as: Int64.self))
        case .uint64: .uint(slot.load(as: UInt64.self))
        case .double: .double(slot.load(as: Double.self))
        case .void, .text, .bytes, .request, .callback, .call, .sink, .byteSink: .nothing
        }
    }
}
