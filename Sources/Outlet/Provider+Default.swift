public import Dispatch
public import OutletProvider
import OutletSession

extension Provider {
    /// Makes a provider with a session of the default settings.
    ///
    /// All providers made so use one session, which is never released. It shares its connections
    /// with `Session.default`, but not its cookies.
    ///
    /// - Parameters:
    ///   - endpointClosure: Returns the endpoint of a target; by default what the target describes.
    ///   - requestClosure: Builds the request of an endpoint; by default `Endpoint.urlRequest()`.
    ///   - stubClosure: Decides whether a target's request is stubbed; by default none is.
    ///   - callbackQueue: Where completions run; the session's callback queue if `nil`.
    ///   - plugins: The plugins, in the order in which their hooks run.
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
