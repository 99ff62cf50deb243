/// Why the host refuses a text, or another argument, of a plugin.
package enum RefusedText: Error, Equatable {
    /// The text `name` has more bytes than `limit`.
    case tooLong(name: String, count: UInt64, limit: Int)
    /// The list `name` has more elements than `limit`.
    case tooMany(name: String, count: UInt64, limit: Int)
    /// The text `name` is null, but has a length.
    case null(name: String)
    /// The text `name` is not UTF-8.
    case notUTF8(name: String)
    /// The text `name` is of a view after its end; found only with ``EndedViews``.
    case ended(name: String)
    /// The code of a failure has other characters than it may.
    case invalidCode
    /// The number `name` is none of those that it may be.
    case unknown(name: String, value: UInt64)
    /// The argument `name`, which is needed, is null.
    case missing(name: String)
    /// The structure `name` has fewer bytes than `least`.
    case tooSmall(name: String, size: UInt32, least: Int)
    /// The call has no configuration.
    case unconfigured

    /// What is wrong, beginning with "its".
    var fact: String {
        switch self {
        case .tooLong(let name, let count, let limit):
            "its \(name) has \(count) bytes, at most \(limit) are allowed"
        case .tooMany(let name, let count, let limit):
            "its \(name) has \(count) elements, at most \(limit) are allowed"
        case .null(let name): "its \(name) is null, but has a length"
        case .notUTF8(let name): "its \(name) is not UTF-8"
        case .ended(let name): "its \(name) is not UTF-8: \(EndedViews.fact)"
        case .unknown(let name, let value): "its \(name) is \(value), which is none that it may be"
        case .missing(let name): "its \(name) is null"
        case .tooSmall(let name, let size, let least):
            "the struct_size of its \(name) is \(size), at least \(least) is needed"
        case .unconfigured: "its call is neither create nor reconfigure"
        case .invalidCode: "its code is not made of ASCII letters, digits and '-'"
        }
    }
}
