import CCurl
import OutletTLS
import OutletTransport

extension CurlTransfer {
    /// A handshake is about to begin on a new connection (`CURLOPT_SSL_CTX_FUNCTION`).
    ///
    /// - Parameter context: The `SSL_CTX *` of the connection.
    /// - Returns: Whether it may.
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

    /// Looks what was decided about the server of a connection, new or kept, that is to carry the
    /// request.
    ///
    /// - Returns: Whether the request may be sent.
    func isServerAccepted(_ easy: EasyHandle, _ judge: ServerJudge) -> Bool {
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
