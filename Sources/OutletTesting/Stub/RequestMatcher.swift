public import FoundationEssentials
public import OutletHTTP
import OutletSession

/// Selects the requests that a stub answers: conditions that must all hold.
///
/// Each condition has a name for error messages. A matcher without conditions matches all requests.
public struct RequestMatcher: Sendable {
    struct Condition: Sendable {
        /// The expected value, for error messages.
        let text: String
        /// Returns how a request and its body differ; `nil` if the condition holds.
        let misses: @Sendable (HTTPRequest, Data) -> String?
    }

    private(set) var conditions: [Condition] = []

    /// Matches all requests.
    public static let any = RequestMatcher()

    /// Makes a matcher of all requests, to which conditions are added.
    public init() {}

    // MARK: Method and address

    /// Matches `GET` requests whose URL matches a pattern; see ``url(_:)``.
    ///
    /// - Parameter pattern: The pattern, as for ``url(_:)``.
    public static func get(_ pattern: String) -> RequestMatcher { request(.get, pattern) }

    /// Matches `HEAD` requests whose URL matches a pattern; see ``url(_:)``.
    ///
    /// - Parameter pattern: The pattern, as for ``url(_:)``.
    public static func head(_ pattern: String) -> RequestMatcher { request(.head, pattern) }

    /// Matches `POST` requests whose URL matches a pattern; see ``url(_:)``.
    ///
    /// - Parameter pattern: The pattern, as for ``url(_:)``.
    public static func post(_ pattern: String) -> RequestMatcher { request(.post, pattern) }

    /// Matches `PUT` requests whose URL matches a pattern; see ``url(_:)``.
    ///
    /// - Parameter pattern: The pattern, as for ``url(_:)``.
    public static func put(_ pattern: String) -> RequestMatcher { request(.put, pattern) }

    /// Matches `PATCH` requests whose URL matches a pattern; see ``url(_:)``.
    ///
    /// - Parameter pattern: The pattern, as for ``url(_:)``.
    public static func patch(_ pattern: String) -> RequestMatcher { request(.patch, pattern) }

    /// Matches `DELETE` requests whose URL matches a pattern; see ``url(_:)``.
    ///
    /// - Parameter pattern: The pattern, as for ``url(_:)``.
    public static func delete(_ pattern: String) -> RequestMatcher { request(.delete, pattern) }

    /// Matches requests of a method whose URL matches a pattern; see ``url(_:)``.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - pattern: The pattern, as for ``url(_:)``.
    public static func request(_ method: HTTPMethod, _ pattern: String) -> RequestMatcher {
        RequestMatcher().method(method).url(pattern)
    }

    /// Adds the condition that the request has a method.
    ///
    /// - Parameter method: The method.
    public func method(_ method: HTTPMethod) -> RequestMatcher {
        adding("method \(method)") { request, _ in
            request.method == method ? nil : "method is \(request.method)"
        }
    }

    /// Adds the condition that the request's URL matches a pattern.
    ///
    /// The fragment of the URL is ignored. All other characters are compared byte by byte, as they
    /// are percent-encoded in the URL.
    ///
    /// - Parameter pattern: The whole URL, or, if it begins with `/`, its path. `*` stands for any
    ///   text without `/`, `**` for any text, both also for none. If the pattern has a `?`, the
    ///   query is compared too; otherwise it is ignored.
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

    /// Adds the condition that the request has a query parameter.
    ///
    /// - Parameters:
    ///   - name: The parameter's name, without percent-encoding; case-sensitive.
    ///   - value: The value, without percent-encoding; any value if `nil`. Of repeated parameters
    ///     one must have it.
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

    /// Adds the condition that the request has a header.
    ///
    /// - Parameters:
    ///   - name: The header's name, in any case.
    ///   - pattern: The value, case-sensitive, in which `*` stands for any text; any value if
    ///     `nil`. Values of repeated headers are joined by `", "` before.
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

    /// Adds the condition that the request's body satisfies a predicate.
    ///
    /// - Parameters:
    ///   - name: The name of the condition in error messages.
    ///   - predicate: Called with the whole body, also of files and streams; empty without a body.
    ///     Must not call the transport. Thread: the transport's queue; must not block.
    public func body(
        _ name: String = "body", where predicate: @escaping @Sendable (Data) -> Bool
    ) -> RequestMatcher {
        adding(name) { _, body in predicate(body) ? nil : "\(name) is another" }
    }

    /// Adds the condition that the request's body is a text, in UTF-8.
    ///
    /// - Parameter text: The body as text.
    public func body(_ text: String) -> RequestMatcher {
        body("body of \(text.utf8.count) bytes") { $0.elementsEqual(text.utf8) }
    }

    /// Adds the condition that the request's body is a JSON value.
    ///
    /// The order of members and white space are ignored; the `Content-Type` is not checked.
    ///
    /// - Parameter value: The body as JSON.
    public func json(_ value: JSONValue) -> RequestMatcher {
        let wanted = value.text(JSONFormat(sortsMembers: true))
        return body("JSON body") {
            (try? JSONValue(parsing: $0))?.text(JSONFormat(sortsMembers: true)) == wanted
        }
    }

    /// Adds the condition that the request satisfies a predicate.
    ///
    /// - Parameters:
    ///   - name: The name of the condition in error messages.
    ///   - predicate: Returns whether the request matches. Must not call the transport. Thread: the
    ///     transport's queue; must not block.
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

    /// How a request differs from each condition; empty if it matches.
    func misses(of request: HTTPRequest, body: Data) -> [String] {
        conditions.compactMap { $0.misses(request, body) }
    }

    /// Returns whether a request matches all conditions.
    ///
    /// - Parameters:
    ///   - request: The request; its own body is not read.
    ///   - body: The whole body of the request, for conditions on the body.
    public func matches(_ request: HTTPRequest, body: Data = Data()) -> Bool {
        conditions.allSatisfy { $0.misses(request, body) == nil }
    }
}

extension RequestMatcher: CustomStringConvertible {
    /// The names of the conditions, secrets redacted.
    public var description: String {
        conditions.isEmpty ? "any request" : conditions.map(\.text).joined(separator: ", ")
    }
}

/// A pattern with `*` (any text without `/`) and `**` (any text).
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

    /// Whether a text matches; takes time proportional to the lengths of pattern and text
    /// multiplied.
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

    /// Marks the positions after stars, which also match the empty text.
    private static func skip(_ pieces: [Piece], _ reached: inout [Bool]) {
        for (index, piece) in pieces.enumerated() where reached[index] {
            if case .byte = piece { continue }
            reached[index + 1] = true
        }
    }
}
