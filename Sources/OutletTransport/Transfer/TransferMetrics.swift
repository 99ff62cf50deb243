package import OutletHTTP

/// The times and sizes of one transfer.
///
/// Times are in microseconds since the transfer started. They are 0 for stages that did not occur:
/// a reused connection needs no name look-up, no connect and no TLS handshake.
///
/// If the transport has sent the request more than once by itself, because the server has refused it, a
/// kept connection has ended or the server has asked for credentials, the numbers of bytes are those
/// of the last time, and the stages before ``preTransfer`` contain all earlier times.
public struct TransferMetrics: Sendable, Equatable {
    /// Where the response came from.
    public enum ResourceFetchType: String, Sendable, CaseIterable {
        /// From the network.
        case networkLoad
        /// From the session's cache, without a request to the server.
        case localCache
        /// From the session's cache, after the server has confirmed it (304).
        case validatedCache
    }

    /// Where the response came from.
    public var resourceFetchType = ResourceFetchType.networkLoad
    /// When the host name was resolved (`CURLINFO_NAMELOOKUP_TIME_T`), in microseconds.
    public var nameLookup: Int64 = 0
    /// When the TCP connection was made (`CURLINFO_CONNECT_TIME_T`), in microseconds.
    public var connect: Int64 = 0
    /// When the TLS handshake was complete (`CURLINFO_APPCONNECT_TIME_T`), in microseconds.
    public var secureConnect: Int64 = 0
    /// When the request was about to be sent (`CURLINFO_PRETRANSFER_TIME_T`), in microseconds.
    public var preTransfer: Int64 = 0
    /// When the first byte of the response arrived, in microseconds.
    ///
    /// Interim responses (1xx) do not count if the request has a body, which may follow them.
    public var firstByte: Int64 = 0
    /// When the transfer ended (`CURLINFO_TOTAL_TIME_T`), in microseconds.
    public var total: Int64 = 0
    /// How long the transfer waited for a connection before it started, in microseconds; not
    /// included in the other times.
    public var queued: Int64 = 0
    /// The number of redirects before this transfer; the other values are those of the last hop.
    public var redirectCount = 0
    /// How long those redirects took, in microseconds; not included in the other times.
    public var redirectDuration: Int64 = 0
    /// The size of the request's head in bytes.
    public var requestHeaderBytes: Int64 = 0
    /// The size of the request's body on the wire in bytes (`CURLINFO_SIZE_UPLOAD_T`).
    public var requestBodyBytes: Int64 = 0
    /// Whether the request's body stream had more bytes than `Content-Length` declares; the rest
    /// was not sent.
    public var isRequestBodyCut = false
    /// The size of the response's head in bytes (`CURLINFO_HEADER_SIZE`).
    public var responseHeaderBytes: Int64 = 0
    /// The size of the response's body on the wire in bytes, before decoding
    /// (`CURLINFO_SIZE_DOWNLOAD_T`).
    public var responseBodyBytes: Int64 = 0
    /// Whether an existing connection was used (`CURLINFO_NUM_CONNECTS` is 0).
    public var isReusedConnection = false

    /// Descriptions of a connection, shared by the metrics of all its transfers.
    package struct Connection: Sendable, Equatable {
        package var httpVersion = ""
        package var remoteAddress = ""
        package var localAddress = ""
        package var tls = ""
        package var proxy = ""

        package init() {}
    }

    package var connection: Boxed<Connection>
    private static let unknownConnection = Boxed(Connection())

    /// The protocol version of the response, such as `HTTP/2`; empty before its head has arrived.
    public var httpVersion: String {
        get { connection.value.httpVersion }
        set { connection.value.httpVersion = newValue }
    }

    /// The peer's address and port (`CURLOPT_PREREQFUNCTION`, else `CURLINFO_PRIMARY_IP`); empty if
    /// not connected.
    public var remoteAddress: String {
        get { connection.value.remoteAddress }
        set { connection.value.remoteAddress = newValue }
    }

    /// The local address and port (`CURLOPT_PREREQFUNCTION`, else `CURLINFO_LOCAL_IP`); empty if
    /// not connected.
    public var localAddress: String {
        get { connection.value.localAddress }
        set { connection.value.localAddress = newValue }
    }

    /// The TLS version and cipher, such as `TLSv1.3 TLS_AES_256_GCM_SHA384`; empty without TLS.
    public var tls: String {
        get { connection.value.tls }
        set { connection.value.tls = newValue }
    }

    /// The URL of the proxy in use, without credentials; empty if there is none.
    public var proxy: String {
        get { connection.value.proxy }
        set { connection.value.proxy = newValue }
    }

    /// Makes empty metrics.
    public init() { connection = Self.unknownConnection }

    /// Makes empty metrics of a transfer on a connection.
    package init(connection: Boxed<Connection>) { self.connection = connection }
}
