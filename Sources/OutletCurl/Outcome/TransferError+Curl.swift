import CCurl
import Glibc
import OutletFiles
import OutletHTTP
import OutletTLS
import OutletTransport

extension TransferError {
    /// Converts a `CURLcode`; the only place that does.
    ///
    /// - Parameters:
    ///   - code: The code that libcurl ended the transfer with.
    ///   - transfer: The transfer, whose state determines the stage and the text.
    ///   - easy: Its handle, before it is recycled.
    init(_ code: CURLcode, _ transfer: CurlTransfer, _ easy: EasyHandle) {
        let host = transfer.address?.host
        let stage = Stage(transfer)
        // libcurl's messages may contain the proxy's URL with its password.
        let text = Redaction.standard.text(String(cString: easy.errorText))
        var meaning = Meaning(code, stage, transfer, easy, text)
        let isLost = [.networkConnectionLost, .badServerResponse].contains(meaning.code)
        if isLost, meaning.advice.isEmpty, !transfer.hasResponse,
            transfer.loop?.settings.configuration.httpVersion == .http2PriorKnowledge
        {
            meaning.advice =
                "check that the server speaks HTTP/2 without negotiation, or change httpVersion"
        }
        self.init(
            code: meaning.code, stage: stage, host: host, reason: meaning.reason,
            advice: meaning.advice, underlyingCode: Int32(bitPattern: code.rawValue))
    }
}

extension TransferError {
    static let notHTTPAdvice = "the server may not speak HTTP on this port"
    /// The reason if the connection ends before the head of the response does.
    static let cutHead = "the server closed the connection inside the head of its response"
    /// What libcurl says when it has repeated a request as often as it does (`CONN_MAX_RETRIES`).
    static let diedTooOften = "Connection died, tried"
}

extension HTTPHeaders {
    /// Whether a request with these fields may be larger than libcurl's limit (`DYN_HTTP_REQUEST`).
    fileprivate var isLargerThanLibcurlTakes: Bool {
        reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 } > 1_000_000
    }
}

extension TransferError.Stage {
    /// The stage that a transfer has reached.
    init(_ transfer: CurlTransfer) {
        guard let easy = transfer.easy else {
            self = .preparing
            return
        }
        let raw = easy.raw
        if transfer.sends > 0,
            transfer.hasResponse || transfer.heldHead != nil || easy.head.isInsideHead
        {
            self = .receiving
        } else if transfer.sends > 0 {
            self = transfer.isBodySent(easy) ? .waiting : .sending
        } else if transfer.verification != nil {
            self = .securing
        } else if ccurl_get_offset(raw, CURLINFO_NAMELOOKUP_TIME_T) == 0 {
            self = .resolving
        } else {
            self = .connecting
        }
    }

    /// Describes the stage, for "timed out while …".
    var activity: String {
        switch self {
        case .preparing: "preparing the request"
        case .queued: "waiting for a free connection"
        case .resolving: "looking up the host"
        case .connecting: "connecting"
        case .securing: "agreeing on TLS"
        case .sending: "sending the request"
        case .waiting: "waiting for the response"
        case .receiving: "receiving the response"
        }
    }
}

extension CURLcode {
    /// Whether libcurl ends a stream of HTTP/2 with this code; others have the same one.
    fileprivate var isOfHTTP2: Bool {
        switch self {
        case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_PARTIAL_FILE, CURLE_RECV_ERROR: true
        default: false
        }
    }
}

/// The parts of an error that depend on libcurl's code.
private struct Meaning {
    let code: TransferError.Code
    var reason: String
    var advice = ""

    init(_ code: TransferError.Code, _ reason: String, _ advice: String = "") {
        self.code = code
        self.reason = reason
        self.advice = advice
    }

