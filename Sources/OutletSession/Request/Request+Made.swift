package import Dispatch
package import OutletHTTP
package import OutletTransport

/// Access for code that describes requests, such as cURL descriptions.
extension Request {
    /// The request as it is sent next, or was sent last, with the session's cookies; `nil` until it
    /// is made.
    package var wireRequest: HTTPRequest? {
        let (made, prepared) = mutable.withLock { mutable in
            // After a redirect, the prepared request is that of the next hop.
            (
                mutable.history.lastRequest,
                mutable.machine.redirects == 0 ? mutable.attempt.prepared : nil
            )
        }
        guard let request = prepared ?? made.map({ core.wireRequest(from: $0) }) else { return nil }
        return core.wireRequestWithCookies(request)
    }

    /// The credential set for this request.
    package var ownCredential: Credential? { mutable.withLock { $0.credential } }

    /// The configuration of its session.
    package var sessionConfiguration: SessionConfiguration { core.configuration }

    /// Calls a closure once the request is made, or could not be made.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs; the session's root queue if `nil`.
    ///   - handler: Called once; replaces a closure that was set before and not called yet.
    package func whenMade(
        on queue: DispatchQueue?, _ handler: @escaping @Sendable (Request) -> Void
    ) {
        let observer = RequestObservers.Observer<Request>(
            queue: queue ?? core.rootQueue, body: handler)
        let isMade = mutable.withLock { mutable in
            let isMade = mutable.attempt.prepared != nil || mutable.machine.phase >= .evaluating
            if !isMade { mutable.watched().made = observer }
            return isMade
        }
        if isMade { core.notify(observer, self) } else { expectStart(retained: true) }
    }

    /// Calls the closure of ``whenMade(on:_:)``, if there is one.
    func notifyMade() {
        let observer = mutable.withLock { mutable in
            defer { mutable.observers?.made = nil }
            return mutable.observers?.made
        }
        if let observer { core.notify(observer, self) }
    }
}
