import OutletHTTP
import OutletTransport

/// Objects that middleware keeps for a request, over all its calls, until all handlers of the
/// request have run.
///
/// Thread: any.
package final class RequestLifetime: Sendable {
    private struct State {
        /// An array instead of a dictionary, because there are few.
        var objects: [(keeper: ObjectIdentifier, object: any AnyObject & Sendable)] = []
        var ends: [@Sendable () -> Void] = []
        var isOver = false

        func object(of keeper: ObjectIdentifier) -> (any AnyObject & Sendable)? {
            for kept in objects where kept.keeper == keeper { return kept.object }
            return nil
        }
    }

    private let state = Lock(State())
    /// The request's session; weak, so that requests do not retain it.
    package weak let session: Session?

    init(of session: Session?) { self.session = session }

    /// Returns the object of a middleware; makes it at the first call.
    ///
    /// - Parameters:
    ///   - keeper: The middleware; identifies the object.
    ///   - make: Makes the object.
    ///   - end: Called once with the object when the request has ended; before this returns if it
    ///     has ended already.
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

    /// Ends all objects, because the request has ended.
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
