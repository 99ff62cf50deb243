import COutletPlugin
import CPluginLoad
import OutletHTTP

extension outlet_view {
    /// The maximum number of bytes that a plugin may pass, by purpose.
    enum Limit: Int {
        case code = 64
        case name = 1024
        case message = 4096
        case value = 65_536
        case body = 1_073_741_824
    }

    /// Returns the plugin's bytes without copying them; they may change at any time.
    ///
    /// - Parameter limit: The maximum length.
    /// - Returns: `nil` if the view is longer than the limit, or its pointer is null although its
    ///   length is not 0.
    @inline(__always)
    func foreign(_ limit: Limit) -> UnsafeBufferPointer<UInt8>? {
        guard len > 0 else { return UnsafeBufferPointer(start: nil, count: 0) }
        guard let ptr, len <= UInt64(limit.rawValue) else { return nil }
        return UnsafeBufferPointer(start: ptr, count: Int(len))
    }

    /// Returns the plugin's bytes as ``foreign(_:)``, after reading the first and the last of them.
    ///
    /// To be called without a lock: a plugin's memory may block who reads it (userfaultfd, a handler
    /// of SIGSEGV), and the deadline of its hook takes the lock of the hook's handles, too.
    @inline(__always)
    func read(_ limit: Limit) -> UnsafeBufferPointer<UInt8>? {
        let bytes = foreign(limit)
        if let bytes, let first = bytes.baseAddress { cpluginload_read(first, bytes.count) }
        return bytes
    }

    /// Calls `body` with a copy of the plugin's bytes, on the stack if they are at most 1 KiB.
    ///
    /// What is checked must be a copy: another thread of the plugin may change the bytes meanwhile.
    /// To be called without a lock, as ``read(_:)``.
    ///
    /// - Parameters:
    ///   - limit: The maximum length.
    ///   - body: Receives the copy, which is valid until it returns.
    /// - Returns: The result of `body`; `nil` if the view cannot be read, as in ``foreign(_:)``.
    @inline(__always)
    func withCopy<Result>(
        _ limit: Limit, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result? {
        guard let bytes = foreign(limit) else { return nil }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count) { copy in
            UnsafeMutableRawBufferPointer(copy).copyMemory(from: UnsafeRawBufferPointer(bytes))
            return body(UnsafeBufferPointer(copy))
        }
    }

    /// Returns a copy as text; `nil` if the bytes are not UTF-8 or too long.
    func text(_ limit: Limit) -> String? {
        let text = withCopy(limit) { bytes -> String? in
            guard let text = try? UTF8Span(validating: bytes.span) else { return nil }
            return String(copying: text)
        }
        return text.flatMap { $0 }
    }

    /// Returns a copy as text.
    ///
    /// - Parameters:
    ///   - limit: The maximum length.
    ///   - name: What the text is, for the error.
    /// - Throws: ``RefusedText`` if the view cannot be read, or is not UTF-8.
    func text(_ limit: Limit, _ name: String) throws(RefusedText) -> String {
        if let text = text(limit) { return text }
        if let refused = refusal(limit, name) { throw refused }
        throw withCopy(limit, EndedViews.contain) == true
            ? .ended(name: name) : .notUTF8(name: name)
    }

    /// Why the bytes cannot be read; `nil` if they can.
    ///
    /// - Parameters:
    ///   - limit: The maximum length.
    ///   - name: What the bytes are, for the error.
    func refusal(_ limit: Limit, _ name: String) -> RefusedText? {
        guard foreign(limit) == nil else { return nil }
        return len > UInt64(limit.rawValue)
            ? .tooLong(name: name, count: len, limit: limit.rawValue) : .null(name: name)
    }
}

/// What is wrong with the reason that a plugin gave for a failure, or with the failure itself.
public enum ReasonFault: Sendable, Equatable {
    /// It gave none.
    case missing
    /// The host cannot read it: it is not UTF-8, too long, or at an invalid address.
    case unreadable
    /// The plugin has returned a positive status that is not defined, or `OUTLET_PENDING` where that
    /// is not allowed.
    case undefinedStatus

    /// Says that a plugin has returned a status that it must not return.
    static func fact(ofUndefined status: outlet_status) -> String {
        status == OUTLET_PENDING
            ? "it returned OUTLET_PENDING, which only quiesce and hooks with a completion may"
            : "it returned \(status), which is no status"
    }
}

/// The reason for a failure, as given by a plugin.
struct PluginReason: Sendable, Equatable {
    /// A stable machine-readable code: ASCII letters, digits and `-`; may be empty.
    var code = ""
    /// A human-readable text; may be empty.
    var message: String
    /// Whether the failure is deliberate (`OUTLET_E_DENIED`).
    var isRefusal = false
    /// Why ``message`` is not the plugin's although the contract requires one; `nil` if it is.
    var fault: ReasonFault?

    init(message: String, fault: ReasonFault? = nil) {
        self.message = message
        self.fault = fault
    }

    /// Copies a reason from C views.
    ///
    /// - Parameters:
    ///   - code: At most 64 bytes of ASCII letters, digits and `-`; may be empty.
    ///   - message: At most 4096 bytes of UTF-8; may be empty.
    /// - Throws: ``RefusedText`` if one of the two is something else.
    init(code: outlet_view, message: outlet_view) throws(RefusedText) {
        self.code = try code.text(.code, "code")
        self.message = try message.text(.message, "message")
        guard self.code.utf8.allSatisfy(PluginReason.isCode) else { throw .invalidCode }
    }

    private static func isCode(_ byte: UInt8) -> Bool {
        byte.isAlpha || byte.isDigit || byte == UInt8(ascii: "-")
    }

    /// Returns the same reason with another text if the plugin gave none.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - fault: What is wrong with a failure whose text is missing.
    func or(_ text: String, fault: ReasonFault?) -> PluginReason {
        guard message.isEmpty else { return self }
        var reason = self
        reason.message = text
        reason.fault = fault
        return reason
    }

    /// Returns the same reason, or, if the plugin gave none, one that says so.
    func orMissing(_ what: String) -> PluginReason {
        or("\(what), without a reason", fault: .missing)
    }
}

/// Whether a plugin passed a null pointer where the header requires a function.
func isNull<Function>(_ function: Function) -> Bool {
    unsafeBitCast(function, to: Int.self) == 0
}

extension String {
    /// Whether it has a control character, such as ESC or a line break.
    package var hasControlCharacters: Bool {
        unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}
