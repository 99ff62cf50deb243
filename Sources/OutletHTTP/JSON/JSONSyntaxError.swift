/// The error of a text that is not JSON, with the position of the fault.
public struct JSONSyntaxError: Error, Sendable, Equatable {
    /// Why a text is not JSON.
    public enum Reason: Sendable, Equatable {
        /// The text ends before its value does.
        case unexpectedEnd
        /// A byte that is not allowed at this position; `expected` says what is.
        case unexpectedByte(UInt8, expected: String)
        /// Bytes that are not UTF-8 (RFC 8259 §8.1).
        case invalidUTF8
        /// An unescaped control character inside a string (RFC 8259 §7).
        case controlCharacter(UInt8)
        /// A backslash that does not begin an escape sequence of JSON.
        case invalidEscape
        /// An escape sequence of one half of a surrogate pair without the other.
        case unpairedSurrogate
        /// Arrays and objects are nested deeper than `maximum` levels.
        case tooDeep(maximum: Int)
        /// Something other than white space follows the value.
        case trailingContent
        /// The text has 4 GiB or more.
        case tooLong
    }

    /// Why the text is not JSON.
    public let reason: Reason
    /// The position of the fault, in bytes from the start of the text, from 0.
    public let offset: Int
    /// The line of the fault, from 1.
    public let line: Int
    /// The column of the fault, in bytes from the start of the line, from 1.
    public let column: Int
}

extension JSONSyntaxError: CustomStringConvertible {
    /// What is wrong and where; does not quote the text, which may contain secrets.
    public var description: String {
        "not JSON at byte \(offset) (line \(line), column \(column)): \(reason)"
    }
}

extension JSONSyntaxError.Reason: CustomStringConvertible {
    /// The reason in words.
    public var description: String {
        switch self {
        case .unexpectedEnd: "the text ends before the value does"
        case .unexpectedByte(let byte, let expected):
            "found \(JSONSyntaxError.Reason.name(of: byte)), expected \(expected)"
        case .invalidUTF8: "bytes that are not UTF-8"
        case .controlCharacter(let byte):
            "\(JSONSyntaxError.Reason.name(of: byte)) inside a string must be escaped"
        case .invalidEscape: "a backslash followed by no known escape"
        case .unpairedSurrogate: "half of a surrogate pair, which is no character"
        case .tooDeep(let maximum): "nested deeper than \(maximum) levels"
        case .trailingContent: "something follows the value"
        case .tooLong: "the text has 4 GiB or more"
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
