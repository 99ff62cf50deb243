public import OutletHTTP

/// An argument or a result of an exported function.
public enum PluginValue: Sendable, Equatable {
    /// No value; a result only.
    case nothing
    /// A Boolean.
    case bool(Bool)
    /// A signed integer.
    case int(Int64)
    /// An unsigned integer.
    case uint(UInt64)
    /// A floating-point number.
    case double(Double)
    /// A text.
    case text(String)
    /// Bytes.
    case bytes([UInt8])
    /// A request; an argument only.
    ///
    /// The exported function may read it until it returns.
    case request(HTTPRequest)
    /// A callback; an argument only.
    ///
    /// The plugin may call it until the exported function returns.
    case function(PluginCallback)
}

/// A Swift function that a plugin may call, as a C function pointer.
public final class PluginCallback: Sendable, Equatable {
    /// The function that the plugin calls.
    ///
    /// It receives one value for each argument in the callback's signature, and returns a value of
    /// the signature's result type. If the returned value is of another type, or out of its range,
    /// the plugin receives zero, and the call of the exported function throws
    /// ``PluginCallError/wrongType(declaration:position:wanted:given:)``.
    ///
    /// Thread: any thread of the plugin; plugins must not make two calls at the same time.
    public typealias Body = @Sendable (_ arguments: [PluginValue]) -> PluginValue

    let body: Body

    /// Creates a callback.
    ///
    /// - Parameter body: The function that the plugin calls; see ``Body`` for the thread.
    public init(_ body: @escaping Body) { self.body = body }

    /// Whether both are the same object.
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
    /// Creates a ``text(_:)``.
    ///
    /// - Parameter value: The literal's value.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Creates an ``int(_:)``.
    ///
    /// - Parameter value: The literal's value.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// Creates a ``double(_:)``.
    ///
    /// - Parameter value: The literal's value.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Creates a ``bool(_:)``.
    ///
    /// - Parameter value: The literal's value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// The kind of the value in words, for error messages.
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

    /// The kind of a value that cannot be converted to another kind, in words, for error messages.
    ///
    /// - Parameter wanted: The other kind.
    func kind(unfitFor wanted: Signature.Kind) -> String {
        switch (self, wanted) {
        case (.int, .int32), (.int, .uint32), (.int, .uint64), (.uint, .int32), (.uint, .uint32),
            (.uint, .int64):
            "a whole number out of range"
        default: kind
        }
    }

    /// Whether the value needs no conversion to be of a kind.
    func isOf(_ kind: Signature.Kind) -> Bool {
        switch (kind, self) {
        case (.boolean, .bool), (.text, .text), (.double, .double), (.bytes, .bytes),
            (.request, .request), (.callback, .function), (.int64, .int), (.uint64, .uint):
            true
        default: false
        }
    }

    /// Returns the value converted to a kind; `nil` if it cannot be converted or is out of range.
    func converted(to kind: Signature.Kind) -> PluginValue? {
        switch (kind, self) {
        case (let kind, let value) where value.isOf(kind): self
        case (.bytes, .text(let value)): .bytes(Array(value.utf8))
        case (.double, .int(let value)): .double(Double(value))
        case (.double, .uint(let value)): .double(Double(value))
        case (.int32, .int(let value)): Int32(exactly: value) == nil ? nil : self
        case (.int32, .uint(let value)): Int32(exactly: value).map { .int(Int64($0)) }
        case (.int64, .uint(let value)): Int64(exactly: value).map(PluginValue.int)
        case (.uint32, .int(let value)): UInt32(exactly: value).map { .uint(UInt64($0)) }
        case (.uint32, .uint(let value)): UInt32(exactly: value) == nil ? nil : self
        case (.uint64, .int(let value)): UInt64(exactly: value).map(PluginValue.uint)
        default: nil
        }
    }

    /// Parses a text from a command line.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - kind: The kind of the parameter.
    /// - Returns: `nil` if the text cannot be parsed, or the kind has no text form.
    init?(parsing text: String, as kind: Signature.Kind) {
        switch kind {
        case .text: self = .text(text)
        case .bytes: self = .bytes(Array(text.utf8))
        case .boolean:
            guard let value = Bool(text) else { return nil }
            self = .bool(value)
        case .double:
            // A number that is too large must not become infinite.
            guard let value = Double(text),
                value.isFinite || !text.utf8.contains(where: { (0x30...0x39).contains($0) })
            else { return nil }
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
