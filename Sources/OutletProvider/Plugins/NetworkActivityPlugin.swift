import OutletHTTP

/// The change that a ``NetworkActivityPlugin`` reports.
public enum NetworkActivityChangeType: Sendable {
    /// A request is about to be sent; reported once, not for retries and redirects.
    case began
    /// A request has ended, or could not be sent.
    ///
    /// A request that fails before it is sent reports ``ended`` without ``began``.
    case ended
}

/// Calls a closure when requests begin and end.
public final class NetworkActivityPlugin: PluginType {
    /// Called when a request begins and when it ends.
    ///
    /// Thread: for ``NetworkActivityChangeType/began``, that of ``PluginType/willSend(_:target:)``;
    /// for ``NetworkActivityChangeType/ended``, that of the completion. Must not block.
    public typealias NetworkActivityClosure =
        @Sendable (_ change: NetworkActivityChangeType, _ target: any TargetType) -> Void

    private let networkActivityClosure: NetworkActivityClosure

    /// Makes the plugin.
    ///
    /// - Parameter networkActivityClosure: Called for each change; see ``NetworkActivityClosure``.
    public init(networkActivityClosure: @escaping NetworkActivityClosure) {
        self.networkActivityClosure = networkActivityClosure
    }

    /// Reports ``NetworkActivityChangeType/began`` for the first attempt.
    ///
    /// - Parameters:
    ///   - request: The prepared request; can be given a credential here.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    public func willSend(_ request: any RequestType, target: any TargetType) {
        let context = request.request?.context ?? RequestContext()
        guard context.attempt == 1, context.hop == 0 else { return }
        networkActivityClosure(.began, target)
    }

    /// Reports ``NetworkActivityChangeType/ended``.
    ///
    /// - Parameters:
    ///   - result: The validated response, or the error.
    ///   - target: The target as it was given to the provider, possibly a ``MultiTarget``.
    public func didReceive(_ result: Result<Response, ProviderError>, target: any TargetType) {
        networkActivityClosure(.ended, target)
    }
}
