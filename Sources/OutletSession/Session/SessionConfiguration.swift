public import FoundationEssentials
public import OutletHTTP
public import OutletLayers
public import OutletTransport

/// Every setting of a session, with its unit and its default.
///
/// Those of ``transport`` can be read and set as if they were its own:
/// `configuration.connectTimeout = 5`.
@dynamicMemberLookup
public struct SessionConfiguration: Sendable {
    /// The settings that are the transport's.
    public var transport = TransportConfiguration()

    /// A setting of ``transport``.
    public subscript<Value>(
        dynamicMember setting: WritableKeyPath<TransportConfiguration, Value>
    ) -> Value {
        get { transport[keyPath: setting] }
        set { transport[keyPath: setting] = newValue }
    }

    /// Fields sent with each request that does not set them itself.
    public var headers: HTTPHeaders = .default

    /// Whether equal requests that are under way at the same time share one transfer.
    ///
    /// Equal are `GET` and `HEAD` requests without a body, of ``DataRequest`` alone, with the same
    /// address, fields (but for `X-Request-ID`, `X-Correlation-ID`, `traceparent` and `tracestate`),
    /// timeout and credential. Each gets the response, or the error, as if it were its own: it follows
    /// redirects, retries, validates and serializes for itself, and what that sends may be shared again.
    /// Cancelling one cancels no other. Requests with a redirect handler or an `onHTTPResponse` closure
    /// of their own share nothing. A request may say otherwise for itself: ``DataRequest/coalesces(_:)``.
    public var coalescesRequests = false
    /// Whether a redirect from https to http may send the request's body once more, in clear.
    ///
    /// Redirects with 307 and 308, and those that keep a `PUT` or the like, repeat the body. By default
    /// such a redirect fails with `TransferError.Code.redirectToNonExistentLocation`.
    public var allowsInsecureRedirectsWithBodies = false

    /// How many redirects are followed before the request fails.
    public var maximumRedirects = 20

    /// Whether a request's own address may be a `file:` URL, which is then read from this machine; off
    /// by default.
    ///
    /// Leave it off where addresses come from users: they would name any file that the process can
    /// read. A redirect never leads to a file.
    public var allowsFileURLs = false

    /// Where responses are kept that HTTP lets a private cache keep; nowhere if `nil`.
    ///
    /// `nil` by default. Sessions with the same cache share its responses, but a response answers only
    /// who has asked like the one that it came for: with the same credential, `Authorization`, `Cookie`
    /// and other fields that `Redaction` calls secret, the same `Host`, and in a session with the same
    /// `addressPolicy` and `unixSocketPath`. Without a word of the server's, nothing is
    /// answered from it: only responses that are fresh by their own `max-age` or `Expires` are, others
    /// are validated first or asked for again.
    public var urlCache: ResponseCache?
    /// Whether stored responses answer requests that set no policy of their own.
    public var requestCachePolicy: HTTPRequest.CachePolicy = .useProtocolCachePolicy

    /// Where cookies are kept between requests; nowhere if set to `nil`.
    ///
    /// Unless it is set, each session has a storage of its own, in memory, which
    /// ``Session/sessionConfiguration`` of that session names; before there is a session, there is none,
    /// and this is `nil`. Only sessions for which the same storage is set share one; those that are
    /// made of copies of a configuration do not.
    public var httpCookieStorage: CookieStorage? {
        get { cookieChoice.storage }
        set { cookieChoice = .given(newValue) }
    }
    private var cookieChoice = StorageChoice<CookieStorage>.own(nil)
    /// From whom cookies are taken; the storage's own policy counts besides.
    public var httpCookieAcceptPolicy: CookieAcceptPolicy = .always
    /// Whether stored cookies are sent; a request's own `Cookie` field always is.
    public var httpShouldSetCookies = true
    /// The hosts that are talked to encrypted only (RFC 6797); setting `nil` switches it off.
    ///
    /// Unless it is set, each session has a storage of its own, in memory, as with
    /// ``httpCookieStorage``; `HSTSStorage.file(_:)` outlives the process.
    public var hsts: HSTSStorage? {
        get { hstsChoice.storage }
        set { hstsChoice = .given(newValue) }
    }
    private var hstsChoice = StorageChoice<HSTSStorage>.own(nil)

    /// How long an adapter or a retrier may take to answer, in seconds; 0 means no limit.
    ///
    /// An interceptor may set a limit of its own: ``InterceptorTiming/answerTimeout``.
    public var interceptorTimeout: TimeInterval = 60
    /// How long completions wait for progress closures whose queue is busy, in seconds.
    package var progressPatience: TimeInterval = 1

    /// How many bytes of a stream may lie before its handlers before the transfer waits for them.
    public var streamBufferSize = 256 << 10

    /// Credentials for servers that ask, by the places they belong to; none by default.
    ///
    /// What is stored answers requests that have no credential and no `Authorization` of their own, and
    /// from then on goes along with all requests to that place. What requests bring with
    /// `Credential.Persistence.forSession` is stored here once it was let in.
    public var urlCredentialStorage: CredentialStorage?

    /// The usual settings.
    public static var `default`: SessionConfiguration { SessionConfiguration() }
    /// Settings that leave nothing behind on disk; the same as ``default``, which asks for none.
    public static var ephemeral: SessionConfiguration { SessionConfiguration() }

    /// The usual settings.
    public init() {}

    /// The settings of one session: with storages of its own where none was set.
    func resolvedForSession() -> SessionConfiguration {
        var resolved = self
        if case .own = cookieChoice { resolved.cookieChoice = .own(CookieStorage()) }
        if case .own = hstsChoice { resolved.hstsChoice = .own(.memory) }
        return resolved
    }
}

/// Which storage a session has.
private enum StorageChoice<Storage: Sendable>: Sendable {
    /// One of its own, which a session made of a copy of its configuration does not get.
    case own(Storage?)
    /// That one, or none at all.
    case given(Storage?)

    var storage: Storage? {
        switch self {
        case .own(let storage), .given(let storage): storage
        }
    }
}
