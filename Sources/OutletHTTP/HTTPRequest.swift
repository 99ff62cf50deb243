public import FoundationEssentials

/// An HTTP request: URL, method, header fields and body.
///
/// All properties share one copy-on-write storage: copying a request costs one retain, because
/// layers, interceptors and plugins copy it often.
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

    /// The URL to request; sending fails if it is `nil` or has no scheme.
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

    /// The request body.
    @inlinable public var body: HTTPBody {
        get { parts.value.body }
        _modify { yield &parts.value.body }
    }

    /// Whether there is a body; reading ``body`` instead would copy the enum with its payload.
    @inlinable package var hasBody: Bool { !parts.value.body.isNone }

    /// Whether the body is a file or a stream, which is read while it is sent.
    @inlinable package var readsBody: Bool { parts.value.body.isRead }

    /// Whether the method is not `GET`, or there is a body.
    @inlinable package var mayHaveBody: Bool { hasBody || parts.value.method.rawValue != "GET" }

    /// Whether ``checkSyntax()`` can be skipped: a `GET` without a body, all of whose fields were
    /// checked when they were set and none of which affects framing.
    package var isPlainlyValid: Bool {
        !mayHaveBody && parts.value.headers.isWellFormed
    }

    /// How long the transfer may make no progress, in seconds; 0 means no limit.
    ///
    /// If it equals ``defaultTimeoutInterval``, the session's `timeoutIntervalForRequest` applies
    /// instead.
    @inlinable public var timeoutInterval: TimeInterval {
        get { parts.value.timeoutInterval }
        set { parts.value.timeoutInterval = newValue }
    }

    /// Whether a `GET` may have a body, which servers may ignore or reject (RFC 9110 §9.3.1).
    ///
    /// If `false`, the default, a session refuses a `GET` with a body in memory.
    public var allowsBodyInGET: Bool {
        get { parts.value.allowsBodyInGET }
        set { parts.value.allowsBodyInGET = newValue }
    }

    /// The order in which requests that wait for a connection get one; not sent to the server.
    @inlinable public var priority: TransferPriority {
        get { parts.value.priority }
        set { parts.value.priority = newValue }
    }

    /// Whether the cache may answer the request; the default uses the session's setting.
    public var cachePolicy: CachePolicy {
        get { parts.value.cachePolicy }
        set { parts.value.cachePolicy = newValue }
    }

    /// Whether the session sends its cookies with the request and stores those of the response;
    /// `true` by default.
    public var httpShouldHandleCookies: Bool {
        get { parts.value.handlesCookies }
        set { parts.value.handlesCookies = newValue }
    }

    /// Values that accompany the request but are not sent: its id, its attempt, and your own.
    @inlinable public var context: RequestContext {
        // Yields the stored context: a copy for each value that is read would be expensive.
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

    /// Whether the request has a context; without one, ``context`` yields an empty one.
    @inlinable package var hasContext: Bool { parts.value.context.value != nil }

    /// The stored context, which is not copied; `nil` without one.
    @inlinable package var heldContext: Boxed<RequestContext>? { parts.value.context.value }

    /// Continues the call of a request in place of which user code has passed on this one.
    ///
    /// A copy of that request, and any other of its call, keeps its context with the changes that
    /// user code has made. A new request gets the context of the request that it replaces, and keeps
    /// the values that the program has set in its own.
    @inlinable package mutating func continueCall(of replaced: HTTPRequest) {
        guard !parts.isIdentical(to: replaced.parts), let context = replaced.heldContext else {
            return
        }
        continueCall(with: context)
    }

    /// Continues a call, as ``continueCall(of:)``.
    ///
    /// - Parameter context: The context of the request that is replaced.
    @usableFromInline package mutating func continueCall(with context: Boxed<RequestContext>) {
        guard let own = heldContext else {
            parts.value.context.value = context
            return
        }
        guard !own.isIdentical(to: context), own.value.id != context.value.id else { return }
        var continued = context
        continued.value.addValues(of: own.value)
        parts.value.context.value = continued
    }

    /// Prepares a request for a call with the given id.
    ///
    /// A request of another call, which the program sends again, leaves that: it must not be answered
    /// or observed as that call was.
    package mutating func beginCall(_ id: UUID) {
        guard let former = heldContext?.value.id, former != id else { return }
        context.leaveCall()
    }

    /// The ``timeoutInterval`` of requests that set none: 60 seconds.
    ///
    /// A session replaces this value with its `timeoutIntervalForRequest`.
    public static let defaultTimeoutInterval: TimeInterval = 60

    /// Whether both are copies of one request, or have copies of the same values.
    ///
    /// Cheaper than a comparison. Requests may be equal all the same, and always are taken for
    /// different ones if they have a body or a context.
    package func isCopy(of other: HTTPRequest) -> Bool {
        if parts.isIdentical(to: other.parts) { return true }
        // Each value is read by itself: `Parts` would be copied.
        return hasCopies(of: other.url, other.headers) && !hasBody && !other.hasBody
            && !hasContext && !other.hasContext
            && parts.value.method.rawValue.hasSameBytes(as: other.parts.value.method.rawValue)
            && timeoutInterval == other.timeoutInterval && priority == other.priority
            && allowsBodyInGET == other.allowsBodyInGET && cachePolicy == other.cachePolicy
            && httpShouldHandleCookies == other.httpShouldHandleCookies
    }

    /// Whether the request has a copy of this URL.
    package func hasCopy(of url: URL?) -> Bool { haveSameBits(parts.value.url, url) }

    /// Whether the request has copies of this URL and these fields.
    package func hasCopies(of url: URL?, _ headers: HTTPHeaders) -> Bool {
        hasCopy(of: url) && parts.value.headers.isSame(as: headers)
    }

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - url: The URL to request; sending fails if it is `nil` or has no scheme.
    ///   - method: The request method.
    ///   - headers: The header fields, sent in this order and case.
    ///   - body: The request body.
    ///   - timeoutInterval: How long the transfer may make no progress, in seconds; 0 means no
    ///     limit, the default means the session's setting.
    ///   - cachePolicy: Whether the cache may answer; the default means the session's setting.
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

    /// The body's bytes; `nil` if there is no body, or it is a file or a stream.
    ///
    /// Setting `nil` removes the body, whatever its kind.
    public var httpBody: Data? {
        get { body.data }
        set { body = newValue.map(HTTPBody.data) ?? .none }
    }
}

