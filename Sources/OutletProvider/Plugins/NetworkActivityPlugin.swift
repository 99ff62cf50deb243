import OutletHTTP

/// What a ``NetworkActivityPlugin`` tells.
public enum NetworkActivityChangeType: Sendable {
    /// A request is about to be sent; not told again when it is retried or redirected.
    case began
    /// A request is over, or was not sent at all.
    case ended
}

/// Tells a closure when requests begin and end.
public final class NetworkActivityPlugin: PluginType {
    /// Told of a change.
    public typealias NetworkActivityClosure =
        @Sendable (_ change: NetworkActivityChangeType, _ target: any TargetType) -> Void

    private let networkActivityClosure: NetworkActivityClosure

    /// Makes the plugin.
    public init(networkActivityClosure: @escaping NetworkActivityClosure) {
        self.networkActivityClosure = networkActivityClosure
    }

    /// Tells of the beginning.
    public func willSend(_ request: any RequestType, target: any TargetType) {
        let context = request.request?.context ?? RequestContext()
        guard context.attempt == 1, context.hop == 0 else { return }
        networkActivityClosure(.began, target)
    }

    /// Tells of the end.
    public func didReceive(_ result: Result<Response, ProviderError>, target: any TargetType) {
        networkActivityClosure(.ended, target)
    }
}
