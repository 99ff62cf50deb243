/// A request method: any token, compared case-sensitively (RFC 9110 §9.1).
public struct HTTPMethod: RawRepresentable, Equatable, Hashable, Sendable {
    /// `CONNECT`.
    public static let connect = HTTPMethod(rawValue: "CONNECT")
    /// `DELETE`.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// `GET`.
    public static let get = HTTPMethod(rawValue: "GET")
    /// `HEAD`.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// `OPTIONS`.
    public static let options = HTTPMethod(rawValue: "OPTIONS")
    /// `PATCH`.
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// `POST`.
    public static let post = HTTPMethod(rawValue: "POST")
    /// `PUT`.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// `QUERY`.
    public static let query = HTTPMethod(rawValue: "QUERY")
    /// `TRACE`.
    public static let trace = HTTPMethod(rawValue: "TRACE")

    /// The method as sent.
    public let rawValue: String

    /// Makes a method.
    ///
    /// - Parameter rawValue: The method as sent, case-sensitive; ``HTTPRequest/checkSyntax()``
    ///   refuses it if it is not a token.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension HTTPMethod {
    /// Whether a request only reads (RFC 9110 §9.2.1); `false` for methods that this type does not
    /// define.
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace, .query: true
        default: false
        }
    }

    /// Whether sending a request several times has the same effect as sending it once
    /// (RFC 9110 §9.2.2); `false` for methods that this type does not define.
    public var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .trace, .put, .delete, .query: true
        default: false
        }
    }
}

extension HTTPMethod: CustomStringConvertible {
    /// The method as sent.
    public var description: String { rawValue }
}
