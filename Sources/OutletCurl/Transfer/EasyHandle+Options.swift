import CCurl
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// Maps requests and the configuration to libcurl's options: one function for each concern, each
/// line naming its option.
///
/// What all transfers of a transport have in common is set once per handle, and stays while the
/// handle runs plain requests (a `GET` without a body). Any other option marks the handle
/// (`isMarked`), which is then reset before its next transfer.
extension EasyHandle {
    // MARK: Once for a handle

    /// Sets the options that do not depend on the configuration.
    func applyConstants() {
        // Signals belong to the program, and cost three system calls per request.
        set(CURLOPT_NOSIGNAL, 1)
        // A cancel must not wait for getaddrinfo().
        set(CURLOPT_QUICK_EXIT, 1)
        // The session follows redirects. `Address` has checked that the scheme is http or https;
        // CURLOPT_PROTOCOLS_STR would parse its list of names for each handle.
        set(CURLOPT_FOLLOWLOCATION, 0)
        // A response without a status line then arrives as a body, and fails with its first bytes.
        set(CURLOPT_HTTP09_ALLOWED, 1)
        // Do not report the head of a proxy's response to CONNECT as the response's head.
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_ERRORBUFFER, pointer: errorText)
        set(CURLOPT_PRIVATE, pointer: client)
        opener.pointee.client = UnsafeMutableRawPointer(mutating: client)
        ccurl_opener_adopt(opener, raw)
        head.lines.pointee.client = UnsafeMutableRawPointer(mutating: client)
        head.lines.pointee.completed = receiveHead
        head.lines.pointee.began_http2 = beginHTTP2Head
        note(
            CURLOPT_HEADERFUNCTION,
            ccurl_set_write(raw, CURLOPT_HEADERFUNCTION, ccurl_collect_header))
        set(CURLOPT_HEADERDATA, pointer: head.lines)
        note(CURLOPT_WRITEFUNCTION, ccurl_set_write(raw, CURLOPT_WRITEFUNCTION, receiveBody))
        set(CURLOPT_WRITEDATA, pointer: client)
        note(CURLOPT_PREREQFUNCTION, ccurl_set_prereq(raw, willSendRequest))
        set(CURLOPT_PREREQDATA, pointer: client)
    }

    /// Sets the options that the configuration determines for all transfers.
    func applyConfiguration(_ settings: TransportSettings) {
        let configuration = settings.configuration
        head.limit(
            bytes: configuration.maximumHeaderSize, fields: configuration.maximumHeaderFields)
        set(CURLOPT_UNIX_SOCKET_PATH, text: configuration.unixSocketPath)
        // If these are not set, libcurl reads the environment.
        set(CURLOPT_PROXY, text: "")
        set(CURLOPT_NOPROXY, text: "")
        set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(configuration.connectTimeout) ?? Int(Int32.max))
        set(CURLOPT_MAXAGE_CONN, Int(max(1, min(configuration.connectionIdleTimeout, 1e9))))
        set(CURLOPT_HTTP_VERSION, configuration.httpVersion.curlValue)
        applyChoices(settings)
        if settings.logsWire || configuration.recordsSentHeads { watchWire() }
    }

    /// Makes libcurl call `logWire` with what it sends and receives, and with its remarks.
    private func watchWire() {
        set(CURLOPT_VERBOSE, 1)
        note(CURLOPT_DEBUGFUNCTION, ccurl_set_debug(raw, logWire))
        set(CURLOPT_DEBUGDATA, pointer: client)
    }

    /// Sets the options that few configurations need.
    private func applyChoices(_ settings: TransportSettings) {
        // libcurl reads the list in the handle's next transfer, into the DNS cache that all handles
        // of the loop share and that ends with the loop.
        if let resolve = settings.checked.resolve { set(CURLOPT_RESOLVE, pointer: resolve.head) }
        if let interface = settings.checked.interface { set(CURLOPT_INTERFACE, text: interface) }
        if let timeout = settings.checked.dnsCacheTimeout {
            set(CURLOPT_DNS_CACHE_TIMEOUT, timeout)
        }
        if let probes = settings.configuration.tcpKeepAlive {
            set(CURLOPT_TCP_KEEPALIVE, 1)
            set(CURLOPT_TCP_KEEPIDLE, wholeSeconds(probes.idle))
            set(CURLOPT_TCP_KEEPINTVL, wholeSeconds(probes.interval))
        }
        if let minimum = settings.configuration.minimumThroughput {
            set(CURLOPT_LOW_SPEED_LIMIT, minimum.bytesPerSecond)
            set(CURLOPT_LOW_SPEED_TIME, wholeSeconds(minimum.period))
        }
    }

    // MARK: For each transfer

    /// Sets the URL.
    func applyAddress(_ address: Address) {
        set(CURLOPT_CURLU, pointer: UnsafeRawPointer(address.handle))
        if address.hasCredential { isMarked = true }
    }

    /// Connects through the interface that the zone of an address names, by a connection of its own:
    /// libcurl does not copy the zone of a parsed URL, and would share connections between zones.
    ///
    /// - Throws: The error of a zone that is no interface.
    func applyScope(of address: Address) throws(TransferError) {
        guard let scope = address.scope else { return }
        guard scope > 0 else {
            throw TransferError(
                code: .badURL, host: address.host,
                reason: "address: its zone \(address.origin.zone ?? "") is no interface of this "
                    + "machine")
        }
        isMarked = true
        set(CURLOPT_ADDRESS_SCOPE, Int(scope))
        applySingleUse()
    }

    /// Sets the proxy.
    ///
    /// - Parameters:
    ///   - address: The URL of the request.
    ///   - settings: The proxies and their credential in the configuration.
    ///   - credentials: The job's credentials, by the URLs of the proxies.
    /// - Returns: The proxy's URL without credentials; empty if the connection is direct.
    /// - Throws: The error of a proxy whose address cannot be used.
    func applyProxy(
        for address: Address, _ settings: TransportSettings, _ credentials: [String: Credential]
    ) throws(TransferError) -> String {
        let proxy = try settings.proxies.proxy(for: address.origin)
        guard !proxy.isEmpty else { return "" }
        let name = ProxyAddress.withoutCredentials(proxy)
        // libcurl would prefer the credential of the address.
        let isCredentialSet = settings.configuration.proxyCredential != nil
        set(CURLOPT_PROXY, text: isCredentialSet ? name : proxy)
        // Lets `BusyWatch` end the transfer while a tunnel is opened, also that of a WebSocket.
        applyProgress()
        if address.isSecure {
            isTunnelled = true
            // The challenge of a proxy that refuses the tunnel is only in these heads.
            set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 0)
        }
        // Credentials in the proxy's URL take precedence over stored ones.
        let stored = name == proxy ? credentials[name] : nil
        if let credential = settings.configuration.proxyCredential ?? stored {
            if let fault = credential.fault { throw .setting("proxyCredential", fault) }
            set(CURLOPT_PROXYAUTH, credential.schemes)
            set(CURLOPT_PROXYUSERNAME, text: credential.user)
            set(CURLOPT_PROXYPASSWORD, text: credential.password)
            watchNegotiation(by: credential, with: .proxy)
        }
        return name
    }

    /// Listens to libcurl's debug log for Negotiate, because the reason why there is no Kerberos
    /// ticket is only there; libcurl then sends the request without one.
    private func watchNegotiation(
        by credential: Credential, with party: NegotiatedConnections.Parties
    ) {
        guard credential.scheme == .negotiate else { return }
        negotiatesWith.insert(party)
        watchWire()
    }

    /// Sets the time limit of the whole transfer; the loop itself enforces the limit without
    /// progress.
    ///
    /// - Parameter remaining: The time left in µs; `nil` for no limit.
    func applyLimit(_ remaining: Int64?) {
        set(CURLOPT_TIMEOUT_MS, remaining.map { Int(max(1, $0 / 1000)) } ?? 0)
    }

    /// Sets whether to wait for a connection that is still being made, to share it.
    ///
    /// - Parameter waits: Whether to wait.
    func applyMultiplexing(waits: Bool) {
        set(CURLOPT_PIPEWAIT, waits ? 1 : 0)
    }

    /// Sets whether libcurl may use HTTP/2, as far as the configuration allows it.
    ///
    /// libcurl 7.88 does not distinguish `http` and `https` when it takes the connections to a host and
    /// port for such with HTTP/2. Without TLS it would send a request on a connection on which another
    /// one runs, unless HTTP/2 is excluded.
    func applyVersion(_ policy: HTTPVersionPolicy, excludesHTTP2 excludes: Bool) {
        guard excludes != excludesHTTP2, policy == .automatic else { return }
        set(
            CURLOPT_HTTP_VERSION, excludes ? Int(CURL_HTTP_VERSION_1_1) : policy.curlValue)
        excludesHTTP2 = excludes
    }

    /// Sets whether to search for an idle connection, for which libcurl examines all connections to
    /// the host.
    ///
    /// - Parameters:
    ///   - origin: The origin, which counts its sockets.
    ///   - version: The HTTP version of the origin.
    ///   - isDirect: Whether there are no proxies, whose connections serve several origins.
    func applyReuse(
        _ origin: OriginQueue<CurlTransfer>, _ version: OriginQueue<CurlTransfer>.Version,
        isDirect: Bool
    ) {
        opener.pointee.tally = origin.tally
        socketsAtStart = opener.pointee.opened
        socketsAtSend = socketsAtStart
        opener.pointee.error = 0
        let fresh = version == .http1 && isDirect && !origin.mayHaveIdleConnection
        set(CURLOPT_FRESH_CONNECT, fresh ? 1 : 0)
    }

    /// Makes the transfer use a connection of its own, which is closed afterwards.
    func applySingleUse() {
        isMarked = true
        set(CURLOPT_FRESH_CONNECT, 1)
        set(CURLOPT_FORBID_REUSE, 1)
    }

    /// Makes libcurl send the request again only if its HTTP/2 stream was refused, and not if a kept
    /// connection has ended, when the server may have processed the request.
    ///
    /// Both look the same to callbacks. libcurl (`Curl_retry_request`, 7.88 to 8.x) does only the former
    /// with this value, which has no other effect on HTTP. A libcurl without RTSP refuses it.
    func applyRepeatsOfRefused() {
        isMarked = true
        let code = ccurl_set_long(raw, CURLOPT_RTSP_REQUEST, ccurl_rtsp_receive)
        repeatsOnlyRefused = code == CURLE_OK
    }

    /// Forces a new connection.
    func applyFreshConnection() {
        set(CURLOPT_FRESH_CONNECT, 1)
    }

    /// Sets the sizes of the pieces in which bodies are received and sent.
    ///
    /// libcurl allocates a buffer for each transfer. A large one saves system calls for large
    /// bodies, and is used for files, streams and transfers without concurrent ones, where its
    /// memory counts least.
    ///
    /// - Parameters:
    ///   - isBulk: Whether there is a file or a stream at either end.
    ///   - isLone: Whether the body is collected, and no other transfer runs.
    ///   - mayBeHTTP2: Whether the response may come over HTTP/2, so that its head has to fit into
    ///     the buffer (``largestHTTP2Head``).
    func applyBuffers(isBulk: Bool, isLone: Bool, mayBeHTTP2: Bool) {
        let size =
            isBulk || isLone ? 256 * 1024 : mayBeHTTP2 ? 64 * 1024 : Self.usualBufferSize
        // Fails on a handle that still has its buffer, because its last transfer was cancelled
        // before it was connected; the transfer then uses the existing buffer.
        if size != bufferSize, ccurl_set_long(raw, CURLOPT_BUFFERSIZE, size) == CURLE_OK {
            bufferSize = size
        }
        guard isBulk else { return }
        isMarked = true
        set(CURLOPT_UPLOAD_BUFFERSIZE, 256 * 1024)
    }

    /// The largest heads of a response over HTTP/2, together, in bytes.
    ///
    /// Where heads do not fit into its buffer, libcurl 7.88 may never notice the end of the response.
    /// It takes 128 KiB at most (`DYN_H2_HEADERS`).
    var largestHTTP2Head: Int { min(bufferSize, 128 * 1024) - 1024 }

    /// Sets a credential, which is sent when the server asks for it.
    ///
    /// - Parameters:
    ///   - credential: The user name and password, or the token.
    ///   - atOnce: Whether to send it with the first request, if the scheme allows that.
    func apply(_ credential: Credential, atOnce: Bool) {
        isMarked = true
        let schemes = credential.schemes
        let waits = credential.scheme != nil && !atOnce
        set(CURLOPT_HTTPAUTH, waits ? schemes | ccurl_auth_only : schemes)
        watchNegotiation(by: credential, with: .server)
        if credential.scheme == .bearer {
            set(CURLOPT_XOAUTH2_BEARER, text: credential.password)
        } else {
            set(CURLOPT_USERNAME, text: credential.user)
            set(CURLOPT_PASSWORD, text: credential.password)
        }
    }

    /// Makes libcurl establish a connection and leave it to the caller, for a WebSocket.
    func applyConnectOnly() {
        isMarked = true
        set(CURLOPT_CONNECT_ONLY, 1)
        // WebSocket frames follow, so it cannot use HTTP/2 or a proxy that parses requests.
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_HTTPPROXYTUNNEL, 1)
        set(CURLOPT_FRESH_CONNECT, 1)
    }

    /// Sets the request's header fields.
    ///
    /// - Returns: False if memory cannot be allocated.
    func applyHeaders(_ fields: HTTPHeaders, hasBody: Bool) -> Bool {
        guard let list = headers.build(fields, hasBody: hasBody) else { return false }
        set(CURLOPT_HTTPHEADER, pointer: list)
        return true
    }

    /// Sets the method `GET` without a body.
    func applyPlainMethod() {
        set(CURLOPT_HTTPGET, 1)
    }

    /// Sets any other method, and the body.
    func applyBody(_ method: HTTPMethod, _ source: RequestBody) {
        isMarked = true
        self.source = source
        switch source {
        case .none:
            switch method {
            case .head: set(CURLOPT_NOBODY, 1)
            case .post, .put, .patch:
                // These methods usually have a body, so `Content-Length: 0` is sent (RFC 9110
                // §8.6).
                requestBody.reserve(1)
                applyBytes(method, requestBody.bytes.baseAddress, 0)
            default:
                set(CURLOPT_HTTPGET, 1)
                set(CURLOPT_CUSTOMREQUEST, text: method.rawValue)
            }
        case .bytes(let data):
            if data.count <= ByteBuffer.copyLimit {
                requestBody.reserve(max(1, data.count))
                // Without memory libcurl would read the body from stdin.
                guard data.withUnsafeBytes({ requestBody.append($0) }) else {
                    return note(CURLOPT_POSTFIELDS, CURLE_OUT_OF_MEMORY)
                }
                applyBytes(method, requestBody.bytes.baseAddress, data.count)
            } else {
                // The pointer stays valid after the closure: data above its inline size keeps its
                // bytes in one reference-counted block, and `source` keeps the data until the
                // handle is recycled.
                data.withUnsafeBytes { applyBytes(method, $0.baseAddress, data.count) }
            }
        case .reader(let reader):
            set(CURLOPT_UPLOAD, 1)
            set(CURLOPT_CUSTOMREQUEST, text: method.rawValue)
            set(CURLOPT_INFILESIZE_LARGE, offset: reader.length ?? -1)
            note(CURLOPT_READFUNCTION, ccurl_set_read(raw, sendBody))
            set(CURLOPT_READDATA, pointer: client)
            note(CURLOPT_SEEKFUNCTION, ccurl_set_seek(raw, rewindBody))
            set(CURLOPT_SEEKDATA, pointer: client)
        }
    }

    private func applyBytes(_ method: HTTPMethod, _ bytes: UnsafeRawPointer?, _ count: Int) {
        set(CURLOPT_POST, 1)
        if method != .post { set(CURLOPT_CUSTOMREQUEST, text: method.rawValue) }
        set(CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(count))
        set(CURLOPT_POSTFIELDS, pointer: bytes)
    }

    /// Turns on progress reports; may be called while the transfer runs.
    func applyProgress() {
        isMarked = true
        set(CURLOPT_NOPROGRESS, 0)
        note(CURLOPT_XFERINFOFUNCTION, ccurl_set_progress(raw, didProgress))
        set(CURLOPT_XFERINFODATA, pointer: client)
    }
}

extension Credential {
    /// The schemes for `CURLOPT_HTTPAUTH` and `CURLOPT_PROXYAUTH`.
    fileprivate var schemes: Int {
        switch scheme {
        // Not CURLAUTH_ANY: Negotiate would reveal the process's user, and wait for a KDC.
        case nil: ccurl_auth_password
        case .basic: ccurl_auth_basic
        case .digest: ccurl_auth_digest
        case .negotiate: ccurl_auth_negotiate
        case .ntlm: ccurl_auth_ntlm
        case .bearer: ccurl_auth_bearer
        }
    }
}

extension HTTPVersionPolicy {
    /// The value for `CURLOPT_HTTP_VERSION`.
    fileprivate var curlValue: Int {
        switch self {
        case .automatic: Int(CURL_HTTP_VERSION_2TLS)
        case .http1: Int(CURL_HTTP_VERSION_1_1)
        case .http2PriorKnowledge: Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
        }
    }
}

/// Converts seconds to whole milliseconds, at least one; `nil` for 0 (no limit).
func milliseconds(_ seconds: TimeInterval) -> Int? {
    guard seconds > 0 else { return nil }
    return Int(max(1, min((seconds * 1000).rounded(.up), Double(Int32.max))))
}
