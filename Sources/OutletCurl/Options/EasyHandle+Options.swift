import CCurl
import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTLS

/// The table from ``HTTPRequest`` and ``SessionConfiguration`` to libcurl's options: one function
/// for each concern, each line naming its option.
extension EasyHandle {
    /// What every transfer has in common.
    func applyConstants(poller: OpaquePointer, share: OpaquePointer, client: UnsafeRawPointer) {
        // No signals: they belong to the program, and each request would pay three system calls.
        set(CURLOPT_NOSIGNAL, 1)
        // A cancel must not wait for getaddrinfo().
        set(CURLOPT_QUICK_EXIT, 1)
        // Redirects are the session's.
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_PROTOCOLS_STR, text: "http,https")
        // The head of a proxy's answer to CONNECT is not the response's.
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_ERRORBUFFER, pointer: errorText)
        set(CURLOPT_PRIVATE, pointer: client)
        set(CURLOPT_SHARE, pointer: UnsafeRawPointer(ccurl_share_handle(share)))
        ccurl_poller_adopt(poller, raw)
        note(CURLOPT_HEADERFUNCTION, ccurl_set_write(raw, CURLOPT_HEADERFUNCTION, receiveHeader))
        set(CURLOPT_HEADERDATA, pointer: client)
        note(CURLOPT_WRITEFUNCTION, ccurl_set_write(raw, CURLOPT_WRITEFUNCTION, receiveBody))
        set(CURLOPT_WRITEDATA, pointer: client)
        note(CURLOPT_PREREQFUNCTION, ccurl_set_prereq(raw, willSendRequest))
        set(CURLOPT_PREREQDATA, pointer: client)
    }

    /// Where to: the address, and the socket or the proxy on the way there.
    ///
    /// - Returns: The proxy's URL; empty without one.
    func applyAddress(_ address: Address, _ settings: TransportSettings) -> String {
        set(CURLOPT_CURLU, pointer: UnsafeRawPointer(address.handle))
        set(CURLOPT_UNIX_SOCKET_PATH, text: settings.configuration.unixSocketPath)
        // Both always set: libcurl would ask the environment otherwise.
        let proxy =
            settings.proxies.isEmpty
            ? ""
            : settings.proxies.proxy(
                host: address.hostName, port: address.port, isSecure: address.isSecure)
        set(CURLOPT_PROXY, text: proxy)
        set(CURLOPT_NOPROXY, text: "")
        return proxy
    }

    /// How long things may take; the limit on standing still is the loop's own.
    func applyLimits(_ settings: TransportSettings, remaining: Int64?) {
        let configuration = settings.configuration
        set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(configuration.connectTimeout) ?? Int(Int32.max))
        if let remaining { set(CURLOPT_TIMEOUT_MS, Int(max(1, remaining / 1000))) }
        set(CURLOPT_MAXAGE_CONN, Int(max(1, min(configuration.connectionIdleTimeout, 1e9))))
    }

    /// Which protocol is spoken.
    func applyVersion(_ settings: TransportSettings, _ address: Address) {
        switch settings.configuration.httpVersion {
        case .automatic:
            set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
            // Worth waiting for only where streams are known to share a connection.
            if address.origin.version == .http2 { set(CURLOPT_PIPEWAIT, 1) }
        case .http1:
            set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        case .http2PriorKnowledge:
            set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE))
            set(CURLOPT_PIPEWAIT, 1)
        }
    }

    /// How large the pieces are in which a body arrives and leaves.
    func applyBuffers(isBulk: Bool) {
        // A large buffer is made anew for each transfer: worth it for files, not for small answers.
        guard isBulk else { return }
        set(CURLOPT_BUFFERSIZE, 256 * 1024)
        set(CURLOPT_UPLOAD_BUFFERSIZE, 256 * 1024)
    }

    /// Whom to trust, and who we are.
    func applyTLS(
        _ settings: TransportSettings, _ store: TrustStore, client: UnsafeRawPointer
    ) {
        let configuration = settings.configuration
        // Explicitly unset: with both a bundle and a directory, libcurl's cache of parsed
        // authorities is off, and Debian's default has both.
        set(CURLOPT_CAINFO, text: store.bundle)
        set(CURLOPT_CAPATH, text: store.directory)
        set(CURLOPT_SSL_VERIFYPEER, configuration.verifiesCertificates ? 1 : 0)
        set(CURLOPT_SSL_VERIFYHOST, configuration.verifiesCertificates ? 2 : 0)
        note(CURLOPT_SSL_CTX_FUNCTION, ccurl_set_ssl_context(raw, willSecure))
        set(CURLOPT_SSL_CTX_DATA, pointer: client)
        guard let certificate = configuration.clientCertificate else { return }
        set(CURLOPT_SSLCERT, text: certificate.certificatePath)
        set(CURLOPT_SSLKEY, text: certificate.keyPath ?? certificate.certificatePath)
        set(CURLOPT_KEYPASSWD, text: certificate.keyPassword)
    }

    /// Name and password, answered with when the server asks for them.
    func applyCredential(_ credential: Credential?) {
        guard let credential else { return }
        set(CURLOPT_HTTPAUTH, ccurl_auth_any)
        set(CURLOPT_USERNAME, text: credential.user)
        set(CURLOPT_PASSWORD, text: credential.password)
    }

    /// The fields, and the codings that libcurl undoes because a field asks for them.
    ///
    /// - Returns: False when the fields cannot go on the wire.
    func applyHeaders(_ request: HTTPRequest) -> HeaderList.Facts? {
        guard let (list, facts) = headers.build(request.headers) else { return nil }
        set(CURLOPT_HTTPHEADER, pointer: list)
        // The field in the list is what goes on the wire; this only switches the decoders on.
        if facts.acceptsCodings { set(CURLOPT_ACCEPT_ENCODING, text: "gzip") }
        return facts
    }

    /// The method, and how the body is handed over.
    func applyBody(_ method: HTTPMethod, _ source: RequestBody, client: UnsafeRawPointer) {
        switch source {
        case .none:
            switch method {
            case .get: set(CURLOPT_HTTPGET, 1)
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
                // counted piece of memory, and the transfer holds the data until it is over.
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

    /// Reports of progress, and the wire log.
    func applyObservation(reportsProgress: Bool, logsWire: Bool, client: UnsafeRawPointer) {
        if reportsProgress {
            set(CURLOPT_NOPROGRESS, 0)
            note(CURLOPT_XFERINFOFUNCTION, ccurl_set_progress(raw, didProgress))
            set(CURLOPT_XFERINFODATA, pointer: client)
        }
        if logsWire {
            set(CURLOPT_VERBOSE, 1)
            note(CURLOPT_DEBUGFUNCTION, ccurl_set_debug(raw, logWire))
            set(CURLOPT_DEBUGDATA, pointer: client)
        }
    }
}

/// Seconds in whole milliseconds, at least one; `nil` for 0 (no limit).
func milliseconds(_ seconds: TimeInterval) -> Int? {
    guard seconds > 0 else { return nil }
    return Int(max(1, min((seconds * 1000).rounded(.up), Double(Int32.max))))
}
