/// Where and why a text is not JSON.
public struct JSONSyntaxError: Error, Sendable, Equatable {
    /// What the parser met.
    public enum Reason: Sendable, Equatable {
        /// The text ends before its value does.
        case unexpectedEnd
        /// A byte that cannot stand there; `expected` says what could.
        case unexpectedByte(UInt8, expected: String)
        /// Bytes that are not UTF-8 (RFC 8259 §8.1).
        case invalidUTF8
        /// A control character inside a string (RFC 8259 §7).
        case controlCharacter(UInt8)
        /// A backslash followed by something that is no escape.
        case invalidEscape
        /// Half of a surrogate pair.
        case unpairedSurrogate
        /// Arrays and objects inside each other, deeper than allowed.
        case tooDeep(maximum: Int)
        /// Something follows the value.
        case trailingContent
    }

    /// What the parser met.
    public let reason: Reason
    /// Where, in bytes from the start.
    public let offset: Int
    /// The line, from 1.
    public let line: Int
    /// The column, in bytes from 1.
    public let column: Int
}

extension JSONSyntaxError: CustomStringConvertible {
    /// What is wrong and where, without quoting the text.
    public var description: String {
        "not JSON at byte \(offset) (line \(line), column \(column)): \(reason)"
    }
}

extension JSONSyntaxError.Reason: CustomStringConvertible {
    /// What the parser met, in words.
    public var description: String {
        switch self {
        case .unexpectedEnd: "the text ends before the value does"
        case .unexpectedByte(let byte, let expected):
            "found \(JSONSyntaxError.Reason.name(of: byte)), expected \(expected)"
        case .invalidUTF8: "bytes that are not UTF-8"
        case .controlCharacter(let byte):
            "\(JSONSyntaxError.Reason.name(of: byte)) inside a string must be escaped"
        case .invalidEscape: "a backslash followed by no known escape"
        case .unpairedSurrogate: "half of a surrogate pair"
        case .tooDeep(let maximum): "nested deeper than \(maximum) levels"
        case .trailingContent: "something follows the value"
        }
    }

    private static func name(of byte: UInt8) -> String {
        guard (0x21...0x7E).contains(byte) else {
            let digits = String(byte, radix: 16, uppercase: true)
            return "byte 0x\(digits.count < 2 ? "0" : "")\(digits)"
        }
        return "'\(Character(Unicode.Scalar(byte)))'"
    }
}
