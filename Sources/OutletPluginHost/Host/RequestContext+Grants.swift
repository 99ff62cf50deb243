import OutletHTTP
import OutletTransport

/// The key of the permissions of the plugin that sent a request.
private enum SenderGrants: RequestContextKey {
    typealias Value = Grants
}

extension RequestContext {
    /// Limits a plugin's request to the servers that its permissions allow.
    ///
    /// - Parameter grants: The permissions of the plugin.
    mutating func limit(to grants: Grants) {
        self[SenderGrants.self, describing: .sender] = grants
    }
}

extension HTTPRequest {
    /// Why the request must not be sent to its present URL, which HSTS, a redirect, or another plugin
    /// may have changed; `nil` if it may.
    var permissionFault: TransferError? {
        guard hasContext, let grants = context[SenderGrants.self] else { return nil }
        let origin = url.flatMap { try? Origin($0) }
        if let origin, grants.allowsNetwork(to: origin) { return nil }
        return TransferError(
            code: .addressNotAllowed, host: origin?.host,
            reason: "the plugin that sends the request has no permission for "
                + (origin.map { "\($0)" } ?? "its address"))
    }
}