    init(
        _ code: CURLcode, _ stage: TransferError.Stage, _ transfer: CurlTransfer,
        _ easy: EasyHandle, _ text: String
    ) {
        let socketError = easy.opener.pointee.error
        let fact = text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
        if transfer.verification?.hasRefusedRecord == true {
            self = Meaning(
                .badServerResponse, "the server sends data without end that belongs to no response")
            return
        }
        if code == CURLE_GOT_NOTHING || text.isEmpty && code.isOfHTTP2,
            let status = transfer.undeliveredStatus(easy)
        {
            self = Meaning(.networkConnectionLost, TransferError.undelivered(status))
            return
        }
        if transfer.hasLostResponse(in: code) {
            self = Meaning(
                .networkConnectionLost,
                "the response came while the request was suspended, and libcurl cannot read one that "
                    + "has come over HTTP/2 with an interim head (1xx) then",
                "do not suspend it before its response has begun")
            return
        }
        switch code {
        case CURLE_UNSUPPORTED_PROTOCOL:
            self =
                transfer.sends > 0
                ? Meaning(
                    .badServerResponse, "the response is not HTTP: \(fact)",
                    TransferError.notHTTPAdvice)
                : Meaning(.unsupportedURL, fact, "write http:// or https://")
        case CURLE_URL_MALFORMAT:
            self = Meaning(.badURL, fact, "write it as http://host/path")
        case CURLE_COULDNT_RESOLVE_HOST:
            self = Meaning(
                .cannotFindHost, "the host's name does not resolve: \(fact)",
                "check the spelling and the name service")
        case CURLE_COULDNT_RESOLVE_PROXY:
            self = Meaning(
                .cannotFindHost, "the proxy's name does not resolve: \(fact)",
                transfer.loop?.settings.proxies.advice ?? "")
        case CURLE_COULDNT_CONNECT:
            self = Meaning.connecting(fact, socketError, transfer, easy)
        case CURLE_PROXY:
            self = Meaning.proxyFailed(fact, transfer)
        case CURLE_WEIRD_SERVER_REPLY:
            self = Meaning(
                .badServerResponse, "\(transfer.responseName) is not HTTP: \(fact)",
                transfer.opensTunnel ? "" : TransferError.notHTTPAdvice)
        case CURLE_HTTP2 where text.isEmpty && transfer.isSentTooOften:
            self = Meaning.refused(transfer)
        // libcurl ends the last request that a GOAWAY excludes without a message.
        case CURLE_HTTP2 where text.isEmpty && stage == .sending:
            self = Meaning(
                .networkConnectionLost,
                "the server ended the HTTP/2 connection before the whole request was sent: it refused "
                    + "the request (GOAWAY), or broke the protocol",
                "retry if the server may see the request twice")
        case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR:
            let isLost =
                stage == .receiving || stage == .waiting || fact.containsBytes(of: "Send failure")
                || fact.containsBytes(of: "Recv failure")
            self = Meaning(
                isLost
                    ? .networkConnectionLost : .badServerResponse,
                "the HTTP/2 stream broke: \(fact)")
        // libcurl counts the missing bytes from the field Content-Length on.
        case CURLE_PARTIAL_FILE where !transfer.hasResponse && easy.head.isInsideHead:
            self = Meaning(.networkConnectionLost, TransferError.cutHead)
        case CURLE_PARTIAL_FILE:
            self = Meaning.incomplete(fact, transfer)
        case CURLE_GOT_NOTHING where transfer.speaksHTTP2:
            self = Meaning(
                .networkConnectionLost,
                "the HTTP/2 connection or the request's stream ended without a response")
        case CURLE_GOT_NOTHING:
            self = Meaning(
                .networkConnectionLost, "the server closed the connection without a response")
        case CURLE_SEND_ERROR where fact.containsBytes(of: TransferError.diedTooOften):
            self = Meaning(
                .networkConnectionLost,
                "the request was sent \(transfer.sends) times on kept connections, and the last of "
                    + "them ended without a response", "retry later")
        case CURLE_SEND_ERROR:
            self = Meaning(.networkConnectionLost, "the connection broke while sending: \(fact)")
        case CURLE_RECV_ERROR: self = Meaning.unreceived(fact, transfer)
        case CURLE_BAD_CONTENT_ENCODING:
            // This library decodes content codings itself, so the code is about a transfer coding.
            self = Meaning(
                .badServerResponse, "the response has a Transfer-Encoding other than 'chunked'")
        case CURLE_OPERATION_TIMEDOUT:
            self = Meaning.late(stage, fact, transfer)
        // libcurl's code for a refused certificate of a server behind an https proxy.
        case CURLE_SSL_CONNECT_ERROR where transfer.hasRefusedCertificate:
            self = Meaning.untrusted(fact, transfer, TLSPeer(transfer, easy))
        case CURLE_SSL_CONNECT_ERROR:
            self = Meaning.tls(fact, transfer, TLSPeer(transfer, easy))
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_CRL_BADFILE:
            self = Meaning.untrusted(fact, transfer, TLSPeer(transfer, easy))
        case CURLE_SSL_CACERT_BADFILE:
            self = Meaning(
                .secureConnectionFailed, "certificate authorities: \(fact)",
                "check the file or directory of certificate authorities")
        case CURLE_SSL_CERTPROBLEM:
            self = Meaning(
                .clientCertificateRejected,
                "the client's certificate: \(Meaning.clientFault(transfer) ?? fact)",
                "check the certificate, its key and the key's password")
        case CURLE_SSL_CLIENTCERT:
            self = Meaning(
                .clientCertificateRequired, "the server wants a client certificate: \(fact)",
                "set clientCertificate")
        case CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_SHUTDOWN_FAILED, CURLE_USE_SSL_FAILED:
            self = Meaning(.secureConnectionFailed, "TLS failed: \(fact)")
        case CURLE_FILESIZE_EXCEEDED:
            self = Meaning(.dataLengthExceedsMaximum, fact)
        case CURLE_SEND_FAIL_REWIND:
            self = Meaning(
                .requestBodyStreamExhausted,
                "the request's body has to be sent again, but cannot go back to its start")
        case CURLE_READ_ERROR:
            self = Meaning(.cannotOpenFile, "the request's body cannot be read: \(fact)")
        case CURLE_WRITE_ERROR:
            self = Meaning(.cannotWriteToFile, "the body cannot be delivered: \(fact)")
        case CURLE_LOGIN_DENIED, CURLE_AUTH_ERROR:
            self = Meaning(.badServerResponse, "authentication failed: \(fact)")
        case CURLE_OUT_OF_MEMORY where transfer.request.headers.isLargerThanLibcurlTakes:
            self = Meaning(
                .badRequest,
                "the request's head is larger than libcurl takes (1 MiB), or no memory is left")
        case CURLE_OUT_OF_MEMORY:
            self =
                transfer.sends > 0 && !transfer.hasResponse
                ? Meaning(
                    .headerFieldsExceedMaximum,
                    "\(easy.head.isInsideHead ? "a header field" : "the response's status line") is "
                        + "longer than libcurl takes (100 KiB), or no memory is left")
                : socketError == 0
                    ? Meaning(.unknown, "no memory left, or no descriptor for the name look-up")
                    : Meaning.connecting(fact, socketError, transfer, easy)
        case CURLE_NO_CONNECTION_AVAILABLE:
            self = Meaning(.cannotConnectToHost, fact)
        case CURLE_INTERFACE_FAILED:
            self = Meaning(
                .cannotConnectToHost,
                "sourceAddress: no connection can come from it: \(fact)",
                "see the machine's interfaces and addresses (ip address)")
        case CURLE_ABORTED_BY_CALLBACK:
            self = Meaning(.cancelled, "the transfer was cancelled")
        case CURLE_BAD_FUNCTION_ARGUMENT where transfer.hasResponse:
            self = Meaning(
                .badServerResponse,
                "the trailer section has a line that is no header field, or a chunk has no length")
        case CURLE_BAD_FUNCTION_ARGUMENT where transfer.sends > 0:
            self = Meaning(
                .badServerResponse,
                "the response's first header line begins with a blank, and continues no other")
        case CURLE_BAD_FUNCTION_ARGUMENT, CURLE_UNKNOWN_OPTION, CURLE_NOT_BUILT_IN,
            CURLE_SETOPT_OPTION_SYNTAX:
            self = Meaning(.badRequest, "libcurl refuses a setting: \(fact)")
        default:
            self = Meaning(.unknown, "\(fact) (CURLcode \(code.rawValue))")
        }
    }

