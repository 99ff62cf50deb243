import CCurl
import Glibc
import OutletHTTP
import OutletTransport

/// Enforces the address policies of a transfer: that of the transport's configuration and that of
/// its session.
extension CurlTransfer {
    /// Decides whether libcurl may open a socket (`CURLOPT_OPENSOCKETFUNCTION`).
    ///
    /// - Returns: Whether it may. Proxies and the Unix socket of the configuration are exempt.
    func mayConnect(to address: UnsafePointer<sockaddr>, _ settings: TransportSettings) -> Bool {
        loop?.assertOnLoop()
        lacksStream = !mayOpenSocket
        if lacksStream {
            if let easy, let loop { noteUnprocessed(easy, loop) }
            return false
        }
        guard settings.addressPolicy != nil || addressPolicy != nil else { return true }
        guard address.pointee.sa_family != AF_UNIX, proxy.isEmpty else { return true }
        guard let address = InternetAddress(address) else { return false }
        guard let policy = refusal(of: address, settings) else {
            hasAllowedAddress = true
            return true
        }
        refusedAddress = (address, policy)
        return false
    }

    /// Whether the origin allows the transfer to open a socket; WebSockets are not limited.
    private var mayOpenSocket: Bool {
        guard link == nil, let queue = address?.queue else { return true }
        let exceedsLimits = request.hasContext && request.context.exceedsLimits
        guard queue.mayOpenSocket(for: identifier, exceedsLimits: exceedsLimits) else {
            return false
        }
        if queue.opener == identifier { loop?.beginOpening(by: self) }
        return true
    }

    /// The session's own policy; `nil` if it has none, so that only the transport's applies.
    var addressPolicy: AddressPolicy? { extras?.answers?.addressPolicy }

    /// Whether the session's policy allows the remote address of an idle connection.
    ///
    /// The transport's own policy was applied when the connection was made.
    ///
    /// - Parameter remote: The IP address as text.
    func mayUseConnection(to remote: UnsafePointer<CChar>, _ settings: TransportSettings) -> Bool {
        loop?.assertOnLoop()
        guard let policy = addressPolicy, policy != settings.addressPolicy, proxy.isEmpty,
            settings.configuration.unixSocketPath == nil
        else { return true }
        return policy.allows(String(cString: remote))
    }

    /// Checks a target that a proxy would connect to.
    ///
    /// The policies check an IP address. A host name is allowed only if the policies say that the
    /// proxy enforces them (`isEnforcedByProxy`), because the proxy looks it up.
    ///
    /// - Throws: `TransferError` with code `addressNotAllowed`.
    func checkTarget(_ target: Address, _ settings: TransportSettings) throws(TransferError) {
        loop?.assertOnLoop()
        if let address = InternetAddress(target.origin.addressWithoutZone) {
            guard let policy = refusal(of: address, settings) else { return }
            throw .addressNotAllowed(address, policy, host: target.host)
        }
        let policies = [settings.addressPolicy, addressPolicy].compactMap(\.self)
        guard let policy = policies.first(where: { !$0.isEnforcedByProxy }) else { return }
        throw TransferError(
            code: .addressNotAllowed, host: target.host,
            reason: "the proxy would look up \(target.origin.host), so the address policy "
                + "(\(policy)) cannot judge its address",
            advice:
                "use no proxy, or set isEnforcedByProxy in addressPolicy if the proxy keeps to it")
    }

    /// The error of a transfer that could not connect because the policies allowed no address of
    /// the host; `nil` if they are not the reason.
    var addressFault: TransferError? {
        loop?.assertOnLoop()
        guard let refused = refusedAddress, !hasAllowedAddress else { return nil }
        return .addressNotAllowed(refused.address, refused.policy, host: address?.host)
    }

    private func refusal(
        of address: InternetAddress, _ settings: TransportSettings
    ) -> AddressPolicy? {
        if let policy = settings.addressPolicy, !policy.allows(address) { return policy }
        if let policy = addressPolicy, !policy.allows(address) { return policy }
        return nil
    }
}

extension TransferError {
    fileprivate static func addressNotAllowed(
        _ address: InternetAddress, _ policy: AddressPolicy, host: String?
    ) -> TransferError {
        TransferError(
            code: .addressNotAllowed, stage: .connecting, host: host,
            reason: "the address policy (\(policy)) does not allow \(address)",
            advice: "if it may be connected to, change addressPolicy")
    }
}
