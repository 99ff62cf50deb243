public import FoundationEssentials

/// What is asked of a server: method, address, fields and body.
///
/// A copy costs one reference: a request passes through many hands on its way.
public struct HTTPRequest: Sendable, Equatable, Hashable {
    @usableFromInline struct Parts: Sendable, Hashable {
        @usableFromInline var url: URL?
        @usableFromInline var method: HTTPMethod
        @usableFromInline var headers: HTTPHeaders
        @usableFromInline var body: HTTPBody
        @usableFromInline var timeoutInterval: TimeInterval
        @usableFromInline var allowsBodyInGET = false
        @usableFromInline var priority = TransferPriority.normal
        @usableFromInline var cachePolicy: CachePolicy
        @usableFromInline var handlesCookies = true
        @usableFromInline var attributes = [String: String]()
    }

    @usableFromInline var parts: Boxed<Parts>

    /// Where to; `nil` and addresses without a scheme fail when the request is sent.
    @inlinable public var url: URL? {
        get { parts.value.url }
        set { parts.value.url = newValue }
    }

    /// The request method.
    @inlinable public var method: HTTPMethod {
        get { parts.value.method }
        set { parts.value.method = newValue }
    }

    /// The header fields, sent in this order and case.
    @inlinable public var headers: HTTPHeaders {
        get { parts.value.headers }
        _modify { yield &parts.value.headers }
    }

    /// What is sent behind the head.
    @inlinable public var body: HTTPBody {
        get { parts.value.body }
        _modify { yield &parts.value.body }
    }

    /// Whether there is a body; asking ``body`` would copy it.
    @inlinable package var hasBody: Bool { !parts.value.body.isNone }

    /// Whether there is a body that is read while it is sent.
    @inlinable package var readsBody: Bool { parts.value.body.isRead }

    /// Whether it is anything but a `GET` without a body.
    @inlinable package var mayHaveBody: Bool { hasBody || parts.value.method.rawValue != "GET" }

    /// Whether it is a `GET` without a body whose fields are known to be well formed.
    package var isPlainlyValid: Bool {
        !mayHaveBody && parts.value.headers.isWellFormed
    }

    /// How long the transfer may make no progress, in seconds; 0 means no limit.
    @inlinable public var timeoutInterval: TimeInterval {
        get { parts.value.timeoutInterval }
        set { parts.value.timeoutInterval = newValue }
    }

    /// Whether a `GET` may carry a body, which servers are free to ignore (RFC 9110 §9.3.1).
    public var allowsBodyInGET: Bool {
        get { parts.value.allowsBodyInGET }
        set { parts.value.allowsBodyInGET = newValue }
    }

    /// Which of several requests that wait for a connection to the same host goes first; never sent.
    @inlinable public var priority: TransferPriority {
        get { parts.value.priority }
        set { parts.value.priority = newValue }
    }

    /// Whether a stored response may answer; the session's setting where this is the default.
    public var cachePolicy: CachePolicy {
        get { parts.value.cachePolicy }
        set { parts.value.cachePolicy = newValue }
    }

    /// Whether the session's cookies are sent with it, and those of its answer kept.
    public var httpShouldHandleCookies: Bool {
        get { parts.value.handlesCookies }
        set { parts.value.handlesCookies = newValue }
    }

    /// Facts about the request for plugins and logs, such as `target.name`; never sent.
    public var attributes: [String: String] {
        get { parts.value.attributes }
        _modify { yield &parts.value.attributes }
    }

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
    ///   - cachePolicy: Whether a stored response may answer.
    public init(
        url: URL?, method: HTTPMethod = .get, headers: HTTPHeaders = HTTPHeaders(),
        body: HTTPBody = .none, timeoutInterval: TimeInterval = defaultTimeoutInterval,
        cachePolicy: CachePolicy = .useProtocolCachePolicy
    ) {
        parts = Boxed(
            Parts(
                url: url, method: method, headers: headers, body: body,
                timeoutInterval: timeoutInterval, cachePolicy: cachePolicy))
    }

    /// The body's bytes when they are in memory; setting `nil` removes the body.
    public var httpBody: Data? {
        get { body.data }
        set { body = newValue.map(HTTPBody.data) ?? .none }
    }
}

extension HTTPRequest: CustomStringConvertible {
    /// Method and address.
    public var description: String {
        "\(method.rawValue) \(url?.absoluteString ?? "without an address")"
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
        guard method == .get || isToken(method.rawValue) else {
            throw .invalidMethod(method.rawValue)
        }
        try headers.checkSyntax()
    }
}

extension HTTPHeaders {
    /// Refuses names that are no tokens, and values that break the line.
    ///
    /// - Throws: ``HTTPRequestError``.
    public func checkSyntax() throws(HTTPRequestError) {
        guard !isWellFormed else { return }
        for header in self {
            guard isToken(header.name) else { throw .invalidHeaderName(header.name) }
            guard isLine(header.value) else { throw .invalidHeaderValue(name: header.name) }
        }
    }
}

extension HTTPHeader {
    /// Whether the name is a token, and the value does not break the line.
    var isWellFormed: Bool { isToken(name) && isLine(value) }
}

/// Whether a text has no CR, LF or NUL, which would end the line it is sent in.
private func isLine(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
        // Eight at a time: a byte below 0x20 is rare, and only then is it worth a closer look.
        var index = 0
        while index &+ 8 <= bytes.count {
            let word = UnsafeRawBufferPointer(bytes).loadUnaligned(
                fromByteOffset: index, as: UInt64.self)
            let low: UInt64 = 0x2020_2020_2020_2020
            if (word &- low) & ~word & 0x8080_8080_8080_8080 != 0 { break }
            index &+= 8
        }
        return bytes[index...].allSatisfy { $0 != 0x0D && $0 != 0x0A && $0 != 0 }
    }
}