    private static func connecting(
        _ fact: String, _ socketError: Int32, _ transfer: CurlTransfer, _ easy: EasyHandle
    ) -> Meaning {
        switch socketError {
        case EMFILE, ENFILE:
            return Meaning(
                .tooManyOpenFiles,
                "no socket can be opened: \(systemText(socketError))",
                "raise the limit of open files (ulimit -n) or lower maximumConnections")
        case 0: break
        default:
            return Meaning(
                .cannotConnectToHost,
                "no socket can be opened: \(systemText(socketError))")
        }
        // libcurl's text names the URL's host, which is not connected to.
        if let path = transfer.loop?.settings.configuration.unixSocketPath {
            let number = Int32(truncatingIfNeeded: ccurl_get_long(easy.raw, CURLINFO_OS_ERRNO))
            return Meaning(
                .cannotConnectToHost,
                "the Unix socket \(path) cannot be connected to"
                    + (number == 0 ? "" : ": \(systemText(number))"),
                "check that a server listens on it")
        }
        if fact.containsBytes(of: "Network is unreachable") {
            return Meaning(.notConnectedToInternet, "the network is unreachable: \(fact)")
        }
        guard transfer.proxy.isEmpty else {
            return Meaning(
                .cannotConnectToHost,
                "the proxy \(Redaction.standard.address(transfer.proxy)) cannot be reached: \(fact)",
                "check the proxy's address and that it runs")
        }
        return Meaning(
            .cannotConnectToHost, "the connection is refused or fails: \(fact)",
            "check that the server runs and the port is right")
    }

