import COutletPlugin

extension outlet_view {
    /// The bytes that a plugin passed, in place; `nil` for a null pointer with a length.
    var foreign: UnsafeBufferPointer<UInt8>? {
        guard len > 0 else { return UnsafeBufferPointer(start: nil, count: 0) }
        guard let ptr, let count = Int(exactly: len) else { return nil }
        return UnsafeBufferPointer(start: ptr, count: count)
    }

    /// A copy as text; `nil` when it is not UTF-8.
    var text: String? {
        guard let bytes = foreign else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// A copy as text of limited length, with U+FFFD for what is not UTF-8.
    func message(limit: Int = 4096) -> String {
        guard let bytes = foreign else { return "" }
        return String(decoding: bytes.prefix(limit), as: UTF8.self)
    }
}

/// Stores a result, unless the plugin gave no place for it.
func store<Value>(_ value: Value, at place: UnsafeMutablePointer<Value>) -> outlet_status {
    // The header promises a place; a plugin in C can still pass null.
    guard UInt(bitPattern: place) != 0 else { return OUTLET_E_ARGUMENT }
    place.pointee = value
    return OUTLET_OK
}

/// Stores what was found, if it was.
func store(_ loan: Loan?, at place: UnsafeMutablePointer<outlet_view>) -> outlet_status {
    guard let loan else { return OUTLET_E_NOT_FOUND }
    return store(loan.view, at: place)
}

/// Stores as many fields as fit, and how many there are.
func store(
    _ fields: [(name: Loan, value: Loan)], at place: UnsafeMutablePointer<outlet_field>?,
    capacity: UInt64, count: UnsafeMutablePointer<UInt64>
) -> outlet_status {
    if let place {
        for (index, field) in fields.prefix(Int(clamping: capacity)).enumerated() {
            place[index] = outlet_field(name: field.name.view, value: field.value.view)
        }
    }
    return store(UInt64(fields.count), at: count)
}
