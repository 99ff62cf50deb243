import COutletPlugin

/// Stores a result for a plugin; returns `OUTLET_E_ARGUMENT` if the pointer is null, which is logged
/// in the name of the plugin whose hook this thread is running.
func store<Value>(_ value: Value, at place: UnsafeMutablePointer<Value>) -> outlet_status {
    // The header requires a non-null pointer; a plugin in C can still pass null.
    guard UInt(bitPattern: place) != 0 else { return refuseResult() }
    place.pointee = value
    return OUTLET_OK
}

@inline(never)
private func refuseResult() -> outlet_status {
    CurrentCall.caller?.reportRefusal(.missing(name: "place for the result"), of: "a host function")
    return OUTLET_E_ARGUMENT
}

/// Stores a view of copied bytes; returns `OUTLET_E_NOT_FOUND` for `nil`.
@inline(__always)
func store(_ bytes: CopiedBytes?, at place: UnsafeMutablePointer<outlet_view>) -> outlet_status {
    guard let bytes else { return OUTLET_E_NOT_FOUND }
    return store(bytes.view, at: place)
}

/// Stores as many fields as fit, and the number of all fields.
///
/// - Parameters:
///   - fields: The fields.
///   - place: The plugin's array; `nil` if it wants only the number.
///   - capacity: The number of elements of the array.
///   - count: Receives the number of all fields.
/// - Returns: `OUTLET_E_ARGUMENT` if `count` is null.
func store(
    _ fields: CopiedFields, at place: UnsafeMutablePointer<outlet_field>?,
    capacity: UInt64, count: UnsafeMutablePointer<UInt64>
) -> outlet_status {
    if let place, let first = fields.first {
        place.update(from: first, count: min(fields.count, Int(clamping: capacity)))
    }
    return store(UInt64(fields.count), at: count)
}
