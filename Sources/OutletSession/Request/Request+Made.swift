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

    /// Returns the request of an attempt or a redirect hop as it will be sent: with the session's
    /// headers and cookies, and the body of an upload.
    package func wireRequest(of request: HTTPRequest) -> HTTPRequest {
        // Hops have the session's headers already, except those that a redirect removes.
        guard !request.isRedirected else { return core.wireRequestWithCookies(request) }
        // The error of a body that cannot be made is that of the attempt.
        let complete = makesBody ? (try? addBody(to: request)) ?? request : request
        return core.wireRequestWithCookies(core.wireRequest(from: complete))
    }

    /// The credential set for this request, if it is used for an attempt's request or a redirect hop.
    package func ownCredential(for request: HTTPRequest) -> Credential? {
        mutable.withLock { mutable in
            let isUsed =
                !request.isRedirected
                || Origin.isSame(
                    core.wireURL(of: mutable.history.lastRequest), core.wireURL(of: request))
            return isUsed ? mutable.credential : nil
        }
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
