import OutletHTTP
import OutletSession
import OutletTransport

/// The single answer of a request closure: the request, or an error.
///
/// A cancel, and releasing the closure's callback, answer with an error. So the call is completed
/// exactly once, whether the closure answers at once, later, twice or never.
///
/// Thread: any.
final class RequestAnswer: Sendable {
    /// Answers a request with its sample response.
    typealias Stub = @Sendable (HTTPRequest) -> Void

    private let call: ProviderCall
    private let endpoint: Endpoint
    private let stub: Stub?

    /// Makes the answer of a call.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - endpoint: The endpoint that the request is built from.
    ///   - stub: Answers the request; `nil` to send it.
    init(of call: ProviderCall, to endpoint: Endpoint, stub: Stub?) {
        self.call = call
        self.endpoint = endpoint
        self.stub = stub
    }

    /// Sends or stubs the request; only the first answer counts.
    func give(_ result: Result<HTTPRequest, ProviderError>) {
        guard call.claimRequest() else { return }
        switch result {
        case .failure(let error): call.fail(error)
        case .success where call.token.isCancelled:
            call.fail(.underlying(SessionError.explicitlyCancelled, nil))
        case .success(let request):
            if let stub { stub(request) } else { call.send(request, endpoint.task) }
        }
    }

    deinit {
        if call.claimRequest() { call.fail(.underlying(UnansweredRequestClosure(), nil)) }
    }
}

/// A provider's request closure released its callback without calling it.
public struct UnansweredRequestClosure: Error, CustomStringConvertible {
    /// What is wrong.
    public var description: String {
        "the provider's requestClosure gave neither a request nor an error: it released its "
            + "callback without calling it"
    }
}
