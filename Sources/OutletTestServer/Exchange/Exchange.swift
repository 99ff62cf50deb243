import OutletPointers

internal import CMicroHTTPD

/// A received request, and its reply once there is one.
///
/// Thread: only the daemon's thread uses it.
final class Exchange {
    /// The request target as sent: path and query, still percent-encoded.
    let target: String
    /// The path's segments, percent-decoded: `/status/200` is `["status", "200"]`.
    let path: [String]
    /// The query's fields in order, percent-decoded.
    let query: [(name: String, value: String)]

    private(set) var hasHead = false
    private(set) var method = ""
    /// The header fields in order, with names as sent.
    private(set) var headers: [(name: String, value: String)] = []
    /// The form's fields and files; empty until ``readForm()``.
    private(set) var form = Form()

    var body: [UInt8] = []
    var reply: Reply?

    private var connection: OpaquePointer?

    init(target: String) {
        self.target = target
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = parts[0].split(separator: "/").map { Exchange.decode($0) }
        query = parts.count < 2 ? [] : Exchange.fields(of: parts[1])
    }

    /// Stores the method, and copies the header fields from libmicrohttpd.
    func readHead(method: String, connection: OpaquePointer) {
        self.method = method
        self.connection = connection
        hasHead = true
        let context = ObjectPointer.unretained(self)
        MHD_get_connection_values(
            connection, .HEADER_KIND,
            { context, _, name, value in
                guard let context, let name else { return .YES }
                let exchange = ObjectPointer.object(at: context, as: Exchange.self)
                let text = value.map { String(cString: $0) } ?? ""
                exchange.headers.append((String(cString: name), text))
                return .YES
            }, context)
    }

    /// Returns the first value of a header field; the case of `name` is ignored.
    func header(_ name: String) -> String? {
        let name = name.lowercased()
        return headers.first { $0.name.lowercased() == name }?.value
    }

    /// Returns the first value of a query field.
    func queryValue(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// Parses the body as a form, if its content type is a form's.
    func readForm() {
        guard let connection else { return }
        form = Form(body: body, connection: connection)
    }

    private static func fields(of query: Substring) -> [(name: String, value: String)] {
        query.split(separator: "&").map { field in
            let pair = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (
                decode(pair[0], plusIsSpace: true),
                pair.count < 2 ? "" : decode(pair[1], plusIsSpace: true)
            )
        }
    }

    /// Percent-decodes a text; invalid escapes stay as they are.
    private static func decode(_ text: Substring, plusIsSpace: Bool = false) -> String {
        var rest = text.utf8[...]
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                bytes.append(UInt8(digits[0] << 4 | digits[1]))
                rest = rest.dropFirst(2)
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
