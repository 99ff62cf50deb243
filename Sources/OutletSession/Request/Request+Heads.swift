public import Dispatch
public import OutletHTTP

/// A request whose response can be looked at, and refused, before its body is read.
public protocol EarlyResponseRequest: Request {}

extension DataRequest: EarlyResponseRequest {}
extension DataStreamRequest: EarlyResponseRequest {}

extension EarlyResponseRequest {
    /// Asks a closure whether the body of a response is wanted, before any of it is read.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs; the session's callback queue if `nil`.
    ///   - handler: Has to call its second argument; until then the transfer waits. Called for the
    ///     response of every attempt; the last one set counts.
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
        judgeResponses(.init(queue: queue, body: handler))
        return self
    }

    /// Calls a closure with the head of a response before its body is read.
    ///
    /// - Parameters:
    ///   - queue: Where `handler` runs; the session's callback queue if `nil`.
    ///   - handler: Called for the response of every attempt; the last one set counts.
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

    /// Asks a closure whether the body of a response is wanted, before any of it is read.
    ///
    /// - Parameter handler: The transfer waits for its answer. Called for the response of every
    ///   attempt, in a task of its own; the last one set counts.
    @_disfavoredOverload
    @discardableResult
    public func onHTTPResponse(
        perform handler:
            @escaping @Sendable (_ response: HTTPResponse) async -> ResponseDisposition
    ) -> Self {
        judgeResponses(inTask: handler)
        return self
    }

    /// Calls a closure with the head of a response before its body is read.
    ///
    /// - Parameter handler: The transfer waits for its end. Called for the response of every attempt,
    ///   in a task of its own; the last one set counts.
    @discardableResult
    public func onHTTPResponse(
        perform handler: @escaping @Sendable (_ response: HTTPResponse) async -> Void
    ) -> Self {
        judgeResponses { response in
            await handler(response)
            return .allow
        }
        return self
    }

    /// The heads of responses before their bodies, for a `for await` loop; ends with the request.
    ///
    /// - Parameter bufferingPolicy: What becomes of heads that nobody takes in time.
    public func httpResponses(
        bufferingPolicy: StreamOf<HTTPResponse>.BufferingPolicy = .unbounded
    ) -> StreamOf<HTTPResponse> {
        responses(bufferingPolicy)
    }
}
