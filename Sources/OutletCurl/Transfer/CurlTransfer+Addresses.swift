import CCurl
import Glibc
import OutletHTTP
import OutletTransport

/// The address policies of a transfer: that of the transport's configuration, and its session's own.
extension CurlTransfer {
    /// libcurl is about to open a socket (`CURLOPT_OPENSOCKETFUNCTION`).
    ///
    /// - Returns: Whether it may. The proxy and the Unix socket of the configuration are exempt.
    func mayConnect(to address: UnsafePointer<sockaddr>, _ settings: TransportSettings) -> Bool {
        loop?.assertOnLoop()
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

    /// The session's own policy; `nil` where it has none, or its transport's.
    var addressPolicy: AddressPolicy? { extras?.answers?.addressPolicy }

    /// Whether a connection that the transport keeps leads to where the session may connect to.
    ///
    /// The transport's own policy has judged it when it was made.
    func mayUseConnection(to remote: UnsafePointer<CChar>, _ settings: TransportSettings) -> Bool {
        loop?.assertOnLoop()
        guard let policy = addressPolicy, policy != settings.addressPolicy, proxy.isEmpty,
            settings.configuration.unixSocketPath == nil
        else { return true }
        return policy.allows(String(cString: remote))
    }

    /// Refuses a target that a proxy would connect to: an address by the policies, a name unless the
    /// proxy keeps to them.
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
            advice: "set isEnforcedByProxy in addressPolicy if the proxy keeps to it, or use none")
    }

    /// Why a connection was not made, if it is for the policy: no address of the host was allowed.
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
            advice:
                "if it may be connected to, change addressPolicy, in the program --address-policy")
    }
}