    /// A proxy has refused, or has not understood what it was asked for.
    private static func proxyFailed(_ fact: String, _ transfer: CurlTransfer) -> Meaning {
        Meaning(
            .proxyConnectionFailed,
            "the proxy \(Redaction.standard.address(transfer.proxy)) failed: \(fact)",
            "check that it permits this host and port, and that its scheme is right")
    }

    /// One of the three time limits that libcurl enforces has passed.
    private static func late(
        _ stage: TransferError.Stage, _ fact: String, _ transfer: CurlTransfer
    ) -> Meaning {
        if fact.containsBytes(of: "Operation too slow"),
            let minimum = transfer.loop?.settings.configuration.minimumThroughput
        {
            return Meaning(
                .timedOut,
                "too slow while \(stage.activity): less than \(minimum.bytesPerSecond) bytes/s for "
                    + "\(wholeSeconds(minimum.period)) s, as minimumThroughput demands",
                "lower minimumThroughput")
        }
        if let waited = transfer.waitedFor {
            return Meaning(
                .timedOut, "timed out while \(stage.activity): it waited for \(waited)",
                "raise timeoutIntervalForResource")
        }
        if stage == .sending, case .stream(let stream) = transfer.request.body,
            let count = transfer.easy?.source.givenWithoutEnd
        {
            return Meaning(
                .timedOut,
                "timed out while \(stage.activity): no end after \(count) bytes from \(stream.name)",
                "raise timeoutIntervalForResource")
        }
        let elapsed = transfer.loop.map { $0.now - transfer.admitted } ?? 0
        let limit = transfer.loop?.settings.configuration.connectTimeout ?? 0
        let isConnecting = transfer.sends == 0 && limit > 0 && Double(elapsed) >= limit * 1_000_000
        // The proxy, not the server, may be the one that does not answer.
        let way =
            transfer.opensTunnel
            ? " through the proxy \(Redaction.standard.address(transfer.proxy))" : ""
        return Meaning(
            .timedOut, "timed out while \(stage.activity)\(way): \(fact)",
            "raise \(isConnecting ? "connectTimeout" : "timeoutIntervalForResource")")
    }

