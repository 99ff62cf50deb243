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
        let verifier = extras?.trust?.verifierOfNextHandshake(sockets: easy.opener.pointee.opened)
        verification =
            if let verifier {
                Verification.watch(context: context) { verifier.evaluate($0) }
            } else {
                Verification.watch(context: context)
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

    /// Checks the verifier's decision about the server of a connection, new or reused.
    ///
    /// - Returns: Whether the request may be sent on it.
    func isServerAccepted(_ easy: EasyHandle, _ verifier: ServerVerifier) -> Bool {
        loop?.assertOnLoop()
        guard let connection = ccurl_get_ssl(easy.raw),
            case .accepted(let isVerified) = Verification.of(connection)?.decision
        else {
            failure = verifier.error
            return false
        }
        isServerVerified = isVerified
        return true
    }

    /// Remembers the connection if its end is the end of the response.
    func watchEnd(_ easy: EasyHandle) {
        loop?.assertOnLoop()
        guard easy.head.endsWithConnection, request.method != .head else {
            // That of a challenge before this response.
            closure = nil
            return
        }
        closure = ccurl_get_ssl(easy.raw).flatMap { Verification.of($0) }
    }

    /// The error of a response over TLS that ended with the connection, but without TLS's closure
    /// alert (RFC 9112 §9.8); `nil` for others.
    var cutOff: TransferError? {
        guard let closure, !closure.hasClosureAlert else { return nil }
        return TransferError(
            code: .networkConnectionLost, stage: .receiving, host: address?.host,
            reason: "the connection ended after \(received) bytes of the body without TLS's "
                + "closure alert, so that the answer may have been cut off")
    }
}
