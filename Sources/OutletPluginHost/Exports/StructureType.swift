import CFFI

/// A structure passed by value, as libffi describes it.
final class StructureType: @unchecked Sendable {
    // because it is written by `ffi_prep_cif` only, before anybody else sees it.
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