    private static func incomplete(_ fact: String, _ transfer: CurlTransfer) -> Meaning {
        let expected = transfer.response?.expectedContentLength ?? -1
        if expected >= 0, transfer.expected >= 0 || transfer.received == 0 {
            return Meaning(
                .networkConnectionLost,
                "the server closed the connection after \(transfer.received) of \(expected) bytes")
        }
        return Meaning(.networkConnectionLost, received(transfer) + fact)
    }

    /// Data could not be received, or its chunks are malformed (RFC 9112 §7.1).
    private static func unreceived(_ fact: String, _ transfer: CurlTransfer) -> Meaning {
        if fact.containsBytes(of: "Too large response headers") {
            return Meaning(
                .headerFieldsExceedMaximum,
                "\(transfer.responseName)'s heads, interim ones included, are larger than libcurl takes "
                    + "(300 KiB)")
        }
        if fact.containsBytes(of: "Out of memory in chunked-encoding") {
            return Meaning(
                .headerFieldsExceedMaximum,
                "a trailer field is longer than libcurl takes (4 KiB), or no memory is left")
        }
        // A callback of libcurl's has failed (`NGHTTP2_ERR_CALLBACK_FAILURE`), because its buffer for
        // fields is full (`DYN_H2_HEADERS`, `DYN_H2_TRAILERS`).
        if fact.containsBytes(of: "nghttp2"), fact.containsBytes(of: "returned -902") {
            return Meaning(
                .headerFieldsExceedMaximum,
                "the response's \(transfer.hasResponse ? "trailer" : "header") fields are larger than "
                    + "libcurl takes over HTTP/2 (128 KiB), or no memory is left")
        }
        if fact.containsBytes(of: "in chunked-encoding") {
            return Meaning(
                .badServerResponse,
                "the body's chunks are malformed behind \(transfer.received) bytes: \(fact)")
        }
        if fact.containsBytes(of: "CONNECT") {
            return proxyFailed(fact, transfer)
        }
        // For broken connections libcurl sets another message before.
        if fact.containsBytes(of: TransferError.diedTooOften) { return refused(transfer) }
        return Meaning(.networkConnectionLost, received(transfer) + fact)
    }

    /// An HTTP/2 server has refused the request each time that it was sent.
    private static func refused(_ transfer: CurlTransfer) -> Meaning {
        Meaning(
            .networkConnectionLost,
            "the server refused the request after it was sent \(transfer.sends) times "
                + "(REFUSED_STREAM or GOAWAY)", "retry later")
    }

    private static func received(_ transfer: CurlTransfer) -> String {
        !transfer.hasResponse
            ? "the connection broke: "
            : "the connection broke after \(transfer.received) bytes of the body: "
    }

    /// Finds out what is wrong with the client certificate; only done after a failure, because it
    /// is slow.
    private static func clientFault(_ transfer: CurlTransfer) -> String? {
        guard let address = transfer.address, let loop = transfer.loop,
            let identity = loop.settings.clientCertificate(for: address)
        else { return nil }
        return identity.fault
    }

