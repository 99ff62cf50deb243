public import FoundationEssentials
public import OutletHTTP

/// Every setting of a session, with its unit and its default.
public struct SessionConfiguration: Sendable {
    /// Fields sent with each request that does not set them itself.
    public var headers: HTTPHeaders = .default

    /// How long a request may make no progress, in seconds; 0 means no limit.
    ///
    /// Waiting for a connection is no progress; time for which the request is suspended does not count.
    /// Takes the place of ``OutletHTTP/HTTPRequest/timeoutInterval`` where that has its default.
    public var timeoutIntervalForRequest: TimeInterval = 60
    /// How long a transfer may take in all, in seconds (`CURLOPT_TIMEOUT_MS`), waiting for a connection
    /// included; 0 means no limit.
    public var timeoutIntervalForResource: TimeInterval = 7 * 24 * 3600
    /// How long connecting may take, TLS included, in seconds (`CURLOPT_CONNECTTIMEOUT_MS`).
    public var connectTimeout: TimeInterval = 30

    /// Connections to one host at a time; further requests wait in the session's own queue.
    public var httpMaximumConnectionsPerHost = 64
    /// Connections in all at a time.
    public var maximumConnections = 4096
    /// How many requests may wait for a connection at a time.
    ///
    /// One more fails with ``TransferError/Code/requestQueueFull``; 0 lets none wait. The default,
    /// 65,536, is more than 64 connections can serve within the default time limit.
    public var maximumQueuedRequests = 65_536
    /// How long an idle connection is kept, in seconds (`CURLOPT_MAXAGE_CONN`).
    public var connectionIdleTimeout: TimeInterval = 118
    /// Which HTTP versions are spoken (`CURLOPT_HTTP_VERSION`).
    public var httpVersion: HTTPVersionPolicy = .automatic
    /// Whether equal requests that are under way at the same time share one transfer.
    ///
    /// Equal are `GET` and `HEAD` requests without a body, of ``DataRequest`` alone, with the same
    /// address, fields (but for `X-Request-ID`, `X-Correlation-ID`, `traceparent` and `tracestate`),
    /// timeout and credential. The first one leads: all get what it has come to in the end, after its
    /// redirects and retries, errors included; each validates and serializes for itself. Cancelling
    /// one cancels no other. Requests with a redirect handler or an `onHTTPResponse` closure of their
    /// own share nothing. A request may say otherwise for itself: ``DataRequest/coalesces(_:)``.
    public var coalescesRequests = false
    /// Whether a redirect from https to http may send the request's body once more, in clear.
    ///
    /// Redirects with 307 and 308, and those that keep a `PUT` or the like, repeat the body. By default
    /// such a redirect fails with ``TransferError/Code/redirectToNonExistentLocation``.
    public var allowsInsecureRedirectsWithBodies = false
    /// How many redirects are followed before the request fails.
    public var maximumRedirects = 20
    /// The largest response body that is collected in memory, in bytes after decoding; 256 MiB.
    ///
    /// A larger one fails with ``TransferError/Code/dataLengthExceedsMaximum``. Downloads to files and
    /// streams are not limited by it.
    public var maximumResponseSize: Int64 = 256 << 20

    /// How many bytes a body may decode to for each byte on the wire; 0 means no limit.
    ///
    /// Counted only where a body decodes to more than ``decompressionRatioExemptSize``. What passes
    /// both is a decompression bomb, and fails with
    /// ``TransferError/Code/decompressionLimitExceeded``.
    public var maximumDecompressionRatio = 200.0
    /// Up to how many bytes a body may decode to whatever its ratio is; 64 MiB.
    public var decompressionRatioExemptSize: Int64 = 64 << 20
    /// The most bytes a compressed body may decode to, wherever it goes; no limit by default.
    public var maximumDecompressedSize: Int64 = .max
    /// How many fields a response's head, or its trailers, may have.
    public var maximumHeaderFields = 2000
    /// The most bytes of a response's head, or its trailers.
    public var maximumHeaderSize = 256 << 10

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
    /// and other fields that ``Redaction`` calls secret, the same `Host`, and in a session with the same
    /// ``addressPolicy`` and ``unixSocketPath``. Without a word of the server's, nothing is
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
    /// ``httpCookieStorage``; ``HSTSStorage/file(_:)`` outlives the process.
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

    /// Where certificate authorities are found.
    public var certificateAuthorities: CertificateAuthorities = .system
    /// Whether the server's certificate and name are checked; leave it on.
    public var verifiesCertificates = true
    /// The client's certificate, shown to every server that asks for one.
    public var clientCertificate: ClientCertificate?
    /// Certificates for some hosts, in place of ``clientCertificate``.
    public var clientCertificateProvider: ClientCertificateProvider?

    /// Credentials for servers that ask, by the places they belong to; none by default.
    ///
    /// What is stored answers requests that have no credential and no `Authorization` of their own, and
    /// from then on goes along with all requests to that place. What requests bring with
    /// ``Credential/Persistence/forSession`` is stored here once it was let in.
    public var urlCredentialStorage: CredentialStorage?

    /// The proxy; the environment's by default.
    public var proxy: ProxyPolicy = .environment
    /// Answers the proxy when it asks who is there (`CURLOPT_PROXYUSERNAME`, `CURLOPT_PROXYAUTH`).
    ///
    /// Without it, what stands in the proxy's address goes along as basic authentication at once.
    public var proxyCredential: Credential?
    /// Which addresses are connected to; any by default.
    ///
    /// Set it to ``AddressPolicy/publicOnly`` where addresses come from users. What it refuses fails with
    /// ``TransferError/Code/addressNotAllowed``.
    public var addressPolicy = AddressPolicy.any
    /// A Unix socket to connect to in place of the address's host (`CURLOPT_UNIX_SOCKET_PATH`).
    public var unixSocketPath: String?

    /// Whether each line on the wire is written to stderr, secrets left out.
    public var logsWire = false

    /// The usual settings.
    public static var `default`: SessionConfiguration { SessionConfiguration() }
    /// Settings that leave nothing behind on disk; the same as ``default``, which asks for none.
    public static var ephemeral: SessionConfiguration { SessionConfiguration() }

    /// The usual settings.
    public init() {}

    /// Whether servers may know the session by a certificate.
    package var showsCertificates: Bool {
        clientCertificate != nil || clientCertificateProvider != nil
    }

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

/// Which HTTP versions are spoken.
public enum HTTPVersionPolicy: Sendable, Equatable {
    /// HTTP/2 where TLS agrees on it, HTTP/1.1 elsewhere.
    case automatic
    /// HTTP/1.1 only.
    case http1
    /// HTTP/2 without asking first, over plain TCP too.
    case http2PriorKnowledge
}

/// Where certificate authorities are found.
public enum CertificateAuthorities: Sendable, Equatable {
    /// `CURL_CA_BUNDLE` if set, else `SSL_CERT_FILE` and `SSL_CERT_DIR`, else the system's store.
    case system
    /// A PEM bundle.
    case file(path: String)
    /// A directory of PEM files named by hash (`openssl rehash`).
    case directory(path: String)
}

/// Which proxy a request goes through.
public enum ProxyPolicy: Sendable, Equatable {
    /// What `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say, read once per session.
    case environment
    /// None.
    case none
    /// One for all hosts, but for those that match `except` (suffixes, or `*`).
    case url(String, except: [String])
}
