public import OutletHTTP

/// An argument or a result of an exported function.
public enum PluginValue: Sendable, Equatable {
    /// Nothing, as a result.
    case nothing
    /// A truth value.
    case bool(Bool)
    /// A whole number.
    case int(Int64)
    /// A whole number that may be too large for ``int(_:)``.
    case uint(UInt64)
    /// A number.
    case double(Double)
    /// A text.
    case text(String)
    /// Bytes.
    case bytes([UInt8])
    /// A request, which the function may read until it returns; an argument only.
    case request(HTTPRequest)
    /// A function that the plugin may call until its own returns; an argument only.
    case function(PluginCallback)
}

/// A Swift function that a plugin may call, as a C function pointer.
public final class PluginCallback: Sendable, Equatable {
    /// The function: takes one value for each letter of the plugin's signature, and gives what that says.
    ///
    /// Thread: the plugin's, one call at a time.
    public typealias Body = @Sendable (_ arguments: [PluginValue]) -> PluginValue

    let body: Body

    /// Makes a callback of a function.
    public init(_ body: @escaping Body) { self.body = body }

    /// One and the same.
    public static func == (a: PluginCallback, b: PluginCallback) -> Bool { a === b }
}

extension PluginValue: CustomStringConvertible {
    /// The value as text; empty for ``nothing``.
    public var description: String {
        switch self {
        case .nothing: ""
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .uint(let value): "\(value)"
        case .double(let value): "\(value)"
        case .text(let value): value
        case .bytes(let value): String(decoding: value, as: UTF8.self)
        case .request(let value): "\(value)"
        case .function: "a function"
        }
    }
}

extension PluginValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
    /// A text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// A number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// The kind for people.
    var kind: String {
        switch self {
        case .nothing: "nothing"
        case .bool: "a boolean"
        case .int, .uint: "a whole number"
        case .double: "a number"
        case .text: "a text"
        case .bytes: "bytes"
        case .request: "a request"
        case .function: "a function"
        }
    }

    /// The same value as an argument of that kind; `nil` when it is of another, or does not fit.
    func converted(to kind: Signature.Kind) -> PluginValue? {
        switch (kind, self) {
        case (.boolean, .bool), (.text, .text), (.double, .double), (.bytes, .bytes),
            (.request, .request), (.callback, .function):
            self
        case (.bytes, .text(let value)): .bytes(Array(value.utf8))
        case (.double, .int(let value)): .double(Double(value))
        case (.int32, .int(let value)): Int32(exactly: value) == nil ? nil : self
        case (.int64, .int): self
        case (.int64, .uint(let value)): Int64(exactly: value).map(PluginValue.int)
        case (.uint32, .int(let value)): UInt32(exactly: value).map { .uint(UInt64($0)) }
        case (.uint32, .uint(let value)): UInt32(exactly: value) == nil ? nil : self
        case (.uint64, .int(let value)): UInt64(exactly: value).map(PluginValue.uint)
        case (.uint64, .uint): self
        default: nil
        }
    }

    /// A text from a command line, read as an argument of that kind.
    init?(parsing text: String, as kind: Signature.Kind) {
        switch kind {
        case .text: self = .text(text)
        case .bytes: self = .bytes(Array(text.utf8))
        case .boolean:
            guard let value = Bool(text) else { return nil }
            self = .bool(value)
        case .double:
            guard let value = Double(text) else { return nil }
            self = .double(value)
        case .int32, .int64:
            guard let value = Int64(text), let fitting = PluginValue.int(value).converted(to: kind)
            else { return nil }
            self = fitting
        case .uint32, .uint64:
            guard let value = UInt64(text),
                let fitting = PluginValue.uint(value).converted(to: kind)
            else { return nil }
            self = fitting
        case .void, .status, .call, .sink, .byteSink, .request, .callback: return nil
        }
    }
}
