/// A number, Boolean or null of full Foundation's classes `NSNumber` and `NSNull`, which
/// `JSONSerialization` returns.
///
/// This library does not link full Foundation, but programs that use it may. There an `NSNumber`
/// casts to each type that can represent its value, so that 1 would become `true`. The class tells
/// them apart: on Linux Booleans have a subclass, and a number's description is its digits.
package enum FoundationScalar: Equatable {
    case null
    case bool(Bool)
    /// The description of a number; may be `nan` or `inf`.
    case number(String)

    /// Makes a scalar from an `NSNumber` or `NSNull`; `nil` for all other values.
    package init?(_ value: Any) {
        guard let type = type(of: value) as? AnyClass else { return nil }
        switch String(reflecting: type) {
        case "Foundation.NSNumber": self = .number("\(value)")
        case "Foundation.__NSCFBoolean":
            guard let value = value as? Bool else { return nil }
            self = .bool(value)
        case "Foundation.NSNull": self = .null
        default:
            // NSDecimalNumber and other subclasses of NSNumber.
            var ancestor: AnyClass? = _getSuperclass(type)
            while let type = ancestor, String(reflecting: type) != "Foundation.NSNumber" {
                ancestor = _getSuperclass(type)
            }
            guard ancestor != nil else { return nil }
            self = .number("\(value)")
        }
    }
}
