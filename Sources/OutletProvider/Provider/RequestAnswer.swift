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
    typealias Stub = @Sendable (ProviderCall, HTTPRequest) -> Void

    private let token: CancellableToken
    private let endpoint: Endpoint
    private let stub: Stub?

    /// Makes the answer of a call.
    ///
    /// - Parameters:
    ///   - token: Has the call until it is answered.
    ///   - endpoint: The endpoint that the request is built from.
    ///   - stub: Answers the request; `nil` to send it.
    init(of token: CancellableToken, to endpoint: Endpoint, stub: Stub?) {
        self.token = token
        self.endpoint = endpoint
        self.stub = stub
    }

    /// Sends or stubs the request; only the first answer counts.
    func give(_ result: Result<HTTPRequest, ProviderError>) {
        guard let call = token.takeCall() else { return }
        switch result {
        case .failure(let error): call.fail(error)
        case .success(let request):
            if let stub { stub(call, request) } else { call.send(request, of: endpoint) }
        }
    }

    deinit { token.takeCall()?.fail(.underlying(UnansweredRequestClosure(), nil)) }
}

/// A provider's request closure released its callback without calling it.
public struct UnansweredRequestClosure: Error, CustomStringConvertible {
    /// What is wrong.
    public var description: String {
        "the provider's requestClosure gave neither a request nor an error: it released its "
            + "callback without calling it"
    }
}
