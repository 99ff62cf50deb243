package import FoundationEssentials

/// The boundary between the parts of a multipart body (RFC 2046 §5.1.1).
package struct MultipartBoundary: Sendable, Equatable {
    /// The boundary without the hyphens before and after it.
    package let value: String

    /// Makes a boundary from text; `nil` unless it has 1 to 70 allowed characters.
    ///
    /// RFC 2046 also allows spaces; this refuses them.
    package init?(_ value: String) {
        guard (1...70).contains(value.utf8.count), value.utf8.allSatisfy(Self.allows) else {
            return nil
        }
        self.value = value
    }

    /// Makes a boundary of 35 characters, the last 19 of them random, so that no part contains it.
    package init(using generator: inout some RandomNumberGenerator) {
        let random = (0..<19).map { _ in Self.alphabet.randomElement(using: &generator) ?? "0" }
        value = "outlet.boundary." + String(random)
    }

    private static let alphabet = Array("0123456789abcdefghijklmnopqrstuvwxyz")

    private static func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "'()+_,-./:=?".utf8.contains(byte)
        }
    }

    /// The value of the body's `Content-Type`; the boundary is quoted if it is not a token.
    package var contentType: String {
        "multipart/form-data; boundary=\(isToken(value) ? value : "\"\(value)\"")"
    }

    // The delimiters before the first part, before each further part, and after the last one.
    package var initial: Data { Data("--\(value)\r\n".utf8) }
    package var encapsulated: Data { Data("\r\n--\(value)\r\n".utf8) }
    package var final: Data { Data("\r\n--\(value)--\r\n".utf8) }
}
