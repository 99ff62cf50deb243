public import FoundationEssentials
public import OutletHTTP

/// The settings of a transport, with units and defaults: connections, TLS, proxies, limits.
///
/// A value that a setting cannot have is the error of every request of the transport, before
/// anything is sent: ``TransferError/Code/badConfiguration``, which names the setting.
public struct TransportConfiguration: Sendable {
    /// How long a request may make no progress, in seconds; 0 means no limit.
    ///
    /// Waiting for a connection is no progress; time for which the request is suspended does not
    /// count. Takes the place of `HTTPRequest.timeoutInterval` where that has its default.
    public var timeoutIntervalForRequest: TimeInterval = 60
    /// How long a transfer may take in all, in seconds (`CURLOPT_TIMEOUT_MS`), waiting for a
    /// connection included; 0 means no limit.
    public var timeoutIntervalForResource: TimeInterval = 7 * 24 * 3600
    /// How long connecting may take, TLS included, in seconds (`CURLOPT_CONNECTTIMEOUT_MS`).
    public var connectTimeout: TimeInterval = 30
    /// Ends transfers that are too slow for too long; none by default.
    ///
    /// Counts from when the request is sent, so waiting for the answer is slow, too; time for which
    /// the request is suspended is not. libcurl looks at the speed of the last five seconds, once a
    /// second. What is too slow fails with ``TransferError/Code/timedOut``.
    public var minimumThroughput: MinimumThroughput?

    /// Connections to one host at a time; further requests wait in the session's own queue.
    public var httpMaximumConnectionsPerHost = 64
    /// Another number of connections for some servers, in place of
    /// ``httpMaximumConnectionsPerHost``.
    public var maximumConnectionsPerOrigin: [Origin: Int] = [:]
    /// Connections in all at a time.
    public var maximumConnections = 4096
    /// How many requests may wait for a connection at a time.
    ///
    /// One more fails with ``TransferError/Code/requestQueueFull``; 0 lets none wait. The default,
    /// 65,536, is more than 64 connections can serve within the default time limit.
    public var maximumQueuedRequests = 65_536
    /// How long an idle connection is kept, in seconds (`CURLOPT_MAXAGE_CONN`).
    public var connectionIdleTimeout: TimeInterval = 118
    /// Probes on connections on which nothing is sent (`CURLOPT_TCP_KEEPALIVE`); none by default.
    public var tcpKeepAlive: TCPKeepAlive?
    /// The interface or the address that connections come from (`CURLOPT_INTERFACE`); the system's
    /// choice if `nil`.
    public var sourceAddress: SourceAddress?
    /// How long the addresses of a host are remembered once looked up, in whole seconds
    /// (`CURLOPT_DNS_CACHE_TIMEOUT`); 0 means not at all, `.infinity` for as long as the transport
    /// lives.
    ///
    /// A connection that is kept is used without looking at its host's name again.
    public var dnsCacheLifetime: TimeInterval = 60
    /// Addresses of some hosts, which are then not looked up (`CURLOPT_RESOLVE`): by `host:port`,
    /// at least one IPv4 or IPv6 address each, tried as those of a name service are.
    ///
    /// Host names in certificates, fields and cookies stay as they are, and ``addressPolicy``
    /// judges these addresses as well. A proxy looks names up itself.
    ///
    /// ```swift
    /// configuration.staticAddresses = ["api.example.com:443": ["10.0.0.5", "2001:db8::5"]]
    /// ```
    public var staticAddresses: [String: [String]] = [:]
    /// Which HTTP versions are spoken (`CURLOPT_HTTP_VERSION`).
    public var httpVersion: HTTPVersionPolicy = .automatic

    /// The largest response body that is collected in memory, in bytes after decoding; 256 MiB.
    ///
    /// A larger one fails with ``TransferError/Code/dataLengthExceedsMaximum``. Downloads to files
    /// and streams are not limited by it.
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

    /// Where certificate authorities are found.
    public var certificateAuthorities: CertificateAuthorities = .system
    /// Whether the server's certificate and name are checked; leave it on.
    public var verifiesCertificates = true
    /// The oldest version of TLS that is spoken, with servers and https proxies
    /// (`CURLOPT_SSLVERSION`).
    ///
    /// `nil`, the default, leaves it to OpenSSL's configuration: on Debian 12, TLS 1.2.
    public var minimumTLSVersion: TLSVersion?
    /// The ciphers for TLS 1.2 and older, in OpenSSL's form (`CURLOPT_SSL_CIPHER_LIST`,
    /// ciphers(1)), such as `ECDHE+AESGCM:ECDHE+CHACHA20`; those of OpenSSL's configuration if
    /// `nil`.
    ///
    /// A cipher that OpenSSL does not know is an error; one that the list takes out (`!RC4`) need
    /// not be known.
    public var tlsCipherList: String?
    /// The cipher suites for TLS 1.3, separated by `:` (`CURLOPT_TLS13_CIPHERS`), such as
    /// `TLS_AES_256_GCM_SHA384`; those of OpenSSL's configuration if `nil`.
    public var tls13CipherSuites: String?
    /// Where the keys of TLS connections are written for debugging; nowhere by default.
    public var tlsKeyLog = TLSKeyLog.off
    /// The client's certificate, shown to every server that asks for one.
    public var clientCertificate: ClientCertificate?
    /// Certificates for some hosts, in place of ``clientCertificate``.
    public var clientCertificateProvider: ClientCertificateProvider?

    /// The proxy; the environment's by default.
    public var proxy: ProxyPolicy = .environment
    /// Answers the proxy when it asks who is there (`CURLOPT_PROXYUSERNAME`, `CURLOPT_PROXYAUTH`).
    ///
    /// Without it, what stands in the proxy's address goes along as basic authentication at once.
    public var proxyCredential: Credential?
    /// Which addresses are connected to; any by default.
    ///
    /// Set it to ``AddressPolicy/publicOnly`` where addresses come from users. What it refuses
    /// fails with ``TransferError/Code/addressNotAllowed``.
    public var addressPolicy = AddressPolicy.any
    /// A Unix socket to connect to in place of the address's host (`CURLOPT_UNIX_SOCKET_PATH`).
    public var unixSocketPath: String?

    /// Whether each line on the wire is written to stderr, secrets left out.
    public var logsWire = false

    /// The usual settings.
    public static var `default`: TransportConfiguration { TransportConfiguration() }

    /// The usual settings.
    public init() {}

    /// Whether servers may know the transport by a certificate.
    package var showsCertificates: Bool {
        clientCertificate != nil || clientCertificateProvider != nil
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
