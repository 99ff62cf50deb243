public import FoundationEssentials

/// What is asked of a server: method, address, fields and body.
public struct HTTPRequest: Sendable, Equatable, Hashable {
    /// Where to; `nil` and addresses without a scheme fail when the request is sent.
    public var url: URL?
    /// The request method.
    public var method: HTTPMethod
    /// The header fields, sent in this order and case.
    public var headers: HTTPHeaders
    /// What is sent behind the head.
    public var body: HTTPBody
    /// How long the transfer may make no progress, in seconds; 0 means no limit.
    public var timeoutInterval: TimeInterval
    /// Whether a `GET` may carry a body, which servers are free to ignore (RFC 9110 §9.3.1).
    public var allowsBodyInGET: Bool
    /// Facts about the request for plugins and logs, such as `target.name`; never sent.
    public var attributes: [String: String]

    /// What a request has that sets no limit of its own: 60 seconds.
    ///
    /// A session puts its own setting in this one's place.
    public static let defaultTimeoutInterval: TimeInterval = 60

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - url: Where to.
    ///   - method: The request method.
    ///   - headers: The header fields.
    ///   - body: What is sent behind the head.
    ///   - timeoutInterval: How long the transfer may make no progress, in seconds.
    public init(
        url: URL?, method: HTTPMethod = .get, headers: HTTPHeaders = HTTPHeaders(),
        body: HTTPBody = .none, timeoutInterval: TimeInterval = defaultTimeoutInterval
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
        self.timeoutInterval = timeoutInterval
        self.allowsBodyInGET = false
        self.attributes = [:]
    }

    /// The body's bytes when they are in memory; setting `nil` removes the body.
    public var httpBody: Data? {
        get { body.data }
        set { body = newValue.map(HTTPBody.data) ?? .none }
    }
}

/// Why a request cannot go on the wire.
public enum HTTPRequestError: Error, Equatable, Sendable {
    /// The method is not a token (RFC 9110 §5.6.2).
    case invalidMethod(String)
    /// The field's name is not a token.
    case invalidHeaderName(String)
    /// The field's value holds CR, LF or NUL; the value itself is left out, it may be a secret.
    case invalidHeaderValue(name: String)
}

extension HTTPRequestError: CustomStringConvertible {
    /// What is wrong, and where.
    public var description: String {
        switch self {
        case .invalidMethod(let method):
            "method \(String(reflecting: method)): not a token (letters, digits and !#$%&'*+-.^_`|~)"
        case .invalidHeaderName(let name):
            "header name \(String(reflecting: name)): not a token (letters, digits and !#$%&'*+-.^_`|~)"
        case .invalidHeaderValue(let name):
            "header \(name): its value holds a line break or NUL, which would split the request"
        }
    }
}

extension HTTPRequest {
    /// Refuses what HTTP/1 cannot carry: odd methods and names, values that break the line.
    ///
    /// - Throws: ``HTTPRequestError``.
    public func checkSyntax() throws(HTTPRequestError) {
        guard isToken(method.rawValue) else { throw .invalidMethod(method.rawValue) }
        try headers.checkSyntax()
    }
}

extension HTTPHeaders {
    /// Refuses names that are no tokens, and values that break the line.
    ///
    /// - Throws: ``HTTPRequestError``.
    public func checkSyntax() throws(HTTPRequestError) {
        for header in self {
            guard isToken(header.name) else { throw .invalidHeaderName(header.name) }
            guard header.value.utf8.allSatisfy({ $0 != 0x0D && $0 != 0x0A && $0 != 0 }) else {
                throw .invalidHeaderValue(name: header.name)
            }
        }
    }
}

/// Whether a text is a token (RFC 9110 §5.6.2).
func isToken(_ text: String) -> Bool {
    !text.isEmpty
        && text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            case 0x21, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C,
                0x7E:
                true
            default: false
            }
        }
}
