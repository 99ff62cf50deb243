import CCurl
import OutletHTTP
import OutletTransport

/// Kerberos tickets that are not there: libcurl says why to its log alone.
extension CurlTransfer {
    private static let mark = "gss_init_sec_context() failed: "

    /// libcurl has written a line to its log (`CURLOPT_DEBUGFUNCTION`).
    func noteText(_ bytes: UnsafeRawBufferPointer) {
        loop?.assertOnLoop()
        guard bytes.starts(with: Self.mark.utf8) else { return }
        let words = bytes.dropFirst(Self.mark.utf8.count)
        negotiationFault = String(decoding: words, as: UTF8.self).lines.first
            .map { String($0.trimmingBlanks) }
    }

    /// Why the answer that asks for a ticket has to do: GSSAPI has none to give.
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