/// The error of a request that HTTP cannot represent, or whose fields contradict its framing.
public enum HTTPRequestError: Error, Equatable, Sendable {
    /// The method is not a token (RFC 9110 §5.6.2).
    case invalidMethod(String)
    /// The field's name is not a token.
    case invalidHeaderName(String)
    /// The field's value contains a control character other than HTAB (RFC 9110 §5.5).
    ///
    /// The error does not contain the value, because it may be a secret.
    case invalidHeaderValue(name: String)
    /// The field controls message framing, the connection or its proxy; only the transport may set
    /// it.
    case reservedHeader(name: String)
    /// The field, `Host` or `Content-Length`, appears more than once.
    case repeatedHeader(name: String)
    /// The value of `Host` is neither a host nor a host with a port.
    case invalidHost(String)
    /// The value of `Content-Length` is not a decimal number without a sign.
    case invalidContentLength(String)
    /// The value of `Content-Length` differs from the length of the body in memory; both in bytes.
    case contentLengthMismatch(declared: Int64, body: Int64)
}

extension HTTPRequestError: CustomStringConvertible {
    /// The part of the request that is wrong, and why.
    public var description: String {
        switch self {
        case .invalidMethod(let method):
            "method \(String(reflecting: method)): not a token (letters, digits and !#$%&'*+-.^_`|~)"
        case .invalidHeaderName(let name):
            "header name \(String(reflecting: name)): not a token (letters, digits and !#$%&'*+-.^_`|~)"
        case .invalidHeaderValue(let name):
            "header \(name): its value holds a control character, such as a line break or NUL"
        case .reservedHeader(let name):
            "header \(name): \(Self.reason(toReserve: name)): \(Self.advice(insteadOf: name))"
        case .repeatedHeader(let name): "header \(name): is there more than once"
        case .invalidHost(let value):
            "header Host: \(String(reflecting: value.shortened(toBytes: 80))): not a host, or a host and a port"
        case .invalidContentLength(let value):
            "header Content-Length: not a length: \(value.shortened(toBytes: 40))"
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
        case "proxy-authorization": "the server would get the credential, with or without a proxy"
        default: "the connection is the transport's, and serves other requests as well"
        }
    }

