public import Dispatch
public import OutletHTTP

/// A request whose response can be inspected, and refused, before its body is read.
public protocol EarlyResponseRequest: Request {}

extension DataRequest: EarlyResponseRequest {}

extension EarlyResponseRequest {
    /// Lets a closure decide, from the head of a response, whether to read the body.
    ///
    /// Call it before the first response handler, which starts the request.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs; the session's callback queue if `nil`.
    ///   - handler: Called for the response of every attempt; must call its second argument exactly
    ///     once, on any thread: until then the transfer is paused. Replaces a closure set before.
    @_disfavoredOverload
    @discardableResult
    public func onHTTPResponse(
        on queue: DispatchQueue? = nil,
        perform handler:
            @escaping @Sendable (
                _ response: HTTPResponse,
                _ completionHandler: @escaping @Sendable (ResponseDisposition) -> Void
            ) -> Void
    ) -> Self {
        setDispositionHandler(.init(queue: queue, body: handler))
        return self
    }

    /// Calls a closure with the head of a response before the body is read.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs; the session's callback queue if `nil`.
    ///   - handler: Called for the response of every attempt; the transfer is paused until it
    ///     returns. Replaces a closure set before.
    @discardableResult
    public func onHTTPResponse(
        on queue: DispatchQueue? = nil,
        perform handler: @escaping @Sendable (_ response: HTTPResponse) -> Void
    ) -> Self {
        onHTTPResponse(on: queue) { response, completionHandler in
            handler(response)
            completionHandler(.allow)
        }
    }

    /// Lets an `async` closure decide, from the head of a response, whether to read the body.
    ///
    /// - Parameter handler: Called for the response of every attempt, in a new task; the transfer
    ///   is paused until it returns. Replaces a closure set before.
    @_disfavoredOverload
    @discardableResult
    public func onHTTPResponse(
        perform handler:
            @escaping @Sendable (_ response: HTTPResponse) async -> ResponseDisposition
    ) -> Self {
        setDispositionHandler(inTask: handler)
        return self
    }

    /// Calls an `async` closure with the head of a response before the body is read.
    ///
    /// - Parameter handler: Called for the response of every attempt, in a new task; the transfer
    ///   is paused until it returns. Replaces a closure set before.
    @discardableResult
    public func onHTTPResponse(
        perform handler: @escaping @Sendable (_ response: HTTPResponse) async -> Void
    ) -> Self {
        setDispositionHandler { response in
            await handler(response)
            return .allow
        }
        return self
    }

    /// Returns the heads of responses, for a `for await` loop; ends with the request.
    ///
    /// Does not start the request, and does not pause the transfer.
    ///
    /// - Parameter bufferingPolicy: How many heads are kept for a slow loop; all by default.
    public func httpResponses(
        bufferingPolicy: StreamOf<HTTPResponse>.BufferingPolicy = .unbounded
    ) -> StreamOf<HTTPResponse> {
        responses(bufferingPolicy)
    }
}
