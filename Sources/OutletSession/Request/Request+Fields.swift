public import Dispatch
public import OutletHTTP
import OutletTransport

/// What a server says besides the head and the body.
extension Request {
    /// The fields that came behind the last response's body (RFC 9110 §6.5); `nil` without any.
    public var trailers: HTTPHeaders? { mutable.withLock { $0.observers?.trailers } }

    /// The interim heads of the last attempt, such as `103 Early Hints`, in order
    /// (RFC 9110 §15.2).
    public var informationalResponses: [HTTPResponse] {
        mutable.withLock { $0.observers?.informationalResponses ?? [] }
    }

    /// Calls a closure with each interim head, as it comes.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs; the session's callback queue if `nil`.
    ///   - handler: Given the head; the last one set counts.
    @discardableResult
    public func onInformationalResponse(
        on queue: DispatchQueue? = nil, perform handler: @escaping @Sendable (HTTPResponse) -> Void
    ) -> Self {
        mutable.withLock { mutable in
            mutable.watched().informational = RequestObservers.Observer(queue: queue, body: handler)
        }
        return self
    }

    /// An interim head has come.
    ///
    /// Thread: the transport's.
    func tellInformational(_ head: HTTPResponse) {
        let observer = mutable.withLock { mutable in
            mutable.watched().informationalResponses.append(head)
            return mutable.observers?.informational
        }
        if let observer { core.tell(observer, head) }
    }
}
