import FoundationEssentials
package import OutletHTTP

/// What every transport refuses to send.
extension CanonicalAddress {
    /// Brings the URL of a transfer into canonical form.
    ///
    /// - Throws: `TransferError` with code `badURL`, or `unsupportedURL` for a scheme other than
    ///   `http` and `https`.
    package init(ofTransfer text: String) throws(TransferError) {
        do throws(OriginError) {
            try self.init(text)
            if scheme != origin.scheme { throw .unsupportedScheme(scheme) }
        } catch {
            throw TransferError(error)
        }
    }
}

extension HTTPRequest {
    /// The URL in canonical form.
    ///
    /// - Throws: `TransferError` with code `badURL`, or `unsupportedURL` for a scheme other than
    ///   `http` and `https`.
    package var address: CanonicalAddress {
        get throws(TransferError) {
            guard let url else { throw Self.noAddress }
            return try CanonicalAddress(ofTransfer: url.absoluteString)
        }
    }

    /// The error of a request without a URL.
    package static var noAddress: TransferError {
        TransferError(code: .badURL, reason: "address: the request has none")
    }

    /// Checks that the request can be sent: its syntax, no `CONNECT`, no body with `HEAD`.
    ///
    /// - Parameter host: The server's host, for the error.
    /// - Throws: `TransferError` with code `badRequest`.
    package func checkSending(to host: String) throws(TransferError) {
        do throws(HTTPRequestError) {
            try checkSyntax()
        } catch {
            throw TransferError(code: .badRequest, host: host, reason: error.description)
        }
        if method == .connect {
            throw TransferError(
                code: .badRequest, host: host,
                reason: "CONNECT: asks a proxy for a tunnel, not a server for anything",
                advice: "set a proxy: tunnels through it are made by themselves")
        }
        if hasBody, method == .head {
            throw TransferError(
                code: .badRequest, host: host,
                reason: "\(method): a request of this method cannot carry a body")
        }
    }
}
