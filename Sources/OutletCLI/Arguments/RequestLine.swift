import Outlet

/// The operands of a request: `[METHOD] URL [ITEM…]`.
struct RequestLine: Sendable, Equatable {
    /// The method; if `nil`, it depends on whether there is a body.
    var method: HTTPMethod?
    var url: String
    var items: [String]

    private static let knownMethods: Set<String> = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
    ]

    static func isKnownMethod(_ word: String) -> Bool { knownMethod(word) != nil }

    private static func knownMethod(_ word: String) -> String? {
        knownMethods.first { $0.equalsIgnoringCase(word) }
    }

    /// Splits the operands into method, URL and items.
    ///
    /// The first operand is a method if it is a known method in any case, or a word of at least two
    /// characters that consists of capitals, digits and hyphens.
    ///
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if there is no URL, or the method is
    ///   `CONNECT`.
    init(operands: [String]) throws(CommandError) {
        guard let first = operands.first else {
            throw .usage("no URL given", advice: "try 'outlet :8080/get' or 'outlet --help'")
        }
        guard RequestLine.isMethod(first) else {
            if operands.count > 1, RequestLine.isWord(first), RequestLine.mayBeURL(operands[1]) {
                throw .usage(
                    "\(first): neither a verb nor a method",
                    advice: "methods of your own are written in capitals; see 'outlet --help'")
            }
            method = nil
            url = first
            items = Array(operands.dropFirst())
            return
        }
        guard !first.equalsIgnoringCase("CONNECT") else {
            throw .usage(
                "\(first): asks a proxy for a tunnel, not a server for anything",
                advice: "with --proxy, a tunnel to an https address is made by itself")
        }
        guard operands.count > 1 else {
            throw .usage("\(first): no URL given", advice: "try 'outlet \(first) :8080/get'")
        }
        method = HTTPMethod(rawValue: RequestLine.knownMethod(first) ?? first)
        url = operands[1]
        items = Array(operands.dropFirst(2))
    }

    private static func isMethod(_ word: String) -> Bool {
        if isKnownMethod(word) { return true }
        return word.utf8.count > 1 && word.utf8.first?.isAlpha == true
            && word.utf8.allSatisfy { byte in
                byte.isAlpha && byte.lowercased != byte || byte.isDigit || byte == UInt8(ascii: "-")
            }
    }

    /// Whether an operand after the first one is a URL rather than an item.
    private static func mayBeURL(_ text: String) -> Bool {
        let port = text.utf8.dropFirst().first
        return isWord(text)
            || ["http://", "https://", "file://"].contains { text.startsWithBytes(of: $0) }
            || text.startsWithBytes(of: ":") && (port?.isDigit == true || port == UInt8(ascii: "/"))
    }

    private static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(\.isAlpha)
    }
}
