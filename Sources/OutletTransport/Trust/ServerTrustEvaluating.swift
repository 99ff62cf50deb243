/// Decides whether a server is trusted.
///
/// Evaluators run inside of the handshake, once for each connection: before any byte of a request
/// or a certificate of the client's is sent.
///
/// Whom an evaluator has accepted is talked to again on the same connection, by the same session
/// and by others whose evaluator is equal (`Equatable`). So one must not change what it decides, or
/// else what it says then holds of new connections only.
///
/// Thread: the transport's; an evaluator must not block, since all transfers wait for it.
public protocol ServerTrustEvaluating: Sendable {
    /// Returns when the server is trusted.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host of the request, in lower case.
    /// - Throws: Why it is not. The transfer's handler gets the error
    ///   (``TransferHandler/transfer(_:didRefuseServer:)``).
    func evaluate(_ trust: ServerTrust, forHost host: String) throws

    /// Whether a server that it trusts is verified, that is, known to be the one that is meant:
    /// only what those say is kept (cookies, responses for the cache, hosts that are talked to
    /// encrypted only).
    ///
    /// The default: if the chain is good by the session's authorities, and the certificate is for
    /// the host. Asked after ``evaluate(_:forHost:)`` has returned.
    ///
    /// - Parameters:
    ///   - trust: What the server has shown.
    ///   - host: The host of the request, in lower case.
    func verifies(_ trust: ServerTrust, forHost host: String) -> Bool
}

extension ServerTrustEvaluating {
    /// Asks the session's authorities.
    public func verifies(_ trust: ServerTrust, forHost host: String) -> Bool {
        trust.chainFault == nil && trust.hostFault(for: host) == nil
    }
}

/// Knows who decides about which server.
///
/// Thread: any. Asked for each transfer, and not under a lock.
public protocol ServerTrustJudging: AnyObject, Sendable {
    /// Who decides about a server, an https proxy among them; `nil` to check it as usual.
    ///
    /// - Parameters:
    ///   - host: The host as it is connected to, without brackets.
    ///   - port: The port.
    func policy(forHost host: String, port: Int) -> ServerTrustPolicy?
}
