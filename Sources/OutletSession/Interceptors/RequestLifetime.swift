import OutletHTTP
import OutletTransport

/// What middleware keeps for a request, however often its call is begun anew, until the request is over:
/// all its handlers have run.
///
/// Thread: any.
package final class RequestLifetime: Sendable {
    /// Names it in the context of what is asked for.
    package enum Key: RequestContextKey { package typealias Value = RequestLifetime }

    private struct State {
        /// A list, because there are few.
        var objects: [(keeper: ObjectIdentifier, object: any AnyObject & Sendable)] = []
        var ends: [@Sendable () -> Void] = []
        var isOver = false

        func object(of keeper: ObjectIdentifier) -> (any AnyObject & Sendable)? {
            for kept in objects where kept.keeper == keeper { return kept.object }
            return nil
        }
    }

    private let state = Lock(State())
    /// The request's session, as long as it is there: requests that somebody keeps do not keep it.
    package weak let session: Session?

    init(of session: Session?) { self.session = session }

    /// What a piece of middleware keeps, made when it asks for the first time.
    ///
    /// - Parameters:
    ///   - keeper: Whose it is.
    ///   - end: Called once, when the request is over; at once where it is already.
    package func object<Object: AnyObject & Sendable>(
        of keeper: AnyObject, make: () -> Object, end: @escaping @Sendable (Object) -> Void
    ) -> Object {
        let key = ObjectIdentifier(keeper)
        if let kept = state.withLock({ $0.object(of: key) }) as? Object { return kept }
        let made = make()
        let isOver = state.withLock { state in
            guard !state.isOver else { return true }
            state.objects.append((key, made))
            state.ends.append { end(made) }
            return false
        }
        if isOver { end(made) }
        return made
    }

    /// The request is over.
    func end() {
        let ends = state.withLock { state in
            state.isOver = true
            state.objects = []
            defer { state.ends = [] }
            return state.ends
        }
        for end in ends { end() }
    }
}
