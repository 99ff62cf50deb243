import CCurl
import OutletHTTP
import OutletTLS
import OutletTransport

extension CurlTransfer {
    /// Prepares the TLS handshake of a new connection (`CURLOPT_SSL_CTX_FUNCTION`).
    ///
    /// - Parameter context: The `SSL_CTX *` of the connection.
    /// - Returns: Whether the handshake may start.
    func willSecure(_ easy: EasyHandle, _ context: UnsafeMutableRawPointer) -> Bool {
        loop?.assertOnLoop()
        KeyLog.watch(context: context, loop?.shared.keyLog)
        let sockets = easy.opener.pointee.opened
        let verifier = extras?.trust?.verifierOfNextHandshake(sockets: sockets)
        // The second handshake on a socket is that with the server, through an https proxy.
        let outer = sockets == easy.socketsAtHandshake ? verification : nil
        easy.socketsAtHandshake = sockets
        verification =
            if let verifier {
                Verification.watch(
                    context: context, policy: verifier.policy.number, inside: outer
                ) {
                    verifier.evaluate($0)
                }
            } else {
                Verification.watch(context: context, inside: outer)
            }
        guard let verification else { return false }
        watchRecords(of: verification, context)
        return true
    }

    /// Lets ``BusyWatch`` see the records of TLS, because libcurl calls no callback for frames of
    /// HTTP/2 that belong to no response.
    private func watchRecords(of verification: Verification, _ context: UnsafeMutableRawPointer) {
        // libcurl's debug log uses the same callback of OpenSSL.
        guard let loop, !loop.settings.logsWire else { return }
        var watch = BusyWatch()
        verification.watchRecords(context: context) { [epoch = loop.epoch] in
            watch.isStuck(in: epoch.pointee, clock: ccurl_now_us)
        }
    }

    /// Checks the decision about the peer of a connection, new or reused: the server, or without TLS
    /// to it an https proxy.
    ///
    /// - Returns: Whether the request may be sent on it. If not, `failure` is set, or
    ///   `wantsOtherConnection`.
    func isPeerAccepted(_ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        let trust = extras?.trust
        if let server = trust?.server {
            guard let isVerified = acceptance(by: server, easy) else {
                failure = server.error
                return false
            }
            isServerVerified = isVerified
            return true
        }
        guard !loop.settings.secureProxies.isEmpty, address?.isSecure == false,
            let secureProxy = loop.settings.secureProxies[proxy]
        else { return true }
        if let judge = trust?.proxy {
            if acceptance(by: judge, easy) != nil { return true }
        } else if let found = ccurl_get_ssl(easy.raw).flatMap({ Verification.of($0) }),
            found.policy == nil
        {
            return true
        }
        // The connection that the transfer has made itself.
        guard verification == nil else {
            return fail(
                trust?.proxy?.error
                    ?? TransferError(
                        code: .serverCertificateUntrusted, stage: .securing, host: secureProxy.host,
                        reason: "the proxy's certificate was not verified"))
        }
        wantsOtherConnection = true
        return false
    }

    /// Whether the peer was verified, if the verifier's policy has accepted it; `nil` if it has not.
    private func acceptance(by verifier: ServerVerifier, _ easy: EasyHandle) -> Bool? {
        guard let found = ccurl_get_ssl(easy.raw).flatMap({ Verification.of($0) }),
            found.policy == verifier.policy.number,
            case .accepted(let isVerified) = found.decision
        else { return nil }
        return isVerified
    }

    /// Whether libcurl has verified a certificate of the connection that this transfer made, and
    /// refused it.
    var hasRefusedCertificate: Bool {
        loop?.settings.configuration.verifiesCertificates == true && verification?.refusal != nil
    }

    /// Remembers the connection if its end is, or may look like, the end of the response.
    func watchEnd(_ easy: EasyHandle) {
        loop?.assertOnLoop()
        guard easy.head.endsWithConnection || easy.head.endsWithStream, request.method != .head
        else {
            // That of a challenge before this response.
            closure = nil
            return
        }
        closure = ccurl_get_ssl(easy.raw).flatMap { Verification.of($0) }
    }

    /// The error of a response over TLS that ended with the connection, but without TLS's closure
    /// alert (RFC 9112 §9.8), or with an error of HTTP/2 that libcurl does not report; `nil` for others.
    ///
    /// Only for the first call after the end: other requests may use the connection after it.
    func cutOff(_ easy: EasyHandle) -> TransferError? {
        guard let closure else { return nil }
        self.closure = nil
        if easy.head.isHTTP2 { return closure.hasBrokenOff ? brokenOff(easy) : nil }
        guard !closure.hasClosureAlert else { return nil }
        return TransferError(
            code: .networkConnectionLost, stage: .receiving, host: address?.host,
            reason: "the connection ended after \(received) bytes of the body without TLS's "
                + "closure alert, so that the response may have been cut off")
    }

    /// The error of a response over HTTP/2 whose stream has not ended before libcurl has closed the
    /// connection, because the server broke the protocol; `nil` if that is not certain.
    ///
    /// libcurl 7.88 takes that for the end of the response. It is not noticed if other requests run on
    /// the connection.
    private func brokenOff(_ easy: EasyHandle) -> TransferError? {
        guard easy.head.trailers == nil, !mayHaveBody || isBodySent(easy) else { return nil }
        return TransferError(
            code: .networkConnectionLost, stage: .receiving, host: address?.host,
            reason: "the server broke the rules of HTTP/2 after \(received) bytes of the body, so "
                + "that the response may have been cut off")
    }
}
