/// A number, a truth value or a null of full Foundation's classes (`NSNumber`, `NSNull`), as its
/// `JSONSerialization` makes them.
///
/// This library does not link full Foundation, but its users may: there an `NSNumber` casts to each
/// type that can hold its value, so that 1 would be taken for `true`. The class says what it is: on
/// Linux truth values have one of their own, and a number's description is its digits.
package enum FoundationScalar: Equatable {
    case null
    case bool(Bool)
    /// A number as `NSNumber` describes it; `nan` and `inf` among them.
    case number(String)

    /// `nil` for all other values, those of the standard library first of all.
    package init?(_ value: Any) {
        guard let type = type(of: value) as? AnyClass else { return nil }
        switch String(reflecting: type) {
        case "Foundation.NSNumber": self = .number("\(value)")
        case "Foundation.__NSCFBoolean":
            guard let value = value as? Bool else { return nil }
            self = .bool(value)
        case "Foundation.NSNull": self = .null
        default:
            // NSDecimalNumber, and whatever else is made of NSNumber.
            var ancestor: AnyClass? = _getSuperclass(type)
            while let type = ancestor, String(reflecting: type) != "Foundation.NSNumber" {
                ancestor = _getSuperclass(type)
            }
            guard ancestor != nil else { return nil }
            self = .number("\(value)")
        }
    }
}
