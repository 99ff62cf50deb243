public import FoundationEssentials
public import OutletHTTP
import OutletSession

/// Which requests a stub answers: conditions that must all hold, each with a name for reports.
public struct RequestMatcher: Sendable {
    struct Condition: Sendable {
        /// What is wanted.
        let text: String
        /// What is there in its place; `nil` when the condition holds.
        let misses: @Sendable (HTTPRequest, Data) -> String?
    }

    private(set) var conditions: [Condition] = []

    /// All requests.
    public static let any = RequestMatcher()

    /// All requests.
    public init() {}

    // MARK: Method and address

    /// `GET` requests whose address has the form of a pattern; see ``url(_:)``.
    public static func get(_ pattern: String) -> RequestMatcher { request(.get, pattern) }
    /// `HEAD` requests whose address has the form of a pattern; see ``url(_:)``.
    public static func head(_ pattern: String) -> RequestMatcher { request(.head, pattern) }
    /// `POST` requests whose address has the form of a pattern; see ``url(_:)``.
    public static func post(_ pattern: String) -> RequestMatcher { request(.post, pattern) }
    /// `PUT` requests whose address has the form of a pattern; see ``url(_:)``.
    public static func put(_ pattern: String) -> RequestMatcher { request(.put, pattern) }
    /// `PATCH` requests whose address has the form of a pattern; see ``url(_:)``.
    public static func patch(_ pattern: String) -> RequestMatcher { request(.patch, pattern) }
    /// `DELETE` requests whose address has the form of a pattern; see ``url(_:)``.
    public static func delete(_ pattern: String) -> RequestMatcher { request(.delete, pattern) }

    /// Requests of a method whose address has the form of a pattern; see ``url(_:)``.
    public static func request(_ method: HTTPMethod, _ pattern: String) -> RequestMatcher {
        RequestMatcher().method(method).url(pattern)
    }

    /// Requests of a method only.
    public func method(_ method: HTTPMethod) -> RequestMatcher {
        adding("method \(method)") { request, _ in
            request.method == method ? nil : "method is \(request.method)"
        }
    }

    /// Requests whose address has the form of a pattern only.
    ///
    /// `*` stands for any text without `/`, `**` for any text. A pattern that begins with `/` is
    /// one of the path; one without `?` says nothing of the query.
    public func url(_ pattern: String) -> RequestMatcher {
        adding(Redaction.standard.address(pattern)) { request, _ in
            guard let url = request.url else { return "address is missing" }
            let isPath = pattern.startsWithBytes(of: "/")
            var text = isPath ? url.path(percentEncoded: true) : url.absoluteString
            if isPath, let query = url.query(percentEncoded: true) {
                text += "?\(query)"
            }
            text = String(text.cut(at: "#")?.head ?? text[...])
            if !pattern.containsByte("?") { text = String(text.cut(at: "?")?.head ?? text[...]) }
            return Glob(pattern).matches(text)
                ? nil : "address is \(Redaction.standard.address(text))"
        }
    }

    /// Requests with a query parameter only, of that value if one is given.
    public func query(_ name: String, _ value: String? = nil) -> RequestMatcher {
        let wanted = value.map { Redaction.standard.parameters("\(name)=\($0)") } ?? name
        return adding("query \(wanted)") { request, _ in
            let items =
                request.url.flatMap {
                    URLComponents(url: $0, resolvingAgainstBaseURL: false)?.queryItems
                } ?? []
            let values = items.filter { $0.name == name }.map { $0.value ?? "" }
            guard let value else { return values.isEmpty ? "query \(name) is missing" : nil }
            if values.contains(value) { return nil }
            guard !values.isEmpty else { return "query \(name) is missing" }
            let isSecret = Redaction.standard.hidesParameter(named: name)
            let shown = isSecret ? Redaction.standard.mark : values.joined(separator: ", ")
            return "query \(name) is \(shown)"
        }
    }

    // MARK: Fields

    /// Requests with a header field only, of the form of a pattern if one is given.
    ///
    /// In the pattern `*` stands for any text.
    public func header(_ name: String, _ pattern: String? = nil) -> RequestMatcher {
        let wanted = pattern.map {
            Redaction.standard.value(of: HTTPHeader(name: name, value: $0))
        }
        return adding("header \(name)\(wanted.map { ": \($0)" } ?? "")") { request, _ in
            guard let value = request.headers.value(for: name) else {
                return "header \(name) is missing"
            }
            guard let pattern,
                !Glob(pattern.parts(separatedBy: "*").joined(separator: "**")).matches(value)
            else {
                return nil
            }
            let shown = Redaction.standard.value(of: HTTPHeader(name: name, value: value))
            return "header \(name) is \(shown)"
        }
    }

