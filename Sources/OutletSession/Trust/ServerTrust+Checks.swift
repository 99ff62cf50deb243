public import OutletTransport

/// The usual checks, as evaluators use them.
extension ServerTrust {
    /// Checks the chain by the session's authorities.
    ///
    /// - Parameter host: The host's name, or IP address, in the request's URL.
    /// - Throws: ``SessionError/ServerTrustFailureReason/defaultEvaluationFailed(output:)``.
    public func performDefaultValidation(forHost host: String) throws {
        guard let chainFault else { return }
        throw SessionError.serverTrustEvaluationFailed(
            reason: .defaultEvaluationFailed(output: .init(host, self, chainFault)))
    }

    /// Checks that the server's certificate is for the host.
    ///
    /// - Parameter host: The host's name, or IP address, in the request's URL.
    /// - Throws: ``SessionError/ServerTrustFailureReason/hostValidationFailed(output:)``.
    public func performValidation(forHost host: String) throws {
        guard let fault = hostFault(for: host) else { return }
        throw SessionError.serverTrustEvaluationFailed(
            reason: .hostValidationFailed(output: .init(host, self, fault)))
    }
}
