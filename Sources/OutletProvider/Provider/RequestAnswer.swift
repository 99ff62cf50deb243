import OutletSession
import OutletTransport

/// The single answer of a request closure: the request, or an error.
///
/// A cancel, and releasing the closure's callback, answer with an error. So the call is completed
/// exactly once, whether the closure answers at once, later, twice or never.
///
/// Thread: any.
final class RequestAnswer: Sendable {
    let call: ProviderCall

    init(of call: ProviderCall) {
        self.call = call
    }

    deinit {
        if call.claimRequest() { call.fail(.underlying(UnansweredRequestClosure(), nil)) }
    }
}

/// A provider's request closure released its callback without calling it.
public struct UnansweredRequestClosure: Error, CustomStringConvertible {
    /// What is wrong.
    public var description: String {
        "the provider's requestClosure gave neither a request nor an error: it let go of its "
            + "callback without calling it"
    }
}
