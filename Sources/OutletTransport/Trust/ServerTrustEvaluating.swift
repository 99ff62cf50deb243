public import OutletHTTP

/// Decides whether a server is trusted.
///
/// Evaluators run during the TLS handshake, once for each connection, before a client certificate
/// or any byte of a request is sent.
///
/// A connection whose server was accepted is used again without calling the evaluator, by the same
/// session and by others with an equal evaluator (`Equatable`). An evaluator should therefore
/// always decide the same: a changed decision affects new connections only.
///
/// Thread: the transport's. An evaluator must not block, because all transfers wait for it.
public protocol ServerTrustEvaluating: Sendable {
    /// Returns normally if the server is trusted, throws if it is not.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    /// - Throws: Why the server is not trusted. The transfer's handler receives the error
    ///   (``TransferHandler/transfer(_:didRefuseServer:)``).
    func evaluate(_ trust: ServerTrust, forHost host: String) throws

    /// Whether the identity of a trusted server is verified.
    ///
    /// Only then the session stores the server's cookies, cached responses and HSTS rules. The
    /// default implementation returns true if the chain leads to an authority of the session and
    /// the certificate is valid for the host. Called after ``evaluate(_:forHost:)`` has returned.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    func verifies(_ trust: ServerTrust, forHost host: String) -> Bool
}

extension ServerTrustEvaluating {
    /// Whether the chain leads to an authority of the session and the certificate is valid for the
    /// host.
    ///
    /// - Parameters:
    ///   - trust: The certificates and other data that the server has sent.
    ///   - host: The host of the request, in lower case.
    public func verifies(_ trust: ServerTrust, forHost host: String) -> Bool {
        trust.chainFault == nil && trust.hostFault(for: host) == nil
    }
}

/// Selects the policy that evaluates a server.
///
/// Thread: any. Called for each transfer, without a lock held.
public protocol ServerTrustDeciding: AnyObject, Sendable {
    /// Returns the policy for a server or an https proxy; `nil` for the transport's own
    /// verification.
    ///
    /// - Parameters:
    ///   - host: The host's name or IP address, without brackets and zone.
    ///   - port: The port.
    func policy(forHost host: String, port: Int) -> ServerTrustPolicy?
    /// Returns the object that decides for one request; by default this one.
    ///
    /// - Parameter request: The request.
    func decider(for request: HTTPRequest) -> any ServerTrustDeciding
}

extension ServerTrustDeciding {
    /// Returns this object.
    public func decider(for request: HTTPRequest) -> any ServerTrustDeciding { self }
}
