public import Dispatch
public import OutletProvider
import OutletSession

extension Provider {
    /// Makes a provider on a session of the usual settings, which shares the default session's
    /// connections.
    ///
    /// - Parameters:
    ///   - endpointClosure: Makes an endpoint of a target.
    ///   - requestClosure: Makes the request of an endpoint.
    ///   - stubClosure: Says whether a target's request goes to the network.
    ///   - callbackQueue: Where completions run; the session's callback queue if `nil`.
    ///   - plugins: Run for each request, in this order.
    ///   - trackInflights: Whether equal requests at the same time share one transfer.
    public convenience init(
        endpointClosure: @escaping EndpointClosure = { Provider.defaultEndpointMapping(for: $0) },
        requestClosure: @escaping RequestClosure = {
            Provider.defaultRequestMapping(for: $0, closure: $1)
        },
        stubClosure: @escaping StubClosure = { Provider.neverStub($0) },
        callbackQueue: DispatchQueue? = nil,
        plugins: [any PluginType] = [],
        trackInflights: Bool = false
    ) {
        self.init(
            endpointClosure: endpointClosure, requestClosure: requestClosure,
            stubClosure: stubClosure, callbackQueue: callbackQueue, session: .ofProviders,
            plugins: plugins, trackInflights: trackInflights)
    }
}
