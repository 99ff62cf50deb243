import CCurl
import OutletHTTP
import OutletTLS
import OutletTransport

/// Keeps connections apart that Negotiate has authenticated, and reports missing Kerberos tickets,
/// whose reason libcurl only writes to its debug log.
extension CurlTransfer {
    /// Whether the transfer may use a connection, although others on it may be authenticated.
    ///
    /// - Parameter port: The connection's local port.
    func joins(_ port: Int32, _ easy: EasyHandle, _ loop: EventLoop) -> Bool {
        loop.assertOnLoop()
        let own = easy.negotiatesWith
        let isNew = hasOwnConnection(easy)
        guard loop.negotiated.admits(to: port, own, isNew: isNew) else { return false }
        let isHTTP2 = ccurl_get_ssl(easy.raw).map { TLSConnection.speaksHTTP2($0) } ?? false
        if !own.isEmpty, !isHTTP2 { loop.negotiated.note(port, own) }
        return true
    }

    private static let mark = "gss_init_sec_context() failed: "

    /// Searches a line of libcurl's debug log (`CURLOPT_DEBUGFUNCTION`) for GSSAPI's error message.
    func noteText(_ bytes: UnsafeRawBufferPointer) {
        loop?.assertOnLoop()
        guard bytes.starts(with: Self.mark.utf8) else { return }
        let words = bytes.dropFirst(Self.mark.utf8.count)
        negotiationFault = String(decoding: words, as: UTF8.self).lines.first
            .map { String($0.trimmingBlanks) }
    }

    /// The error of a transfer that ended with a challenge (401, 407) because there is no ticket;
    /// `nil` if that is not the reason.
    var missingTicket: TransferError? {
        guard let fault = negotiationFault, let response,
            response.statusCode == 401 || response.statusCode == 407
        else { return nil }
        return TransferError(
            code: .userAuthenticationRequired, stage: .sending, host: address?.host,
            reason:
                "no Kerberos ticket for \(response.statusCode == 407 ? "the proxy" : "the server"): "
                + fault,
            advice: "get one with kinit; klist shows those there are")
    }
}
