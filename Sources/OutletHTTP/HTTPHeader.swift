import FoundationEssentials

/// One header field: a name and a value, both as sent or received.
public struct HTTPHeader: Equatable, Hashable, Sendable {
    /// The field's name; its case is kept, but ignored in look-ups.
    public let name: String
    /// The field's value; a received value has no blanks at its ends.
    ///
    /// Bytes that are not valid UTF-8 are decoded as Latin-1.
    public let value: String
    /// Whether the bytes of the value are Latin-1; otherwise they are UTF-8.
    package let isLatin1: Bool

    /// Makes a field from any text; ``HTTPRequest/checkSyntax()`` refuses what HTTP cannot send.
    ///
    /// - Parameters:
    ///   - name: The field's name; must be a token (RFC 9110 §5.1) to be sent.
    ///   - value: The field's value; must not have control characters other than HTAB to be sent.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
        isLatin1 = false
    }

    /// Makes a field from the bytes of its value, which are sent unchanged.
    ///
    /// RFC 9110 §5.5 allows bytes above 0x7F in values, without an encoding.
    ///
    /// - Parameters:
    ///   - name: The field's name; must be a token (RFC 9110 §5.1) to be sent.
    ///   - valueBytes: The value; must not have control characters other than HTAB to be sent.
    public init(name: String, valueBytes: some Sequence<UInt8>) {
        let text =
            valueBytes.withContiguousStorageIfAvailable(FieldText.init)
            ?? Array(valueBytes).withUnsafeBufferPointer(FieldText.init)
        self.init(name: name, decoding: text)
    }

    /// Makes a field from a value as ``HTTPHeaders/forEachValue(of:_:)`` passes it.
    package init(_ name: String, ofReceived bytes: UnsafeBufferPointer<UInt8>) {
        self.init(name: name, decoding: HeaderBlock.decode(bytes))
    }

    init(name: String, decoding text: FieldText) {
        self.name = name
        value = text.value
        isLatin1 = text.isLatin1
    }

    /// The bytes of the value, as sent or received.
    public var valueBytes: [UInt8] { isLatin1 ? value.latin1Bytes : Array(value.utf8) }

    /// Calls `body` with the bytes of the value, as sent or received.
    func withValueBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        guard !isLatin1 else { return value.latin1Bytes.withUnsafeBufferPointer(body) }
        var value = value
        return value.withUTF8(body)
    }
}

/// The text of a field's value, decoded as UTF-8, or as Latin-1 if the bytes are not valid UTF-8.
struct FieldText {
    let value: String
    var isLatin1 = false

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        // The ASCII test first: validating UTF-8 takes ten times as long.
        if bytes.allSatisfy({ $0 < 0x80 }) {
            value = String(decoding: bytes, as: UTF8.self)
        } else if let text = String(validating: bytes, as: UTF8.self) {
            value = text
        } else {
            var text = String.UnicodeScalarView()
            for byte in bytes { text.append(Unicode.Scalar(byte)) }
            value = String(text)
            isLatin1 = true
        }
    }
}

extension String {
    /// The bytes of a text that was decoded as Latin-1.
    package var latin1Bytes: [UInt8] {
        unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }
}

extension HTTPHeader {
    /// Whether names and values have the same bytes; `String` would also treat canonically
    /// equivalent texts as equal.
    public static func == (a: HTTPHeader, b: HTTPHeader) -> Bool {
        a.name.hasSameBytes(as: b.name) && a.value.hasSameBytes(as: b.value)
            && a.isLatin1 == b.isLatin1
    }
}

extension HTTPHeader: CustomStringConvertible {
    /// `Name: value`, secrets included; for logs use ``Redaction/value(of:)``.
    public var description: String { "\(name): \(value)" }
}

extension HTTPHeader {
    /// An `Accept` field.
    ///
    /// - Parameter value: The media types, such as `application/json, */*;q=0.5`.
    public static func accept(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept", value: value)
    }

    /// An `Accept-Charset` field.
    ///
    /// - Parameter value: The character sets, such as `utf-8`.
    public static func acceptCharset(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Charset", value: value)
    }

    /// An `Accept-Language` field.
    ///
    /// - Parameter value: The language ranges, such as `de, en;q=0.5`.
    public static func acceptLanguage(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Language", value: value)
    }

    /// An `Accept-Encoding` field.
    ///
    /// - Parameter value: The content codings, such as `gzip, br`.
    public static func acceptEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Accept-Encoding", value: value)
    }

    /// An `Authorization` field of the Basic scheme (RFC 7617), in UTF-8.
    ///
    /// Neither may contain control characters, which are not checked here.
    ///
    /// - Parameters:
    ///   - username: The name; must not contain a colon, which would end it.
    ///   - password: The password.
    public static func authorization(username: String, password: String) -> HTTPHeader {
        let credential = Data("\(username):\(password)".utf8).base64EncodedString()
        return authorization("Basic \(credential)")
    }

    /// An `Authorization` field of the Bearer scheme (RFC 6750).
    ///
    /// - Parameter bearerToken: The token, without the scheme.
    public static func authorization(bearerToken: String) -> HTTPHeader {
        authorization("Bearer \(bearerToken)")
    }

    /// An `Authorization` field.
    ///
    /// - Parameter value: The complete value, scheme included.
    public static func authorization(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Authorization", value: value)
    }

    /// A `Content-Disposition` field.
    ///
    /// - Parameter value: The disposition, such as `form-data; name="file"`.
    public static func contentDisposition(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Disposition", value: value)
    }

    /// A `Content-Encoding` field.
    ///
    /// - Parameter value: The content codings in the order in which they were applied, such as
    ///   `gzip`.
    public static func contentEncoding(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Encoding", value: value)
    }

    /// A `Content-Type` field.
    ///
    /// - Parameter value: The media type, such as `text/html; charset=utf-8`.
    public static func contentType(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Content-Type", value: value)
    }

    /// A `User-Agent` field.
    ///
    /// - Parameter value: The products and comments, such as `Example/1.0`.
    public static func userAgent(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "User-Agent", value: value)
    }

    /// A `Sec-WebSocket-Protocol` field.
    ///
    /// - Parameter value: The subprotocols, separated by commas, such as `chat, superchat`.
    public static func websocketProtocol(_ value: String) -> HTTPHeader {
        HTTPHeader(name: "Sec-WebSocket-Protocol", value: value)
    }
}