    // MARK: Body

    /// Requests whose body satisfies a predicate only.
    ///
    /// - Parameters:
    ///   - name: What is wanted, for reports.
    ///   - predicate: Given the whole body, that of files and streams too.
    public func body(
        _ name: String = "body", where predicate: @escaping @Sendable (Data) -> Bool
    ) -> RequestMatcher {
        adding(name) { _, body in predicate(body) ? nil : "\(name) is another" }
    }

    /// Requests with that text as body only.
    public func body(_ text: String) -> RequestMatcher {
        body("body of \(text.utf8.count) bytes") { $0.elementsEqual(text.utf8) }
    }

    /// Requests with a JSON body of that value only; order of members and blanks do not count.
    public func json(_ value: JSONValue) -> RequestMatcher {
        let wanted = value.text(JSONFormat(sortsMembers: true))
        return body("JSON body") {
            (try? JSONValue(parsing: $0))?.text(JSONFormat(sortsMembers: true)) == wanted
        }
    }

    /// Requests that satisfy a predicate only.
    ///
    /// - Parameters:
    ///   - name: What is wanted, for reports.
    ///   - predicate: Whether a request is wanted. Thread: any; must not block.
    public func matching(
        _ name: String, where predicate: @escaping @Sendable (HTTPRequest) -> Bool
    ) -> RequestMatcher {
        adding(name) { request, _ in predicate(request) ? nil : "\(name) does not hold" }
    }

    private func adding(
        _ text: String, _ misses: @escaping @Sendable (HTTPRequest, Data) -> String?
    ) -> RequestMatcher {
        var matcher = self
        matcher.conditions.append(Condition(text: text, misses: misses))
        return matcher
    }

    // MARK: Looking

    /// What keeps a request from matching; nothing if it matches.
    func misses(of request: HTTPRequest, body: Data) -> [String] {
        conditions.compactMap { $0.misses(request, body) }
    }

    /// Whether a request matches.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The whole body of the request.
    public func matches(_ request: HTTPRequest, body: Data = Data()) -> Bool {
        conditions.allSatisfy { $0.misses(request, body) == nil }
    }
}

extension RequestMatcher: CustomStringConvertible {
    /// The conditions.
    public var description: String {
        conditions.isEmpty ? "any request" : conditions.map(\.text).joined(separator: ", ")
    }
}

/// A text with `*` (any text without `/`) and `**` (any text) in it.
struct Glob {
    private enum Piece: Equatable {
        case byte(UInt8)
        case segment
        case anything
    }
    private let pieces: [Piece]

    init(_ pattern: String) {
        var pieces: [Piece] = []
        for byte in pattern.utf8 {
            switch (byte, pieces.last) {
            case (UInt8(ascii: "*"), .segment?): pieces[pieces.count - 1] = .anything
            case (UInt8(ascii: "*"), .anything?): break
            case (UInt8(ascii: "*"), _): pieces.append(.segment)
            default: pieces.append(.byte(byte))
            }
        }
        self.pieces = pieces
    }

    /// Whether a text has that form; in time of pattern times text.
    func matches(_ text: String) -> Bool {
        // `reached[n]`: the first n pieces match the text so far.
        var reached = [true] + pieces.map { _ in false }
        Self.skip(pieces, &reached)
        for byte in text.utf8 {
            var next = reached.map { _ in false }
            for (index, piece) in pieces.enumerated() {
                switch piece {
                case .byte(let wanted): if reached[index], wanted == byte { next[index + 1] = true }
                case .segment:
                    if reached[index] || reached[index + 1], byte != UInt8(ascii: "/") {
                        next[index + 1] = true
                    }
                case .anything: if reached[index] || reached[index + 1] { next[index + 1] = true }
                }
            }
            Self.skip(pieces, &next)
            reached = next
        }
        return reached.last == true
    }

    /// Stars stand for nothing, too.
    private static func skip(_ pieces: [Piece], _ reached: inout [Bool]) {
        for (index, piece) in pieces.enumerated() where reached[index] {
            if case .byte = piece { continue }
            reached[index + 1] = true
        }
    }
}
