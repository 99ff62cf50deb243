import CFFI

/// The libffi type of a structure that is passed by value.
final class StructureType: @unchecked Sendable {
    // @unchecked because only `ffi_prep_cif` writes to it, before other threads use it.

    /// The libffi type.
    let type: UnsafeMutablePointer<ffi_type>
    private let elements: UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>

    init(_ members: [UnsafeMutablePointer<ffi_type>]) {
        elements = .allocate(capacity: members.count + 1)
        for (index, member) in members.enumerated() {
            (elements + index).initialize(to: member)
        }
        (elements + members.count).initialize(to: nil)
        type = .allocate(capacity: 1)
        type.initialize(
            to: ffi_type(
                size: 0, alignment: 0, type: UInt16(FFI_TYPE_STRUCT), elements: elements))
    }

    deinit {
        type.deallocate()
        elements.deallocate()
    }
}
