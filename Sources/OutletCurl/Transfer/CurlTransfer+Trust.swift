import CCurl
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
        let judge = extras?.trust?.judgeOfNextHandshake(sockets: easy.opener.pointee.opened)
        verification =
            if let judge {
                Verification.watch(context: context) { judge.judge($0) }
            } else {
                Verification.watch(context: context)
            }
        return judge == nil || verification != nil
    }

    /// Checks what the judge has decided about the server of a connection, new or reused.
    ///
    /// - Returns: Whether the request may be sent on it.
    func isServerAccepted(_ easy: EasyHandle, _ judge: ServerVerifier) -> Bool {
        loop?.assertOnLoop()
        guard let connection = ccurl_get_ssl(easy.raw),
            case .accepted(let isVerified) = Verification.of(connection)?.judgement
        else {
            failure = judge.error
            return false
        }
        isServerVerified = isVerified
        return true
    }
}
