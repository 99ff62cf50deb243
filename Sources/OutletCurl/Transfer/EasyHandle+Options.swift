import CCurl
import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The table from ``HTTPRequest`` and ``TransportConfiguration`` to libcurl's options: one function
/// for each concern, each line naming its option.
///
/// What all transfers of a session have in common is set once and stays, as long as a handle
/// carries plain requests (a `GET` without a body). Whatever else a transfer sets marks the handle,
/// which is then reset before the next one.
extension EasyHandle {
    // MARK: Once for a handle

    /// How libcurl behaves, whatever is asked for.
    func applyConstants() {
        // No signals: they belong to the program, and each request would pay three system calls.
        set(CURLOPT_NOSIGNAL, 1)
        // A cancel must not wait for getaddrinfo().
        set(CURLOPT_QUICK_EXIT, 1)
        // Redirects are the session's. That the scheme is http or https has been seen to by
        // `Address`; CURLOPT_PROTOCOLS_STR would parse its names for each handle anew.
        set(CURLOPT_FOLLOWLOCATION, 0)
        // An answer without a status line comes as a body then, and is refused with its first bytes.
        set(CURLOPT_HTTP09_ALLOWED, 1)
        // The head of a proxy's answer to CONNECT is not the response's.
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_ERRORBUFFER, pointer: errorText)
        set(CURLOPT_PRIVATE, pointer: client)
        opener.pointee.client = UnsafeMutableRawPointer(mutating: client)
        ccurl_opener_adopt(opener, raw)
        head.lines.pointee.client = UnsafeMutableRawPointer(mutating: client)
        head.lines.pointee.completed = receiveHead
        note(
            CURLOPT_HEADERFUNCTION,
            ccurl_set_write(raw, CURLOPT_HEADERFUNCTION, ccurl_collect_header))
        set(CURLOPT_HEADERDATA, pointer: head.lines)
        note(CURLOPT_WRITEFUNCTION, ccurl_set_write(raw, CURLOPT_WRITEFUNCTION, receiveBody))
        set(CURLOPT_WRITEDATA, pointer: client)
        note(CURLOPT_PREREQFUNCTION, ccurl_set_prereq(raw, willSendRequest))
        set(CURLOPT_PREREQDATA, pointer: client)
    }

    /// What the session's configuration says about all transfers.
    func applyConfiguration(_ settings: TransportSettings) {
        let configuration = settings.configuration
        head.limit(
            bytes: configuration.maximumHeaderSize, fields: configuration.maximumHeaderFields)
        set(CURLOPT_UNIX_SOCKET_PATH, text: configuration.unixSocketPath)
        // Both always set: libcurl would ask the environment otherwise.
        set(CURLOPT_PROXY, text: "")
        set(CURLOPT_NOPROXY, text: "")
        set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(configuration.connectTimeout) ?? Int(Int32.max))
        set(CURLOPT_MAXAGE_CONN, Int(max(1, min(configuration.connectionIdleTimeout, 1e9))))
        set(CURLOPT_HTTP_VERSION, configuration.httpVersion.curlValue)
        applyChoices(settings)
        if settings.logsWire {
            set(CURLOPT_VERBOSE, 1)
            note(CURLOPT_DEBUGFUNCTION, ccurl_set_debug(raw, logWire))
            set(CURLOPT_DEBUGDATA, pointer: client)
        }
    }

    /// What few sessions ask for.
    private func applyChoices(_ settings: TransportSettings) {
        // Read by the handle's next transfer, into the cache that all handles of the loop have in common
        // and that ends with it.
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

    /// Where to.
    func applyAddress(_ address: Address) {
        set(CURLOPT_CURLU, pointer: UnsafeRawPointer(address.handle))
        if address.hasCredential { isMarked = true }
    }

    /// By way of which proxy.
    ///
    /// - Parameter credentials: The job's, for proxies by their addresses.
    /// - Returns: The proxy's URL without credentials; empty without one.
    func applyProxy(
        for address: Address, _ settings: TransportSettings, _ credentials: [String: Credential]
    ) -> String {
        let proxy = settings.proxies.proxy(for: address.origin)
        guard !proxy.isEmpty else { return "" }
        set(CURLOPT_PROXY, text: proxy)
        isMarked = true
        if address.isSecure {
            isTunnelled = true
            // What a proxy wants to know before it makes way stands nowhere else.
            set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 0)
        }
        let name = ProxyResolver.withoutCredentials(proxy)
        // What stands in the address goes before what is stored.
        let stored = name == proxy ? credentials[name] : nil
        if let credential = settings.configuration.proxyCredential ?? stored {
            set(CURLOPT_PROXYAUTH, credential.schemes)
            set(CURLOPT_PROXYUSERNAME, text: credential.user)
            set(CURLOPT_PROXYPASSWORD, text: credential.password)
            watchNegotiation(by: credential)
        }
        return name
    }

    /// Why there is no ticket libcurl tells in its log only, and then sends the request without one.
    private func watchNegotiation(by credential: Credential) {
        guard credential.scheme == .negotiate else { return }
        set(CURLOPT_VERBOSE, 1)
        note(CURLOPT_DEBUGFUNCTION, ccurl_set_debug(raw, logWire))
        set(CURLOPT_DEBUGDATA, pointer: client)
    }

    /// How long the whole transfer may take; the limit on standing still is the loop's own.
    ///
    /// - Parameter remaining: What is left of that time, µs; `nil` for no limit.
    func applyLimit(_ remaining: Int64?) {
        set(CURLOPT_TIMEOUT_MS, remaining.map { Int(max(1, $0 / 1000)) } ?? 0)
    }

    /// Whether to wait for a stream on a connection that is still being made.
    ///
    /// - Parameter version: What the origin speaks.
    func applyMultiplexing(_ version: OriginQueue<CurlTransfer>.Version) {
        // Worth it only where streams are known to share a connection.
        set(CURLOPT_PIPEWAIT, version == .http2 ? 1 : 0)
    }

    /// Whether to look for an idle connection at all, which takes libcurl a walk along all of those
    /// to the host.
    ///
    /// - Parameters:
    ///   - version: What the origin speaks.
    ///   - isDirect: Whether no proxy is in between, whose connections serve several origins.
    func applyReuse(
        _ origin: OriginQueue<CurlTransfer>, _ version: OriginQueue<CurlTransfer>.Version,
        isDirect: Bool
    ) {
        opener.pointee.tally = origin.tally
        let fresh = version == .http1 && isDirect && !origin.mayHaveIdleConnection
        set(CURLOPT_FRESH_CONNECT, fresh ? 1 : 0)
    }

    /// A connection of its own, whatever is there.
    func applyFreshConnection() {
        set(CURLOPT_FRESH_CONNECT, 1)
    }

    /// How large the pieces are in which a body arrives and leaves.
    ///
    /// A large buffer is made anew for each transfer: worth it for files, not for small answers. A
    /// collected body without others beside it does well with one in between, however long it is.
    ///
    /// - Parameters:
    ///   - isBulk: Whether there is a file or a stream at either end.
    ///   - isLone: Whether the body is collected, and no other transfer under way.
    func applyBuffers(isBulk: Bool, isLone: Bool) {
        let size = isBulk ? 256 * 1024 : isLone ? 64 * 1024 : Self.usualBufferSize
        // Refused by a handle that kept its buffer because its last transfer was cancelled before it was
        // connected; that one serves as well.
        if size != bufferSize, ccurl_set_long(raw, CURLOPT_BUFFERSIZE, size) == CURLE_OK {
            bufferSize = size
        }
        guard isBulk else { return }
        isMarked = true
        set(CURLOPT_UPLOAD_BUFFERSIZE, 256 * 1024)
    }

    /// Name and password, or a token, answered with when the server asks for them.
    ///
    /// - Parameter atOnce: Whether to send it without being asked, where the scheme allows that.
    func apply(_ credential: Credential, atOnce: Bool) {
        isMarked = true
        let schemes = credential.schemes
        let waits = credential.scheme != nil && !atOnce
        set(CURLOPT_HTTPAUTH, waits ? schemes | ccurl_auth_only : schemes)
        watchNegotiation(by: credential)
        if credential.scheme == .bearer {
            set(CURLOPT_XOAUTH2_BEARER, text: credential.password)
        } else {
            set(CURLOPT_USERNAME, text: credential.user)
            set(CURLOPT_PASSWORD, text: credential.password)
        }
    }

    /// libcurl makes the connection and hands it over; the handle is not used for anything else.
    func applyConnectOnly() {
        isMarked = true
        set(CURLOPT_CONNECT_ONLY, 1)
        // Its own bytes follow, so neither HTTP/2 nor a proxy that reads them.
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_HTTPPROXYTUNNEL, 1)
        set(CURLOPT_FRESH_CONNECT, 1)
    }

    /// The fields, and whether the codings of the answer are undone because a field asks for them.
    ///
    /// - Returns: False when memory is short.
    func applyHeaders(_ fields: HTTPHeaders, hasBody: Bool) -> Bool {
        guard let list = headers.build(fields, hasBody: hasBody) else { return false }
        set(CURLOPT_HTTPHEADER, pointer: list)
        return true
    }

    /// `GET` without a body.
    func applyPlainMethod() {
        set(CURLOPT_HTTPGET, 1)
    }

    /// Any other method, and how the body is handed over.
    func applyBody(_ method: HTTPMethod, _ source: RequestBody) {
        isMarked = true
        self.source = source
        switch source {
        case .none:
            switch method {
            case .head: set(CURLOPT_NOBODY, 1)
            case .post, .put, .patch:
                // Methods that usually have a body say that this one is empty (RFC 9110 §8.6).
                requestBody.reserve(1)
                applyBytes(method, requestBody.bytes.baseAddress, 0)
            default:
                set(CURLOPT_HTTPGET, 1)
                set(CURLOPT_CUSTOMREQUEST, text: method.rawValue)
            }
        case .bytes(let data):
            if data.count <= ByteBuffer.copyLimit {
                requestBody.reserve(max(1, data.count))
                _ = data.withUnsafeBytes { requestBody.append($0) }
                applyBytes(method, requestBody.bytes.baseAddress, data.count)
            } else {
                // Valid after the closure because data above its inline size keeps its bytes in one
                // counted piece of memory, and the handle holds the data until it is recycled.
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

    /// Reports of progress; may be set while the transfer is under way.
    func applyProgress() {
        isMarked = true
        set(CURLOPT_NOPROGRESS, 0)
        note(CURLOPT_XFERINFOFUNCTION, ccurl_set_progress(raw, didProgress))
        set(CURLOPT_XFERINFODATA, pointer: client)
    }
}

extension Credential {
    /// For `CURLOPT_HTTPAUTH` and `CURLOPT_PROXYAUTH`.
    fileprivate var schemes: Int {
        switch scheme {
        // Not CURLAUTH_ANY: Negotiate would tell who the process's user is, and wait for a KDC.
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
    /// For `CURLOPT_HTTP_VERSION`.
    fileprivate var curlValue: Int {
        switch self {
        case .automatic: Int(CURL_HTTP_VERSION_2TLS)
        case .http1: Int(CURL_HTTP_VERSION_1_1)
        case .http2PriorKnowledge: Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
        }
    }
}

/// Seconds in whole milliseconds, at least one; `nil` for 0 (no limit).
func milliseconds(_ seconds: TimeInterval) -> Int? {
    guard seconds > 0 else { return nil }
    return Int(max(1, min((seconds * 1000).rounded(.up), Double(Int32.max))))
}