    private static func tls(
        _ fact: String, _ transfer: CurlTransfer, _ peer: TLSPeer
    ) -> Meaning {
        if fact.containsBytes(of: "wrong version number")
            || fact.containsBytes(of: "packet length too long")
            || fact.containsBytes(of: "http request")
        {
            return Meaning(
                .secureConnectionFailed, "the \(peer.role)'s port does not speak TLS: \(fact)",
                "try http:// or another port")
        }
        if fact.containsBytes(of: "certificate required") {
            return Meaning(
                .clientCertificateRequired,
                "the \(peer.role) wants a client certificate: \(fact)", "set clientCertificate")
        }
        if fact.containsBytes(of: "bad certificate") || fact.containsBytes(of: "unknown ca") {
            return Meaning(
                .clientCertificateRejected,
                "the \(peer.role) refuses the client's certificate: \(fact)",
                "set clientCertificate to one that the \(peer.role) trusts")
        }
        let configuration = transfer.loop?.settings.configuration
        let named = [
            configuration?.minimumTLSVersion.map { "minimumTLSVersion (\($0.rawValue))" },
            configuration?.tlsCipherList.map { _ in "tlsCipherList" },
            configuration?.tls13CipherSuites.map { _ in "tls13CipherSuites" },
        ].compactMap(\.self)
        return Meaning(
            .secureConnectionFailed, "TLS could not be agreed on with the \(peer.role): \(fact)",
            named.isEmpty
                ? ""
                : "check that the \(peer.role) supports what \(named.joined(separator: ", ")) allows"
        )
    }

    private static func untrusted(
        _ fact: String, _ transfer: CurlTransfer, _ peer: TLSPeer
    ) -> Meaning {
        guard let refusal = transfer.verification?.refusal else {
            return otherHost(fact, transfer, peer)
        }
        let whose =
            refusal.depth == 0 ? "the \(peer.role)'s certificate" : "an authority's certificate"
        switch refusal.fault {
        case .expired:
            return Meaning(
                .serverCertificateHasBadDate, "\(whose) has expired: \(refusal)",
                "tell the \(peer.role)'s owner, or check this machine's clock")
        case .notYetValid:
            return Meaning(
                .serverCertificateNotYetValid, "\(whose) is not valid yet: \(refusal)",
                "check this machine's clock")
        case .untrusted:
            let store = try? transfer.loop?.settings.trust.get()
            return Meaning(
                .serverCertificateUntrusted,
                "\(whose) leads to no authority that is trusted here: \(refusal)"
                    + (store.map { "; trusted are those in \($0)" } ?? ""),
                store?.advice ?? "")
        case .other:
            return Meaning(.serverCertificateUntrusted, "\(whose) is refused: \(refusal)")
        }
    }

    /// The chain is valid, so the certificate is for another host.
    private static func otherHost(
        _ fact: String, _ transfer: CurlTransfer, _ peer: TLSPeer
    ) -> Meaning {
        guard let certificate = transfer.verification?.serverCertificate, let host = peer.host,
            fact.containsBytes(of: "name")
        else {
            return Meaning(
                .serverCertificateUntrusted,
                "the \(peer.role)'s certificate is refused: \(fact)")
        }
        return Meaning(
            .serverCertificateUntrusted,
            ServerTrust.mismatch(
                of: peer.role, names: certificate.subjectAlternativeNames,
                subject: certificate.subject, host: host),
            "check the address; the \(peer.role) may not be the one you mean")
    }
}

/// With whom a TLS handshake failed.
private struct TLSPeer {
    /// `server` or `proxy`.
    let role: String
    /// The host that the certificate has to be valid for; `nil` if it is not known.
    let host: String?

    init(_ transfer: CurlTransfer, _ easy: EasyHandle) {
        // The handshake with the server follows the proxy's response to CONNECT.
        if let proxy = transfer.loop?.settings.secureProxies[transfer.proxy],
            ccurl_get_long(easy.raw, CURLINFO_HTTP_CONNECTCODE) == 0
        {
            (role, host) = ("proxy", proxy.host)
        } else {
            (role, host) = ("server", transfer.address?.origin.host)
        }
    }
}