    private static func advice(insteadOf name: String) -> String {
        name.equalsIgnoringCase("Proxy-Authorization")
            ? "leave it out, and set proxyCredential" : "leave it out"
    }
}

extension HTTPRequest {
    /// Checks that HTTP can represent the request, and that client and server agree where it ends.
    ///
    /// Refuses:
    /// - a method or field name that is not a token;
    /// - a field value with a control character other than HTAB;
    /// - a field that only the transport may set: `Transfer-Encoding`, `TE`, `Trailer`,
    ///   `Connection`, `Keep-Alive`, `Proxy-Connection`, `Proxy-Authorization` or `Upgrade`;
    /// - a repeated or malformed `Host` or `Content-Length`;
    /// - a `Content-Length` that differs from the length of a body in memory.
    ///
    /// The length of a file is compared later, when the file is opened.
    ///
    /// - Throws: ``HTTPRequestError`` for the first fault found.
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

    /// As ``checkSyntax()`` without comparing the body's length, because the body may still change.
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
    /// Checks that names are tokens and values have no control characters other than HTAB.
    ///
    /// - Throws: ``HTTPRequestError/invalidHeaderName(_:)`` or
    ///   ``HTTPRequestError/invalidHeaderValue(name:)`` for the first field that is wrong.
    public func checkSyntax() throws(HTTPRequestError) {
        guard !isWellFormed else { return }
        for header in self {
            guard isToken(header.name) else { throw .invalidHeaderName(header.name) }
            guard isFieldValue(header.value) else { throw .invalidHeaderValue(name: header.name) }
        }
    }
}

extension HTTPHeader {
    /// Whether the name is a token, the value has no control characters other than HTAB, and the
    /// field does not affect framing or the connection.
    package var isWellFormed: Bool { isToken(name) && isFieldValue(value) && !isFraming }
}

/// Whether a text has no control characters other than HTAB (RFC 9110 §5.5).
///
/// CR and LF would end the field's line; servers reject the others or treat them as line ends.
package func isFieldValue(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { isFieldValue($0) }
}

/// Whether a text has no control characters other than HTAB (RFC 9110 §5.5).
///
/// - Parameter bytes: The text; the bytes need not be UTF-8.
package func isFieldValue(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    // Tests eight bytes at a time; the last eight may overlap the ones before. A word that may
    // contain a control character, which is rare, ends the loop; the rest is tested byte by byte.
    func mayHaveControl(at index: Int) -> Bool {
        let word = UnsafeRawBufferPointer(bytes).loadUnaligned(
            fromByteOffset: index, as: UInt64.self)
        // Below 0x80, the high bit of a byte is set by the subtraction if it is less than 0x20, and by
        // the addition if it is 0x7F.
        let marked = (word &- 0x2020_2020_2020_2020) | (word &+ 0x0101_0101_0101_0101)
        return marked & ~word & 0x8080_8080_8080_8080 != 0
    }
    var index = 0
    while index &+ 8 < bytes.count, !mayHaveControl(at: index) { index &+= 8 }
    if bytes.count >= 8, index &+ 8 >= bytes.count, !mayHaveControl(at: bytes.count &- 8) {
        return true
    }
    return bytes[index...].allSatisfy { !$0.isControl || $0 == 0x09 }
}

/// Whether a value received from a server can be sent back with the same bytes.
///
/// Control characters cannot be sent. Text outside ASCII may have been received as Latin-1, but
/// would be sent as UTF-8.
package func isReturnable(_ text: String) -> Bool {
    isFieldValue(text) && text.utf8.allSatisfy { $0 < 0x80 }
}
