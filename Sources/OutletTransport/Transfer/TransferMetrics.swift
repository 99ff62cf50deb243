package import OutletHTTP

/// What was measured of one transfer.
///
/// Times count from its start, in microseconds, 0 where the stage did not occur (a re-used
/// connection resolves, connects and secures nothing).
public struct TransferMetrics: Sendable, Equatable {
    /// Where the response came from.
    public enum ResourceFetchType: String, Sendable, CaseIterable {
        /// From the network.
        case networkLoad
        /// From the session's cache, without a byte on the network.
        case localCache
        /// From the session's cache, after the server said that it still holds.
        case validatedCache
    }

    /// Where the response came from.
    public var resourceFetchType = ResourceFetchType.networkLoad
    /// The name was resolved (`CURLINFO_NAMELOOKUP_TIME_T`), µs.
    public var nameLookup: Int64 = 0
    /// TCP was connected (`CURLINFO_CONNECT_TIME_T`), µs.
    public var connect: Int64 = 0
    /// TLS was agreed (`CURLINFO_APPCONNECT_TIME_T`), µs.
    public var secureConnect: Int64 = 0
    /// The request was about to be sent (`CURLINFO_PRETRANSFER_TIME_T`), µs.
    public var preTransfer: Int64 = 0
    /// The first byte of the response arrived (`CURLINFO_STARTTRANSFER_TIME_T`), µs.
    public var firstByte: Int64 = 0
    /// The transfer was over (`CURLINFO_TOTAL_TIME_T`), µs.
    public var total: Int64 = 0
    /// The wait in the transport's own queue before the transfer, µs; not part of the others.
    public var queued: Int64 = 0
    /// How many redirects led here; the other figures are those of the last hop.
    public var redirectCount = 0
    /// How long those redirects took, µs; not part of the others.
    public var redirectDuration: Int64 = 0
    /// Bytes of the request's head (`CURLINFO_REQUEST_SIZE`).
    public var requestHeaderBytes: Int64 = 0
    /// Bytes of the request's body on the wire (`CURLINFO_SIZE_UPLOAD_T`).
    public var requestBodyBytes: Int64 = 0
    /// Whether the request's stream had more bytes than its `Content-Length` declared: the rest was not
    /// sent.
    public var isRequestBodyCut = false
    /// Bytes of the response's head (`CURLINFO_HEADER_SIZE`).
    public var responseHeaderBytes: Int64 = 0
    /// Bytes of the response's body on the wire, before decoding (`CURLINFO_SIZE_DOWNLOAD_T`).
    public var responseBodyBytes: Int64 = 0
    /// Whether the connection had been used before (`CURLINFO_NUM_CONNECTS` is 0).
    public var isReusedConnection = false

    /// Texts about a connection, shared by the metrics of all transfers on it.
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

    /// The protocol spoken, such as `HTTP/2`, as the response's head says; empty before one.
    public var httpVersion: String {
        get { connection.value.httpVersion }
        set { connection.value.httpVersion = newValue }
    }

    /// The peer's address and port (`CURLOPT_PREREQFUNCTION`, else `CURLINFO_PRIMARY_IP`); empty when
    /// not connected.
    public var remoteAddress: String {
        get { connection.value.remoteAddress }
        set { connection.value.remoteAddress = newValue }
    }

    /// The own address and port (`CURLOPT_PREREQFUNCTION`, else `CURLINFO_LOCAL_IP`); empty when not
    /// connected.
    public var localAddress: String {
        get { connection.value.localAddress }
        set { connection.value.localAddress = newValue }
    }

    /// The TLS version and cipher, such as `TLSv1.3 TLS_AES_256_GCM_SHA384`; empty without TLS.
    public var tls: String {
        get { connection.value.tls }
        set { connection.value.tls = newValue }
    }

    /// The proxy in use, without credentials; empty without one.
    public var proxy: String {
        get { connection.value.proxy }
        set { connection.value.proxy = newValue }
    }

    /// Makes metrics of nothing.
    public init() { connection = Self.unknownConnection }

    /// Makes metrics of nothing yet on that connection.
    package init(connection: Boxed<Connection>) { self.connection = connection }
}
