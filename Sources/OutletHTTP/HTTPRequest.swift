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
        @usableFromInline var context = Uncompared<Boxed<RequestContext>?>(nil)
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

    /// Whether it is a `GET` without a body whose fields are known to be well formed, and say
    /// nothing of framing.
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

    /// What is known of the request besides what is sent.
    @inlinable public var context: RequestContext {
        // Not a copy: it is large, and asked for one value after the other.
        _read {
            let context = parts.value.context.value ?? RequestContext.empty
            yield context.value
        }
        _modify {
            var context = parts.value.context.value.take() ?? Boxed(RequestContext())
            defer { parts.value.context.value = context }
            yield &context.value
        }
    }

    /// Whether anything is known of it besides what is sent.
    @inlinable package var hasContext: Bool { parts.value.context.value != nil }

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

/// Why a request cannot go on the wire.
public enum HTTPRequestError: Error, Equatable, Sendable {
    /// The method is not a token (RFC 9110 §5.6.2).
    case invalidMethod(String)
    /// The field's name is not a token.
    case invalidHeaderName(String)
    /// The field's value holds a control character other than HTAB (RFC 9110 §5.5); the value itself
    /// is left out, it may be a secret.
    case invalidHeaderValue(name: String)
    /// The field says how a message is framed or what becomes of its connection, which only the
    /// transport does.
    case reservedHeader(name: String)
    /// The field may be there only once.
    case repeatedHeader(name: String)
    /// The field `Host` is not a host, or a host and a port.
    case invalidHost(String)
    /// The field `Content-Length` is not a number, in digits alone.
    case invalidContentLength(String)
    /// The field `Content-Length` says another length than the body has, in bytes.
    case contentLengthMismatch(declared: Int64, body: Int64)
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
            "header \(name): its value holds a control character, such as a line break or NUL"
        case .reservedHeader(let name):
            "header \(name): \(Self.reason(toReserve: name)): leave it out"
        case .repeatedHeader(let name): "header \(name): is there more than once"
        case .invalidHost(let value):
            "header Host: \(String(reflecting: String(value.prefix(80)))): not a host, or a host and a port"
        case .invalidContentLength(let value):
            "header Content-Length: not a length: \(value.prefix(40))"
        case .contentLengthMismatch(let declared, let body):
            "header Content-Length: says \(declared), but the body has \(body) bytes"
        }
    }

    private static func reason(toReserve name: String) -> String {
        switch name.lowercasedASCII {
        case "transfer-encoding":
            "the transport frames the body, and sends a stream without a length in chunks"
        case "te", "trailer": "the transport does not speak of trailers"
        case "upgrade": "the connection stays HTTP; a WebSocket is a request of its own kind"
        default: "the connection is the transport's, and serves other requests as well"
        }
    }
}

extension HTTPRequest {
    /// Refuses what HTTP cannot carry, and what would leave client and server at odds about where
    /// the request ends.
    ///
    /// These are methods and names that are no tokens, values with control characters other than
    /// HTAB, fields that are the transport's (`Transfer-Encoding`, `TE`, `Trailer`, `Connection`,
    /// `Keep-Alive`, `Proxy-Connection`, `Upgrade`), a `Host` that is none, and a `Content-Length`
    /// that is no length or not that of a body in memory. A file's length is compared when it is
    /// opened.
    ///
    /// - Throws: ``HTTPRequestError``.
    public func checkSyntax() throws(HTTPRequestError) {
        try checkFields()
        guard !headers.isWellFormed, let declared = headers["Content-Length"]?.decimal(Int64.self)
        else { return }
        let length: Int64
        switch body {
        case .none: length = 0
        case .data(let data): length = Int64(data.count)
        case .file, .stream: return
        }
        guard declared == length else {
            throw .contentLengthMismatch(declared: declared, body: length)
        }
    }

    /// As ``checkSyntax()``, but for the body's length: the body may still change.
    package func checkFields() throws(HTTPRequestError) {
        guard method == .get || isToken(method.rawValue) else {
            throw .invalidMethod(method.rawValue)
        }
        guard !headers.isWellFormed else { return }
        try headers.checkSyntax()
        try headers.checkFraming()
    }
}

extension HTTPHeaders {
    /// Refuses names that are no tokens, and values with control characters other than HTAB.
    ///
    /// - Throws: ``HTTPRequestError``.
    public func checkSyntax() throws(HTTPRequestError) {
        guard !isWellFormed else { return }
        for header in self {
            guard isToken(header.name) else { throw .invalidHeaderName(header.name) }
            guard isFieldValue(header.value) else { throw .invalidHeaderValue(name: header.name) }
        }
    }
}

extension HTTPHeader {
    /// Whether the name is a token, the value has no control characters, and the field does not say
    /// how a message is framed.
    package var isWellFormed: Bool { isToken(name) && isFieldValue(value) && !isFraming }
}

/// Whether a text has no control characters but HTAB (RFC 9110 §5.5): some end the line that it is
/// sent in, and servers take offence at the others or read them as one of those.
package func isFieldValue(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
        // Eight at a time: a control character is rare, and only then is it worth a closer look.
        var index = 0
        while index &+ 8 <= bytes.count {
            let word = UnsafeRawBufferPointer(bytes).loadUnaligned(
                fromByteOffset: index, as: UInt64.self)
            let isLow = (word &- 0x2020_2020_2020_2020) & ~word
            let deletes = word ^ 0x7F7F_7F7F_7F7F_7F7F
            let isDelete = (deletes &- 0x0101_0101_0101_0101) & ~deletes
            if (isLow | isDelete) & 0x8080_8080_8080_8080 != 0 { break }
            index &+= 8
        }
        return bytes[index...].allSatisfy { !$0.isControl || $0 == 0x09 }
    }
}

/// Whether a value that a peer has sent can be sent back to it as it came.
///
/// Control characters cannot be sent; and what is not ASCII may have come as Latin-1, and would go
/// out as UTF-8.
package func isReturnable(_ text: String) -> Bool {
    isFieldValue(text) && text.utf8.allSatisfy { $0 < 0x80 }
}
