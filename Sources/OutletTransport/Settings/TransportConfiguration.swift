public import FoundationEssentials
public import OutletHTTP

/// The settings of a transport: connections, TLS, proxies, limits.
///
/// If a setting has an invalid value, every request of the transport fails before anything is sent,
/// with ``TransferError/Code/badConfiguration`` and the name of the setting.
public struct TransportConfiguration: Sendable {
    /// How long a request may make no progress, in seconds; 0 means no limit.
    ///
    /// Time spent waiting for a connection counts, time during which the request is suspended does
    /// not. Applies to requests whose `HTTPRequest.timeoutInterval` has its default value.
    public var timeoutIntervalForRequest: TimeInterval = 60
    /// How long a transfer may take in total, in seconds (`CURLOPT_TIMEOUT_MS`), including the wait
    /// for a connection; 0 means no limit.
    ///
    /// Each hop of a redirect and each retry is a transfer of its own.
    public var timeoutIntervalForResource: TimeInterval = 7 * 24 * 3600
    /// How long connecting may take, in seconds, including the TLS handshake
    /// (`CURLOPT_CONNECTTIMEOUT_MS`); 0 means no limit.
    public var connectTimeout: TimeInterval = 30
    /// Ends transfers that are too slow for too long; `nil`, the default, for no limit.
    ///
    /// The time counts from when the request is sent, and includes the wait for the response but
    /// not the time during which the request is suspended. libcurl checks the speed of the last
    /// five seconds once a second. Slower transfers fail with ``TransferError/Code/timedOut``.
    public var minimumThroughput: MinimumThroughput?

    /// The maximum number of simultaneous connections to one host, at least 1; further requests wait
    /// in the transport's queue.
    ///
    /// Transfers from or to a file or a stream have a thread of their own, on which connections are
    /// counted separately. A limit above 512 is divided evenly among up to 8 threads, and rounded
    /// down.
    public var httpMaximumConnectionsPerHost = 64
    /// The maximum number of connections to certain servers, at least 1; replaces
    /// ``httpMaximumConnectionsPerHost`` for them.
    public var maximumConnectionsPerOrigin: [Origin: Int] = [:]
    /// The maximum number of requests that run at the same time on connections to all hosts, at least
    /// 1; counted as for ``httpMaximumConnectionsPerHost``.
    ///
    /// As many connections may be idle. When a request ends and more connections than this are open,
    /// the one that was idle for longest is closed.
    ///
    /// If one host may have more than 512, this limit is divided among the threads, too; the first
    /// one serves all hosts whose connections are not divided.
    public var maximumConnections = 4096
    /// The maximum number of requests that wait for a connection; 0 lets none wait.
    ///
    /// Further requests fail with ``TransferError/Code/requestQueueFull``. The default, 65,536, is
    /// more than 64 connections can serve within the default time limit.
    public var maximumQueuedRequests = 65_536
    /// How long an idle connection is kept open, in seconds, at least 1 (`CURLOPT_MAXAGE_CONN`).
    ///
    /// The oldest are closed earlier when the connections of a session use half of the descriptors
    /// that the process could have at the first request (`ulimit -n`); those for files and streams, a
    /// further quarter.
    public var connectionIdleTimeout: TimeInterval = 118
    /// TCP keep-alive probes on idle connections (`CURLOPT_TCP_KEEPALIVE`); `nil`, the default, for
    /// none.
    public var tcpKeepAlive: TCPKeepAlive?
    /// The local interface or address of connections (`CURLOPT_INTERFACE`); `nil` for the system's
    /// choice.
    public var sourceAddress: SourceAddress?
    /// How long resolved addresses of a host are cached, in seconds, rounded up to whole seconds
    /// (`CURLOPT_DNS_CACHE_TIMEOUT`).
    ///
    /// 0 means that they are not cached, `.infinity` that they are kept as long as the transport
    /// exists. An open connection is used again without resolving its host.
    public var dnsCacheLifetime: TimeInterval = 60
    /// The addresses of certain hosts, which are then not resolved (`CURLOPT_RESOLVE`).
    ///
    /// Keys have the form `host:port`; each has at least one IPv4 or IPv6 address, which are tried
    /// like the results of a DNS query. The host name stays the same in certificates, header fields
    /// and cookies, and ``addressPolicy`` applies to these addresses too. A proxy resolves names
    /// itself.
    ///
    /// ```swift
    /// configuration.staticAddresses = ["api.example.com:443": ["10.0.0.5", "2001:db8::5"]]
    /// ```
    public var staticAddresses: [String: [String]] = [:]
    /// The HTTP versions in use (`CURLOPT_HTTP_VERSION`).
    public var httpVersion: HTTPVersionPolicy = .automatic

    /// The largest response body that is collected in memory, in bytes after decoding; 256 MiB by
    /// default.
    ///
    /// A larger body fails with ``TransferError/Code/dataLengthExceedsMaximum``. Downloads to files
    /// and streams are not limited by it.
    public var maximumResponseSize: Int64 = 256 << 20

    /// The maximum ratio of a body's decoded size to its size on the wire; 0 means no limit.
    ///
    /// Applies only to bodies that decode to more than ``decompressionRatioExemptSize``. A body
    /// that exceeds both is a decompression bomb and fails with
    /// ``TransferError/Code/decompressionLimitExceeded``.
    public var maximumDecompressionRatio = 200.0
    /// The decoded size, in bytes, up to which ``maximumDecompressionRatio`` does not apply; 64 MiB
    /// by default.
    public var decompressionRatioExemptSize: Int64 = 64 << 20
    /// The maximum decoded size of a compressed body, in bytes, in memory, file or stream; no limit
    /// by default.
    ///
    /// A larger body fails with ``TransferError/Code/decompressionLimitExceeded``.
    public var maximumDecompressedSize: Int64 = .max
    /// The maximum number of fields in a response's head or trailers.
    ///
    /// A response with more fails with ``TransferError/Code/headerFieldsExceedMaximum``.
    public var maximumHeaderFields = 2000
    /// The maximum size of a response's head or trailers, in bytes.
    ///
    /// A larger one fails with ``TransferError/Code/headerFieldsExceedMaximum``. So do heads of more
    /// than 300 KiB together, such as with interim ones, which libcurl does not take. Over HTTP/2,
    /// it takes 127 KiB, or 63 KiB while other transfers run, unless there is a file or a stream at
    /// either end.
    public var maximumHeaderSize = 256 << 10

