public import FoundationEssentials
public import OutletHTTP
public import OutletLayers
public import OutletTransport

/// Every setting of a session, with its unit and its default.
///
/// The settings of ``transport`` can be read and set as members of the configuration:
/// `configuration.connectTimeout = 5`.
///
/// A session copies its configuration: later changes have no effect on it.
@dynamicMemberLookup
public struct SessionConfiguration: Sendable {
    /// The settings of connections and transfers, which the transport applies.
    public var transport = TransportConfiguration()

    /// Reads or sets a setting of ``transport`` by its name.
    ///
    /// - Parameter setting: The property of `TransportConfiguration`.
    public subscript<Value>(
        dynamicMember setting: WritableKeyPath<TransportConfiguration, Value>
    ) -> Value {
        get { transport[keyPath: setting] }
        set { transport[keyPath: setting] = newValue }
    }

    /// The header fields added to each request that has no field of the same name.
    ///
    /// By default `Accept-Encoding`, `Accept-Language` and `User-Agent`.
    public var headers: HTTPHeaders = .default

    /// Whether equal requests at the same time share one transfer; `false` by default.
    ///
    /// Equal are `GET` or `HEAD` requests without a body that have the same URL, the same headers
    /// (except `X-Request-ID`, `X-Correlation-ID`, `traceparent` and `tracestate`), timeout, cache
    /// policy, credential and handling of cookies. Uploads, downloads and streams never share a
    /// transfer, nor do requests with a redirect handler, a handler for cached responses or an
    /// `onHTTPResponse` closure of their own, or whose transfers plugins change or watch. Values of
    /// the request's context are not compared: if a layer of yours sends requests for several users,
    /// who differ by their context only, do not share transfers.
    ///
    /// Each request gets the response, or the error. It follows redirects, retries, validates and
    /// serializes by itself; its further transfers may be shared again. A cancel ends only that
    /// request. After the response to a request that may change something, such as `PUT`, requests
    /// to the same server join no transfer from before it. After a change of the stored cookies or
    /// credentials, such as a login, requests join no transfer from before it either.
    /// ``DataRequest/coalesces(_:)`` overrides the setting for a single request.
    public var coalescesRequests = false
    /// Whether a redirect from https to http may send the request's body again, unencrypted;
    /// `false` by default.
    ///
    /// Redirects send the body again with status 307 and 308, and with 301 and 302 unless the
    /// method is `POST`. With `false`, such a redirect fails with
    /// `TransferError.Code.redirectToNonExistentLocation`.
    public var allowsInsecureRedirectsWithBodies = false

    /// How many redirects an attempt follows; one more fails with
    /// `TransferError.Code.httpTooManyRedirects`.
    ///
    /// 20 by default.
    public var maximumRedirects = 20

    /// Whether the URL of a request may be a `file:` URL, which is read from this machine; `false`
    /// by default.
    ///
    /// Do not set it where URLs come from users: they could read any file that the process can
    /// read. A redirect to a file is never followed.
    public var allowsFileURLs = false

    /// The cache of responses; `nil`, the default, for none.
    ///
    /// Stores what HTTP lets a private cache store (RFC 9111). A stored response answers a request
    /// without the network while it is fresh by its `max-age` or `Expires`, or by heuristics if the
    /// cache was made with them. Otherwise the server validates it first, or the request is sent as
    /// usual.
    ///
    /// Sessions with the same cache share its responses. A stored response answers only requests
    /// with the same credential, the same `Authorization`, `Cookie` and other fields that
    /// `Redaction` treats as secret, and the same `Host`, in sessions with the same `addressPolicy`
    /// and `unixSocketPath`.
    public var urlCache: ResponseCache?
    /// The cache policy of requests whose own policy is `useProtocolCachePolicy`.
    public var requestCachePolicy: HTTPRequest.CachePolicy = .useProtocolCachePolicy

    /// The storage of cookies; set it to `nil` to store none.
    ///
    /// If it is not set, each session makes a storage of its own in memory: this property is `nil`
    /// before, and returns the storage in ``Session/sessionConfiguration``. Sessions share a
    /// storage only if the same one was set for them; a copy of a configuration does not share a
    /// storage that a session made.
    public var httpCookieStorage: CookieStorage? {
        get { cookieChoice.storage }
        set { cookieChoice = .given(newValue) }
    }
    private var cookieChoice = StorageChoice<CookieStorage>.own(nil)
    /// Which servers' cookies are stored; the storage's own policy applies too.
    public var httpCookieAcceptPolicy: CookieAcceptPolicy = .always
    /// Whether stored cookies are sent; `true` by default.
    ///
    /// A `Cookie` field of the request itself is always sent.
    public var httpShouldSetCookies = true
    /// The storage of hosts that require https (HSTS, RFC 6797); set it to `nil` to ignore HSTS.
    ///
    /// If it is not set, each session makes a storage of its own in memory, as for
    /// ``httpCookieStorage``. `HSTSStorage.file(_:)` keeps the hosts in a file.
    public var hsts: HSTSStorage? {
        get { hstsChoice.storage }
        set { hstsChoice = .given(newValue) }
    }
    private var hstsChoice = StorageChoice<HSTSStorage>.own(nil)

    /// How long an adapter, a retrier or a redirect handler may take to call its completion, in
    /// seconds; 0 means no limit.
    ///
    /// 60 by default. If one takes longer, the request fails with ``InterceptorTimeoutError``
    /// inside a ``SessionError``. ``InterceptorTiming/answerTimeout`` overrides the limit for a
    /// single interceptor. A response whose `CachedResponseHandler` takes longer is not stored.
    public var interceptorTimeout: TimeInterval = 60
    /// How long completion handlers wait for progress closures that are still queued, in seconds.
    package var progressPatience: TimeInterval = 1

    /// How many bytes of a stream or a WebSocket may wait for handlers; the transfer is paused at
    /// more.
    ///
    /// 262,144 by default. Bytes count once for each handler, and each piece or message that waits
    /// counts as 64 bytes more. The transfer continues at a quarter of the limit. With 0 or less, it
    /// is paused after each piece until the handlers have processed it.
    public var streamBufferSize = 256 << 10

    /// The storage of credentials by protection space; `nil`, the default, for none.
    ///
    /// A stored credential answers authentication challenges of requests that have neither a
    /// credential nor an `Authorization` field; later requests to the same protection space send it
    /// without a challenge. A request's own credential with `Credential.Persistence.forSession` is
    /// stored here when the server has accepted it.
    public var urlCredentialStorage: CredentialStorage?

    /// The default settings.
    public static var `default`: SessionConfiguration { SessionConfiguration() }
    /// Settings that write nothing to disk: the same as ``default``, which has no cache and keeps
    /// cookies in memory.
    public static var ephemeral: SessionConfiguration { SessionConfiguration() }

    /// Makes the default settings.
    public init() {}

    /// Returns the settings for one session, with new storages where none was set.
    func resolvedForSession() -> SessionConfiguration {
        var resolved = self
        if case .own = cookieChoice { resolved.cookieChoice = .own(CookieStorage()) }
        if case .own = hstsChoice { resolved.hstsChoice = .own(.memory) }
        return resolved
    }
}

/// A storage made by the session, or set by the user.
private enum StorageChoice<Storage: Sendable>: Sendable {
    /// Made by the session, `nil` before; a session made with a copy makes another one.
    case own(Storage?)
    /// Set by the user; `nil` for no storage.
    case given(Storage?)

    var storage: Storage? {
        switch self {
        case .own(let storage), .given(let storage): storage
        }
    }
}
