import OutletSession
import OutletTransport

/// The one answer that a request closure owes: the request, or why there is none.
///
/// A cancel answers in its place, and so does letting go of it: the call is completed once, whether the
/// closure answers at once, later, twice or never.
///
/// Thread: any.
final class RequestAnswer: Sendable {
    private let call: ProviderCall
    private let answered = OnceFlag()

    init(of call: ProviderCall) {
        self.call = call
    }

    deinit { fail(UnansweredRequestClosure()) }

    /// Whether this is the first answer.
    func claim() -> Bool { answered.claim() }

    /// Fails the call, unless it was answered.
    func fail(_ error: @autoclosure () -> any Error) {
        if claim() { call.fail(.underlying(error(), nil)) }
    }
}

/// A provider's request closure has let go of its callback, and never called it.
public struct UnansweredRequestClosure: Error, CustomStringConvertible {
    /// What is wrong.
    public var description: String {
        "the provider's requestClosure gave neither a request nor an error: it let go of its "
            + "callback without calling it"
    }
}
