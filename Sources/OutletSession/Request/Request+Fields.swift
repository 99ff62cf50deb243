public import Dispatch
public import OutletHTTP
import OutletTransport

/// Trailer fields and interim responses.
extension Request {
    /// The trailer fields of the last response (RFC 9110 §6.5); `nil` if there are none.
    public var trailers: HTTPHeaders? { mutable.withLock { $0.observers?.trailers } }

    /// The interim responses of the last attempt, such as `103 Early Hints`, in order
    /// (RFC 9110 §15.2).
    public var informationalResponses: [HTTPResponse] {
        mutable.withLock { $0.observers?.informationalResponses ?? [] }
    }

    /// Calls a closure with each interim response, such as `103 Early Hints`, when it arrives.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs; the session's callback queue if `nil`.
    ///   - handler: Called with the head; replaces a closure set before.
    @discardableResult
    public func onInformationalResponse(
        on queue: DispatchQueue? = nil, perform handler: @escaping @Sendable (HTTPResponse) -> Void
    ) -> Self {
        mutable.withLock { mutable in
            mutable.watched().informational = RequestObservers.Observer(queue: queue, body: handler)
        }
        expectStart()
        return self
    }

    /// Stores and reports an interim response.
    ///
    /// Thread: the transport's.
    func notifyInformational(_ head: HTTPResponse) {
        let observer = mutable.withLock { mutable in
            mutable.watched().informationalResponses.append(head)
            return mutable.observers?.informational
        }
        if let observer { core.notify(observer, head) }
    }
}
