import CCurl
import OutletHTTP
import OutletPointers
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
        watchRecords(context)
        let verifier = extras?.trust?.verifierOfNextHandshake(sockets: easy.opener.pointee.opened)
        verification =
            if let verifier {
                Verification.watch(context: context) { verifier.evaluate($0) }
            } else {
                Verification.watch(context: context)
            }
        return verifier == nil || verification != nil
    }

    /// Lets ``BusyWatch`` see the records of TLS, because libcurl calls no callback for frames of
    /// HTTP/2 that belong to no response.
    private func watchRecords(_ context: UnsafeMutableRawPointer) {
        // libcurl's debug log uses the same callback of OpenSSL.
        guard let loop, !loop.settings.logsWire else { return }
        TLSConnection.watchMessages(context: context, ObjectPointer.unretained(loop)) {
            isSent, _, kind, _, _, _, loop in
            guard let loop, TLSConnection.isReceivedRecord(isSent, kind) else { return }
            ObjectPointer.withObject(at: loop, as: EventLoop.self) { loop in
                loop.assertOnLoop()
                if loop.busyWatch.isStuck(clock: ccurl_now_us) { ccurl_poller_cut(loop.poller) }
            }
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

    /// Remembers the connection whose end is the end of the response.
    func watchEnd(_ easy: EasyHandle) {
        loop?.assertOnLoop()
        guard request.method != .head else { return }
        closure = ccurl_get_ssl(easy.raw).flatMap { Verification.of($0) }
    }

    /// The error of a response over TLS that ended with the connection, but without TLS's closure
    /// alert (RFC 9112 §9.8); `nil` for others.
    var cutOff: TransferError? {
        guard extras != nil, let closure, !closure.hasClosureAlert else { return nil }
        return TransferError(
            code: .networkConnectionLost, stage: .receiving, host: address?.host,
            reason: "the connection ended after \(received) bytes of the body without TLS's "
                + "closure alert, so that the answer may have been cut off")
    }
}
