import COutletPlugin

extension outlet_view {
    /// How many bytes a plugin may pass at most, by what they are.
    enum Limit: Int {
        case code = 64
        case name = 1024
        case message = 4096
        case value = 65_536
        case body = 1_073_741_824
    }

    /// The bytes that a plugin passed, in place; `nil` for a null pointer with a length, or where there
    /// are more than allowed.
    func foreign(_ limit: Limit) -> UnsafeBufferPointer<UInt8>? {
        guard len > 0 else { return UnsafeBufferPointer(start: nil, count: 0) }
        guard let ptr, len <= UInt64(limit.rawValue) else { return nil }
        return UnsafeBufferPointer(start: ptr, count: Int(len))
    }

    /// A copy as text; `nil` when it is not UTF-8, or too long.
    func text(_ limit: Limit) -> String? {
        guard let bytes = foreign(limit), let text = try? UTF8Span(validating: bytes.span) else {
            return nil
        }
        return String(copying: text)
    }

    /// A copy as text for messages, with U+FFFD for invalid UTF-8; `nil` if it is too long.
    var message: String? {
        foreign(.message).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// Why a plugin failed something, in its own words.
struct PluginReason: Sendable, Equatable {
    /// A stable word for programs; may be empty.
    var code = ""
    /// A text for people; may be empty.
    var message: String
    /// Whether it is the status `OUTLET_E_DENIED` that it explains.
    var isRefusal = false

    init(message: String) { self.message = message }

    /// - Returns: `nil` when one of the two is too long, or the code is no word.
    init?(code: outlet_view, message: outlet_view) {
        guard let code = code.text(.code), let message = message.message,
            code.utf8.allSatisfy(PluginReason.isCode)
        else { return nil }
        self.code = code
        self.message = message
    }

    private static func isCode(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// The same with a text, where the plugin gave none.
    func or(_ text: String) -> PluginReason {
        var reason = self
        if message.isEmpty { reason.message = text }
        return reason
    }
}

/// Stores a result, unless the plugin gave no place for it.
func store<Value>(_ value: Value, at place: UnsafeMutablePointer<Value>) -> outlet_status {
    // The header promises a place; a plugin in C can still pass null.
    guard UInt(bitPattern: place) != 0 else { return OUTLET_E_ARGUMENT }
    place.pointee = value
    return OUTLET_OK
}

/// Whether a plugin passed a null pointer where the header declares a function that is never null.
func isNull<Function>(_ function: Function) -> Bool {
    unsafeBitCast(function, to: Int.self) == 0
}

/// Stores what was found, if it was.
func store(_ bytes: CopiedBytes?, at place: UnsafeMutablePointer<outlet_view>) -> outlet_status {
    guard let bytes else { return OUTLET_E_NOT_FOUND }
    return store(bytes.view, at: place)
}

/// Stores as many fields as fit, and how many there are.
func store(
    _ fields: CopiedFields, at place: UnsafeMutablePointer<outlet_field>?,
    capacity: UInt64, count: UnsafeMutablePointer<UInt64>
) -> outlet_status {
    if let place, let first = fields.first {
        place.update(from: first, count: min(fields.count, Int(clamping: capacity)))
    }
    return store(UInt64(fields.count), at: count)
}