    /// Where the certificate authorities come from.
    public var certificateAuthorities: CertificateAuthorities = .system
    /// Whether the server's certificate and its host name are verified; do not turn it off.
    public var verifiesCertificates = true
    /// The minimum TLS version for servers and https proxies (`CURLOPT_SSLVERSION`).
    ///
    /// `nil`, the default, uses OpenSSL's configuration: TLS 1.2 on Debian 12.
    public var minimumTLSVersion: TLSVersion?
    /// The ciphers for TLS 1.2 and older, as an OpenSSL cipher list (ciphers(1)), such as
    /// `ECDHE+AESGCM:ECDHE+CHACHA20` (`CURLOPT_SSL_CIPHER_LIST`); `nil` for those of OpenSSL's
    /// configuration.
    ///
    /// A cipher that OpenSSL does not know is an error, except where the list removes it (`!RC4`).
    public var tlsCipherList: String?
    /// The cipher suites for TLS 1.3, separated by `:`, such as `TLS_AES_256_GCM_SHA384`
    /// (`CURLOPT_TLS13_CIPHERS`); `nil` for those of OpenSSL's configuration.
    public var tls13CipherSuites: String?
    /// The file that the keys of TLS connections are written to, for debugging; none by default.
    public var tlsKeyLog = TLSKeyLog.off
    /// The client certificate, sent to every server that asks for one; `nil` for none.
    public var clientCertificate: ClientCertificate?
    /// Client certificates for certain hosts; hosts without one get ``clientCertificate``.
    public var clientCertificateProvider: ClientCertificateProvider?

    /// The proxy; by default that of the environment variables.
    public var proxy: ProxyPolicy = .environment
    /// The credential for the proxy (`CURLOPT_PROXYUSERNAME`, `CURLOPT_PROXYAUTH`); not a token.
    ///
    /// It counts before user name and password in the proxy's URL.
    /// If `nil`, user name and password in the proxy's URL are sent with basic authentication,
    /// without waiting for a challenge.
    public var proxyCredential: Credential?
    /// The IP addresses that may be connected to; any by default.
    ///
    /// Set it to ``AddressPolicy/publicOnly`` if URLs come from users. Requests to other addresses
    /// fail with ``TransferError/Code/addressNotAllowed``.
    public var addressPolicy = AddressPolicy.any
    /// The path of a Unix socket to connect to instead of the URL's host
    /// (`CURLOPT_UNIX_SOCKET_PATH`), without any proxy; `nil` for none.
    public var unixSocketPath: String?

    /// Whether each line sent and received is written to stderr, with secrets redacted.
    public var logsWire = false
    /// Whether the head of each request is given to the ``SentHeadRecorder`` in its context as it is
    /// sent (`CURLOPT_DEBUGFUNCTION`).
    package var recordsSentHeads = false

    /// The default settings.
    public static var `default`: TransportConfiguration { TransportConfiguration() }

    /// Makes the default settings.
    public init() {}

    /// Whether a client certificate may be sent.
    package var showsCertificates: Bool {
        clientCertificate != nil || clientCertificateProvider != nil
    }
}

/// The HTTP versions that a transport uses.
public enum HTTPVersionPolicy: Sendable, Equatable {
    /// HTTP/2 if it was negotiated over TLS (ALPN), else HTTP/1.1.
    case automatic
    /// HTTP/1.1 only.
    case http1
    /// HTTP/2 without negotiation, also without TLS.
    ///
    /// With libcurl 7.88 a connection without TLS carries one request only, because its second one
    /// would fail. Each request then costs a connection, and as many run at a time as
    /// ``TransportConfiguration/httpMaximumConnectionsPerHost`` allows.
    case http2PriorKnowledge
}

/// Where certificate authorities come from.
public enum CertificateAuthorities: Sendable, Equatable {
    /// `CURL_CA_BUNDLE` if set, else `SSL_CERT_FILE` and `SSL_CERT_DIR`, else the system's store.
    case system
    /// A file with PEM certificates.
    case file(path: String)
    /// A directory of PEM files named by hash (`openssl rehash`).
    case directory(path: String)
}

/// The proxy that requests are sent through.
public enum ProxyPolicy: Sendable, Equatable {
    /// The proxy of `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, which are read when
    /// the transport is made. `HTTP_PROXY` in capitals is ignored.
    case environment
    /// No proxy.
    case none
    /// One proxy for all hosts, except those that match a pattern of `except`.
    ///
    /// A pattern is `*` for all hosts, a host name, which includes its subdomains, an IP address or
    /// a network such as `10.0.0.0/8`. Names and addresses may have a port.
    case url(String, except: [String])
}

extension ProxyPolicy: CustomStringConvertible {
    /// The case, with the proxy's address without user name and password.
    public var description: String {
        switch self {
        case .environment: "environment"
        case .none: "none"
        case .url(let address, let except):
            "\(ProxyAddress.withoutCredentials(address)), except \(except)"
        }
    }
}

extension ProxyPolicy: CustomReflectable {
    /// Nothing but the ``description``, which has no password.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
